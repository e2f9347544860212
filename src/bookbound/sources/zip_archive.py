"""Reads the files of an untrusted zip archive within limits and never extracts them to disk."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections import Counter
from lzma import LZMAError
from pathlib import Path, PurePosixPath

from bookbound.domain.document import SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.file_loader import MAX_PAGE_BYTES

MAX_FILES = 20_000
MAX_TOTAL_BYTES = 100_000_000
MAX_COMPRESSION_RATIO = 300
RATIO_FREE_BYTES = 1_000_000
"""The compression ratio of files up to this size does not matter."""
# EPUB and DOCX allow no other method, and others cannot be decompressed within limits.
_ALLOWED_COMPRESSION = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END_RECORD = b"PK\x05\x06"
_ZIP64_LOCATOR = b"PK\x06\x07"
# The longest comment of an archive, the record of its end and the locator before that.
_TAIL_BYTES = 65_536 + 22 + 20
_MAX_ENTRY_BYTES = 256
"""The average size of a directory entry; most take less than half."""
_TOO_MANY_FILES = f"The archive has more than {MAX_FILES} files: export the book again."
_BROKEN_ARCHIVE = "The file is truncated or not an archive: download it again, or export the book again."


class UnreadableMemberError(Exception):
    """A file of an archive cannot be read; the message says why."""


class ZipArchive:
    """An open archive; `notices` name the files that it leaves out."""

    def __init__(self, path: Path) -> None:
        try:
            _check_directory_size(path)
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise SourceError(_BROKEN_ARCHIVE) from error
        members = self._zip.infolist()
        if len(members) > MAX_FILES:  # the declared number may be wrong
            self.close()
            raise SourceError(_TOO_MANY_FILES)
        self._bytes_left = MAX_TOTAL_BYTES
        self._files: dict[str, zipfile.ZipInfo] = {}
        counts = Counter(info.filename for info in members)
        notices: dict[SourceNotice, None] = {}
        for info in members:
            reason = "is there twice" if counts[info.filename] > 1 else _rejection_reason(info)
            if reason:
                name = info.filename.encode("utf-8", "backslashreplace").decode()[:200]
                notices[SourceNotice(name, f"{reason}; left out")] = None
            elif not info.is_dir():
                self._files[info.filename] = info
        self.notices = list(notices)

    def close(self) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._files

    @property
    def names(self) -> list[str]:
        return list(self._files)

    def read(self, name: str, max_bytes: int = MAX_PAGE_BYTES) -> bytes:
        """Read a file, or raise without keeping more than the allowed bytes in memory."""
        info = self._files.get(name)
        if info is None:
            raise UnreadableMemberError("is not in the archive")
        if info.flag_bits & 1:
            raise UnreadableMemberError("is protected by a password")
        # The declared sizes can be wrong, so the bytes are counted too.
        limit = min(max_bytes, self._bytes_left)
        if info.file_size > min(limit, RATIO_FREE_BYTES + MAX_COMPRESSION_RATIO * info.compress_size):
            raise UnreadableMemberError("is larger than a page may be")
        try:
            with self._zip.open(info) as opened:
                data = opened.read(limit + 1)
        except (OSError, EOFError, zipfile.BadZipFile, RuntimeError, ValueError, zlib.error, LZMAError) as error:
            raise UnreadableMemberError("is damaged") from error
        if len(data) > limit:
            raise UnreadableMemberError("is larger than a page may be")
        self._bytes_left -= len(data)
        return data


def _check_directory_size(path: Path) -> None:
    """Refuse an archive whose directory would not fit into memory, before it is read."""
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
    name = info.orig_filename
    if "\\" in name or "\0" in name or name.startswith("/") or name[1:2] == ":" or ".." in PurePosixPath(name).parts:
        return "has a name that leads out of the archive"
    if info.compress_type not in _ALLOWED_COMPRESSION:
        return "has a compression that EPUB and DOCX do not allow: export the book again"
    return "is a link" if stat.S_ISLNK(info.external_attr >> 16) else ""
