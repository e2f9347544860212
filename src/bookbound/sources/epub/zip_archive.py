"""Reads the files of an untrusted zip archive within limits and never extracts them to disk."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections import Counter
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self

from bookbound.domain.document import SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.decoding import MAX_PAGE_BYTES

MAX_FILES, MAX_TOTAL_BYTES = 20_000, 100_000_000
"""The most files of an archive, and the most bytes that are read from all of them together."""
MAX_COMPRESSION_RATIO, RATIO_FREE_BYTES = 300, 1_000_000
"""How many times larger than it is packed a file may be, once it is larger than what is free."""
# What is packed otherwise cannot be unpacked within bounds, and no EPUB may hold it.
_ALLOWED_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END_RECORD, _ZIP64_LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
_TAIL_BYTES = 65_536 + 22 + 20
# The bytes that a file takes in the table of contents of an archive, its name included; few take half of that.
_MAX_ENTRY_BYTES = 256
_TOO_MANY_FILES = f"The archive holds more than {MAX_FILES} files: export the book anew."
_BROKEN_ARCHIVE = "The file is cut off or no archive at all: fetch it again, or export the book anew."


class UnreadableMemberError(Exception):
    """A file of an archive cannot be read; the message says why."""


class ZipArchive:
    """An open archive: its files by name, and what was odd about some of them."""

    def __init__(self, path: Path) -> None:
        try:
            self._check(path)
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise SourceError(_BROKEN_ARCHIVE) from error
        if len(self._zip.infolist()) > MAX_FILES:  # whatever it declares
            self._zip.close()
            raise SourceError(_TOO_MANY_FILES)
        self._left = MAX_TOTAL_BYTES
        counted = Counter(info.filename for info in self._zip.infolist())
        self._files: dict[str, zipfile.ZipInfo] = {}
        self.notices: list[SourceNotice] = []
        for info in self._zip.infolist():
            fault = "is there twice" if counted[info.filename] > 1 else _rejection_reason(info)
            if fault:
                self.notices.append(SourceNotice(_printable_name(info.filename), f"{fault}; left out"))
            elif not info.is_dir():
                self._files[info.filename] = info
        self.notices = list(dict.fromkeys(self.notices))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._files

    @property
    def names(self) -> list[str]:
        return list(self._files)

    def read(self, name: str, largest: int = MAX_PAGE_BYTES) -> bytes:
        """The content of a file; more than was declared, or than is allowed, is never held."""
        info = self._files.get(name)
        if info is None:
            raise UnreadableMemberError("is not in the archive")
        if info.flag_bits & 1:
            raise UnreadableMemberError("is protected by a password")
        most = min(largest, self._left)
        if info.file_size > most or info.file_size > RATIO_FREE_BYTES + MAX_COMPRESSION_RATIO * info.compress_size:
            raise UnreadableMemberError("is larger than a page may be")
        try:
            with self._zip.open(info) as opened:
                data = opened.read(most + 1)
        except (OSError, EOFError, zipfile.BadZipFile, RuntimeError, ValueError, zlib.error, LZMAError) as error:
            raise UnreadableMemberError("is damaged") from error
        if len(data) > most:
            raise UnreadableMemberError("is larger than a page may be")
        self._left -= len(data)
        return data

    @staticmethod
    def _check(path: Path) -> None:
        """Refuse a table of contents that would not fit into memory, before it is read."""
        with path.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - _TAIL_BYTES))
            tail = opened.read(_TAIL_BYTES)
        at = tail.rfind(_END_RECORD)
        if at < 0:
            raise SourceError(_BROKEN_ARCHIVE)
        count, size = struct.unpack_from("<HI", tail, at + 10)
        if count > MAX_FILES or size > MAX_FILES * _MAX_ENTRY_BYTES or _ZIP64_LOCATOR in tail[max(0, at - 20) : at]:
            raise SourceError(_TOO_MANY_FILES)


def _rejection_reason(info: zipfile.ZipInfo) -> str:
    """Why a file of an archive is not looked at, or nothing."""
    name = info.orig_filename
    if "\\" in name or "\0" in name or name.startswith("/") or name[1:2] == ":" or ".." in PurePosixPath(name).parts:
        return "its name leads out of the archive"
    if info.compress_type not in _ALLOWED_COMPRESSION:
        return "is packed in a way that an EPUB may not be: export the book anew"
    return "is a link" if stat.S_ISLNK(info.external_attr >> 16) else ""


def _printable_name(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()[:200]
