"""An untrusted archive is read within limits."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from bookbound.domain.errors import SourceError
from bookbound.sources import zip_archive
from bookbound.sources.zip_archive import UnreadableMemberError, ZipArchive

Open = Callable[[bytes], AbstractContextManager[ZipArchive]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def write(data: bytes) -> AbstractContextManager[ZipArchive]:
        (tmp_path / "a.zip").write_bytes(data)
        return closing(ZipArchive(tmp_path / "a.zip"))

    return write


def packed(*files: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, content in files:
            file.writestr(name, content)
    return out.getvalue()


def test_files_are_read_by_name(opened: Open) -> None:
    with opened(packed(("a/b.txt", b"words"), ("c/", b""))) as archive:
        assert (archive.names, archive.read("a/b.txt"), archive.notices) == (["a/b.txt"], b"words", [])
        with pytest.raises(UnreadableMemberError, match="is not in the archive"):
            archive.read("c/")


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "a\\b", "C:/a", "..", "a/.."])
def test_a_name_that_leads_out_of_the_archive_is_left_out_with_a_notice(opened: Open, name: str) -> None:
    with opened(packed((name, b"x"), ("good", b"y"))) as archive:
        assert archive.names == ["good"]
        assert [notice.message for notice in archive.notices] == ["has a name that leads out of the archive; left out"]


def test_links_and_duplicate_names_are_left_out(opened: Open) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with opened(packed((link, b"/etc/passwd"), ("twice", b"1"), ("twice", b"2"), ("good", b"y"))) as archive:
        assert archive.names == ["good"]
        assert {notice[:2] for notice in archive.notices} == {
            ("link", "is a link; left out"),
            ("twice", "is there twice; left out"),
        }


def test_a_zip_bomb_is_never_decompressed(opened: Open) -> None:
    with opened(packed(("bomb", bytes(50_000_000)), ("dense", bytes(5_000_000)), ("fits", bytes(900_000)))) as archive:
        for name in ("bomb", "dense"):
            with pytest.raises(UnreadableMemberError, match="larger"):
                archive.read(name)
        assert len(archive.read("fits")) == 900_000


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_never_decompressed(opened: Open, compression: int) -> None:
    with opened(packed(("bomb", bytes(50_000)), compression=compression)) as archive:
        assert archive.names == []
        assert [
            (notice.file, "compression that EPUB and DOCX do not allow" in notice.message) for notice in archive.notices
        ] == [("bomb", True)]


def test_the_total_size_of_all_files_is_limited(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_TOTAL_BYTES", 2_500)
    files = [(str(i), bytes(1_000)) for i in range(4)]
    with opened(packed(*files, compression=zipfile.ZIP_STORED)) as archive:
        assert [len(archive.read(str(i))) for i in range(2)] == [1_000, 1_000]
        with pytest.raises(UnreadableMemberError, match="larger"):
            archive.read("2")


def test_a_wrong_declared_size_is_detected(opened: Open) -> None:
    data = bytearray(packed(("wrong size", bytes(50_000_000))))
    central = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, 10)
    with opened(bytes(data)) as archive, pytest.raises(UnreadableMemberError, match="is damaged"):
        archive.read("wrong size")


def test_damage_and_passwords_have_different_messages(opened: Open) -> None:
    data = bytearray(packed(("a", b"words " * 100)))
    data[35] ^= 0xFF
    with opened(bytes(data)) as archive, pytest.raises(UnreadableMemberError, match="is damaged"):
        archive.read("a")
    data = bytearray(packed(("a", b"words")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    with opened(bytes(data)) as archive, pytest.raises(UnreadableMemberError, match="password"):
        archive.read("a")


def test_files_are_counted_even_if_the_archive_declares_fewer(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_FILES", 5)
    data = bytearray(packed(*((str(i), b"") for i in range(6))))
    struct.pack_into("<HH", data, data.rindex(b"PK\x05\x06") + 8, 1, 1)
    with pytest.raises(SourceError, match="more than 20000 files"):
        opened(bytes(data))


def test_a_huge_directory_is_refused_before_it_is_read(opened: Open) -> None:
    data = bytearray(b"PK\x05\x06" + bytes(18))
    struct.pack_into("<I", data, 12, 50_000_000)
    with pytest.raises(SourceError, match="more than 20000 files"):
        opened(bytes(data))


def test_a_truncated_archive_or_one_with_too_many_files_raises_an_error_with_advice(opened: Open) -> None:
    whole = packed(("a", b"words"))
    many = bytearray(whole)
    struct.pack_into("<H", many, many.rindex(b"PK\x05\x06") + 10, 60_000)
    end = whole.rindex(b"PK\x05\x06")
    larger = whole[:end] + b"PK\x06\x07" + bytes(16) + whole[end:]
    for data in (b"", whole[:-30], bytes(many), larger):
        with pytest.raises(SourceError, match="again"):
            opened(data)
