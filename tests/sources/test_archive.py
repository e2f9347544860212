"""An archive of a stranger is read within bounds and never leads out of itself."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound.domain.errors import SourceError
from bookbound.sources.epub import zip_archive
from bookbound.sources.epub.zip_archive import UnreadableMemberError, ZipArchive

Made = Callable[[bytes], ZipArchive]


@pytest.fixture
def opened(tmp_path: Path) -> Made:
    def write(data: bytes) -> ZipArchive:
        (tmp_path / "a.zip").write_bytes(data)
        return ZipArchive(tmp_path / "a.zip")

    return write


def packed(*files: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, content in files:
            made.writestr(name, content)
    return out.getvalue()


def test_files_are_read_by_name(opened: Made) -> None:
    with opened(packed(("a/b.txt", b"words"), ("c/", b""))) as found:
        assert (found.names, found.read("a/b.txt"), found.notices) == (["a/b.txt"], b"words", [])
        with pytest.raises(UnreadableMemberError, match="is not in the archive"):
            found.read("c/")


@pytest.mark.parametrize("name", ["../a", "a/../../b", "/etc/passwd", "a\\b", "C:/a", "..", "a/.."])
def test_a_name_that_leads_out_is_refused_and_told_of(opened: Made, name: str) -> None:
    with opened(packed((name, b"x"), ("good", b"y"))) as found:
        assert found.names == ["good"]
        assert [notice.message for notice in found.notices] == ["its name leads out of the archive; left out"]


def test_a_link_and_a_name_that_is_there_twice_are_refused(opened: Made) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with opened(packed((link, b"/etc/passwd"), ("twice", b"1"), ("twice", b"2"), ("good", b"y"))) as found:
        assert found.names == ["good"]
        assert {notice[:2] for notice in found.notices} == {
            ("link", "is a link; left out"),
            ("twice", "is there twice; left out"),
        }


def test_a_bomb_is_never_unpacked(opened: Made) -> None:
    with opened(packed(("bomb", bytes(50_000_000)), ("dense", bytes(5_000_000)), ("fits", bytes(900_000)))) as found:
        for name in ("bomb", "dense"):
            with pytest.raises(UnreadableMemberError, match="larger"):
                found.read(name)
        assert len(found.read("fits")) == 900_000


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_as_no_epub_may_be_is_never_unpacked(opened: Made, compression: int) -> None:
    with opened(packed(("bomb", bytes(50_000)), compression=compression)) as found:
        assert found.names == []
        assert [(notice.file, "packed in a way" in notice.message) for notice in found.notices] == [("bomb", True)]


def test_all_files_together_are_bounded(opened: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archive, "MAX_TOTAL_BYTES", 2_500)
    files = [(str(i), bytes(1_000)) for i in range(4)]
    with opened(packed(*files, compression=zipfile.ZIP_STORED)) as found:
        assert [len(found.read(str(i))) for i in range(2)] == [1_000, 1_000]
        with pytest.raises(UnreadableMemberError, match="larger"):
            found.read("2")


def test_a_declared_size_is_not_believed(opened: Made) -> None:
    data = bytearray(packed(("lies", bytes(50_000_000))))
    central = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, 10)
    with opened(bytes(data)) as found, pytest.raises(UnreadableMemberError, match="is damaged"):
        found.read("lies")


def test_damage_and_passwords_are_told_apart(opened: Made) -> None:
    data = bytearray(packed(("a", b"words " * 100)))
    data[35] ^= 0xFF
    with opened(bytes(data)) as found, pytest.raises(UnreadableMemberError, match="is damaged"):
        found.read("a")
    data = bytearray(packed(("a", b"words")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    with opened(bytes(data)) as found, pytest.raises(UnreadableMemberError, match="password"):
        found.read("a")


def test_the_files_of_an_archive_are_counted_whatever_it_declares(
    opened: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_archive, "MAX_FILES", 5)
    data = bytearray(packed(*((str(i), b"") for i in range(6))))
    struct.pack_into("<HH", data, data.rindex(b"PK\x05\x06") + 8, 1, 1)
    with pytest.raises(SourceError, match="more than 20000 files"):
        opened(bytes(data))


def test_a_table_of_contents_that_is_too_long_is_refused_before_it_is_read(opened: Made) -> None:
    data = bytearray(b"PK\x05\x06" + bytes(18))
    struct.pack_into("<I", data, 12, 50_000_000)
    with pytest.raises(SourceError, match="more than 20000 files"):
        opened(bytes(data))


def test_an_archive_that_is_cut_off_or_counts_too_many_files_says_what_to_do(opened: Made) -> None:
    whole = packed(("a", b"words"))
    many = bytearray(whole)
    struct.pack_into("<H", many, many.rindex(b"PK\x05\x06") + 10, 60_000)
    end = whole.rindex(b"PK\x05\x06")
    larger = whole[:end] + b"PK\x06\x07" + bytes(16) + whole[end:]
    for data in (b"", whole[:-30], bytes(many), larger):
        with pytest.raises(SourceError, match="anew"):
            opened(data)
