"""Bytes of a page of HTML become text, in the encoding that they say they are in."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import decode

_LOOKED_AT = 4_096
_META = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_XML = re.compile(rb"\A\s*<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w:.-]{2,40})", re.IGNORECASE)
# Only encodings of text that browsers know; some names mean more than they say.
_KNOWN = re.compile(
    r"iso-?8859-(?:1[013-6]?|[2-9])|windows-125[0-8]|cp125[0-8]|koi8-[ru]|gbk|gb2312|gb18030|big5|euc-jp|shift[_-]jis|sjis|iso-2022-jp|euc-kr"
    r"|macintosh|ibm866|tis-620"
)
_WIDER = {"iso-8859-1": "cp1252", "iso8859-1": "cp1252", "gbk": "gb18030", "gb2312": "gb18030", "euc-kr": "cp949"}
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def html_text(data: bytes, charset: str = "") -> str:
    """The text of a page: by the mark it begins with, else the `charset` it was sent with, else as it says itself."""
    if not data.startswith(_MARKS):
        found = _META.search(data, 0, _LOOKED_AT) or _XML.search(data, 0, _LOOKED_AT)
        for name in (charset, found[1].decode("ascii", "replace") if found else ""):
            name = name.strip().strip("\"'").lower()
            if _KNOWN.fullmatch(name):
                return decode.plain(data.decode(_WIDER.get(name, name), "replace"))
            if name in ("utf-8", "utf8"):
                break
    return decode.decode(data)[0]


def xhtml_text(data: bytes) -> str:
    """The text of a document of an EPUB, which may be in UTF-8 or UTF-16 alone: what it says counts where it is not."""
    text, odd = decode.decode(data)
    return text if odd is None else html_text(data)


def load_html(path: Path, file: str) -> tuple[str | None, list[Notice]]:
    """A file's text, or nothing, and what was odd about it."""
    data, notices = decode.content(path, file)
    return (None if data is None else html_text(data)), notices
