"""Decodes the bytes of a file or a response to text with plain newlines."""

from __future__ import annotations

import codecs
import re

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Text that is not UTF-8 is mostly in the old encoding of Windows.
_CP1252_FALLBACK = {0xDC00 + byte: bytes([byte]).decode("cp1252", errors="replace") for byte in range(128, 256)}
_CHARSET_SEARCH_BYTES = 4_096
_META_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\A\s*<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w:.-]{2,40})", re.IGNORECASE)
# The text encodings that browsers know; they read some names as a superset.
_KNOWN_CHARSETS = re.compile(
    r"iso-?8859-(?:1[013-6]?|[2-9])|windows-125[0-8]|cp125[0-8]|koi8-[ru]|gbk|gb2312|gb18030|big5|euc-jp"
    r"|shift[_-]jis|sjis|iso-2022-jp|euc-kr|macintosh|ibm866|tis-620"
)
_CHARSET_SUPERSETS = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc-kr": "cp949",
}


def decode_text(data: bytes) -> tuple[str, int | None]:
    """Decode text with plain newlines; also return the offset of the first byte that is not UTF-8."""
    if data.startswith(UTF16_MARKS):
        return normalize_newlines(data.decode("utf-16", errors="replace")), 0
    encoded = data.removeprefix(codecs.BOM_UTF8)
    try:
        return normalize_newlines(encoded.decode("utf-8")), None
    except UnicodeDecodeError as error:
        text = encoded.decode("utf-8", errors="surrogateescape").translate(_CP1252_FALLBACK)
        return normalize_newlines(text), error.start + len(data) - len(encoded)


def normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_html(data: bytes, charset: str = "") -> str:
    """Decode a page by its byte order mark, else the `charset` of its response, else the charset it declares."""
    if not data.startswith((codecs.BOM_UTF8, *UTF16_MARKS)):
        # Browsers look at even less of a page, and believe the server before the page.
        head = data[:_CHARSET_SEARCH_BYTES]
        declared = _META_CHARSET.search(head) or _XML_ENCODING.search(head)
        for name in (charset, declared[1].decode("ascii", "replace") if declared else ""):
            name = name.strip().strip("\"'").lower()
            if _KNOWN_CHARSETS.fullmatch(name):
                return normalize_newlines(data.decode(_CHARSET_SUPERSETS.get(name, name), "replace"))
            if name in ("utf-8", "utf8"):
                break
    return decode_text(data)[0]


def decode_xhtml(data: bytes) -> str:
    """Decode an EPUB document, which must be UTF-8 or UTF-16; otherwise trust what it declares."""
    text, bad_byte = decode_text(data)
    return text if bad_byte is None else decode_html(data)
