"""Reads files within a size limit and decodes their bytes to text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from stat import S_ISREG

from bookbound.domain.document import SourceNotice

# A byte that is no UTF-8 is read as Windows wrote it.
_CP1252_FALLBACK = {0xDC00 + byte: bytes([byte]).decode("cp1252", errors="replace") for byte in range(128, 256)}
MAX_PAGE_BYTES = 20_000_000
"""The most bytes of a page that are read; no author wrote a longer one."""
MAX_CONFIG_BYTES = 200_000
"""The most bytes of a file that says how a book is put together."""
_BINARY_CHECK_BYTES = 8192
_opened_paths: ContextVar[set[Path] | None] = ContextVar("opened", default=None)


@contextmanager
def record_opened_paths() -> Iterator[set[Path]]:
    """Every path whose content is asked for within this block, whether or not a file stands there."""
    found: set[Path] = set()
    token = _opened_paths.set(found)
    try:
        yield found
    finally:
        _opened_paths.reset(token)


def load_text(path: Path, file: str, largest: int = MAX_PAGE_BYTES) -> tuple[str | None, list[SourceNotice]]:
    """The file's text with plain newlines, or nothing, and what was odd about it."""
    data, notices = load_bytes(path, file, largest)
    if data is None:
        return None, notices
    if b"\0" in data[:_BINARY_CHECK_BYTES] and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None, [SourceNotice(file, f"holds binary data at byte {data.index(0)}; left out", lost=True)]
    text, odd = decode_text(data)
    if odd is None:
        return text, []
    return text, [SourceNotice(file, f"is not UTF-8 at byte {odd}; save it as UTF-8 if words come out wrong")]


def load_bytes(path: Path, file: str, largest: int = MAX_PAGE_BYTES) -> tuple[bytes | None, list[SourceNotice]]:
    """The file's bytes, or nothing, and why not; what is no file, such as a pipe, or too large is never opened."""
    if (noted := _opened_paths.get()) is not None:
        noted.add(path)
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            return None, [SourceNotice(file, "could not be read (no file); left out", lost=True)]
        if found.st_size > largest:
            return None, [SourceNotice(file, f"is larger than {largest // 1000} kB; left out", lost=True)]
        with path.open("rb") as opened:
            return opened.read(largest), []
    except OSError as error:
        return None, [SourceNotice(file, f"could not be read ({error.strerror or 'input error'}); left out", lost=True)]


def decode_text(data: bytes) -> tuple[str, int | None]:
    """Text with plain newlines, and the offset of the first byte that is not UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return normalize_newlines(data.decode("utf-16", errors="replace")), 0
    words = data.removeprefix(codecs.BOM_UTF8)
    try:
        return normalize_newlines(words.decode("utf-8")), None
    except UnicodeDecodeError as error:
        text = words.decode("utf-8", errors="surrogateescape").translate(_CP1252_FALLBACK)
        return normalize_newlines(text), error.start + len(data) - len(words)


def normalize_newlines(text: str) -> str:
    """Text with plain newlines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


_CHARSET_SEARCH_BYTES = 4_096
_META_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w:.-]{2,40})", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\A\s*<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w:.-]{2,40})", re.IGNORECASE)
# Only encodings of text that browsers know; some names mean more than they say.
_KNOWN_CHARSETS = re.compile(
    r"iso-?8859-(?:1[013-6]?|[2-9])|windows-125[0-8]|cp125[0-8]|koi8-[ru]|gbk|gb2312|gb18030|big5|euc-jp|shift[_-]jis|sjis|iso-2022-jp|euc-kr"
    r"|macintosh|ibm866|tis-620"
)
_CHARSET_SUPERSETS = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc-kr": "cp949",
}
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_html(data: bytes, charset: str = "") -> str:
    """The text of a page: by the mark it begins with, else the `charset` it was sent with, else as it says itself."""
    if not data.startswith(_BYTE_ORDER_MARKS):
        found = _META_CHARSET.search(data, 0, _CHARSET_SEARCH_BYTES) or _XML_ENCODING.search(
            data, 0, _CHARSET_SEARCH_BYTES
        )
        for name in (charset, found[1].decode("ascii", "replace") if found else ""):
            name = name.strip().strip("\"'").lower()
            if _KNOWN_CHARSETS.fullmatch(name):
                return normalize_newlines(data.decode(_CHARSET_SUPERSETS.get(name, name), "replace"))
            if name in ("utf-8", "utf8"):
                break
    return decode_text(data)[0]


def decode_xhtml(data: bytes) -> str:
    """The text of a document of an EPUB, which may be in UTF-8 or UTF-16 alone: what it says counts where it is not."""
    text, odd = decode_text(data)
    return text if odd is None else decode_html(data)


def load_html_text(path: Path, file: str) -> tuple[str | None, list[SourceNotice]]:
    """A file's text, or nothing, and what was odd about it."""
    data, notices = load_bytes(path, file)
    return (None if data is None else decode_html(data)), notices
