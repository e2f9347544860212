"""Tests temp_folder copies of files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from bookbound import filesystem
from bookbound.filesystem import DiskFullError, temp_copies

READER = """
import sys
from pathlib import Path
from bookbound.filesystem import temp_copies

temp_copies.MEMORY_FOLDER = Path(sys.argv[1])
with temp_copies.make_temp_copy(lambda folder: (folder / "copy").touch()) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def memory_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the folder in memory_folder; the folder for temp_folder files is next to it."""
    for name in ("memory", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(temp_copies, "MEMORY_FOLDER", tmp_path / "memory")
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / "temporary"))
    monkeypatch.delenv("TMPDIR", raising=False)
    return tmp_path / "memory"


@pytest.fixture
def temp_folder(memory_folder: Path) -> Path:
    return memory_folder.with_name("temporary")


def copy_location(full: tuple[Path, ...] = ()) -> Path:
    """Returns the location of a copy if some locations have no folder for it."""

    def fill(folder: Path) -> None:
        (folder / "half").touch()
        if folder.parent in full:
            raise DiskFullError("Make room.")

    with temp_copies.make_temp_copy(fill) as folder:
        assert (folder / "half").exists()
        return folder.parent


def test_a_copy_is_in_memory_unless_tmpdir_is_set(
    memory_folder: Path, temp_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copy_location() == memory_folder
    monkeypatch.setenv("TMPDIR", os.fspath(temp_folder))
    assert copy_location() == temp_folder
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(temp_copies, "MEMORY_FOLDER", memory_folder / "nowhere")
    assert copy_location() == temp_folder


def test_a_copy_too_large_for_memory_is_among_the_temporary_files(memory_folder: Path, temp_folder: Path) -> None:
    assert copy_location(full=(memory_folder,)) == temp_folder
    assert [*memory_folder.iterdir(), *temp_folder.iterdir()] == []


def test_a_copy_that_fits_nowhere_is_refused_and_removed(memory_folder: Path, temp_folder: Path) -> None:
    with pytest.raises(DiskFullError, match="Make room"):
        copy_location(full=(memory_folder, temp_folder))
    assert [*memory_folder.iterdir(), *temp_folder.iterdir()] == []


def test_an_error_of_the_caller_is_not_taken_for_a_full_disk(memory_folder: Path) -> None:
    with pytest.raises(DiskFullError, match="another"), temp_copies.make_temp_copy(lambda folder: None):
        raise DiskFullError("another")
    assert list(memory_folder.iterdir()) == []


def test_a_file_system_without_a_limit_has_unlimited_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=0, f_bavail=0, f_frsize=4096))
    assert filesystem.free_bytes(tmp_path) > 1 << 60
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=9, f_bavail=2, f_frsize=4096))
    assert filesystem.free_bytes(tmp_path) == 8192


def test_nothing_is_written_into_the_reserved_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 3)
        temp_copies._write_at(file.fileno(), b"abc", 1)
        with pytest.raises(DiskFullError, match=os.strerror(errno.ENOSPC)):
            temp_copies._write_at(file.fileno(), b"abcd", 0)
    assert (tmp_path / "file").read_bytes() == b"\0abc"


def make_old(folder: Path) -> Path:
    """Sets the time of a folder back."""
    then = folder.stat().st_mtime - filesystem.ABANDONED_SECONDS - 5
    os.utime(folder, (then, then))
    return folder


def test_the_next_reader_removes_the_copy_of_a_killed_one(memory_folder: Path) -> None:
    command = [sys.executable, "-c", READER, os.fspath(memory_folder)]
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    reader = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    folder = make_old(Path(reader.stdout.readline().strip()))
    assert folder.parent == memory_folder
    copy_location()
    assert (folder / "copy").exists()
    reader.kill()
    reader.communicate()
    copy_location()
    assert list(memory_folder.iterdir()) == []


def test_a_new_folder_is_not_removed(memory_folder: Path) -> None:
    folder = memory_folder / "bookbound-reader-abcd1234"
    folder.mkdir(mode=0o700)
    copy_location()
    assert folder.exists()
    make_old(folder)
    copy_location()
    assert not folder.exists()


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bookbound-tutorial", lambda path: path.mkdir(mode=0o700)),
        ("bookbound-reader-of-the-month", lambda path: path.mkdir(mode=0o700)),
        ("bookbound-reader-shared_1", lambda path: path.mkdir(mode=0o755)),
        ("bookbound-reader-shared12", lambda path: path.mkdir(mode=0o755)),
        ("bookbound-reader-afile123", lambda path: path.touch(mode=0o700)),
        ("bookbound-reader-linked12", _link),
    ],
)
def test_other_folders_are_not_removed(memory_folder: Path, name: str, make: Callable[[Path], None]) -> None:
    make(memory_folder / name)
    make_old(memory_folder / name)
    copy_location()
    assert (memory_folder / name).exists()


def test_a_copy_keeps_the_holes_of_a_large_file(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.seek(30_000_000)
        file.write(b"end")
    assert temp_copies.checksum_file(source, target) == temp_copies.checksum_file(target)
    assert target.read_bytes() == source.read_bytes()
    assert filesystem.disk_usage(tmp_path) < 1_000_000


def test_a_copy_of_a_small_file_has_no_holes(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "folder" / "target"
    with source.open("wb") as file:
        file.truncate(4_000_000)
    temp_copies.checksum_file(source, target)
    assert target.read_bytes() == bytes(4_000_000)
    assert filesystem.disk_usage(target.parent) >= 4_000_000


def test_a_checksum_does_not_depend_on_how_holes_are_stored(tmp_path: Path) -> None:
    hollow, full = tmp_path / "hollow", tmp_path / "full"
    with hollow.open("wb") as file:
        file.truncate(1_000_000)
    full.write_bytes(bytes(1_000_000))
    assert temp_copies.checksum_file(hollow) == temp_copies.checksum_file(full)
    full.write_bytes(bytes(1_000_001))
    assert temp_copies.checksum_file(hollow) != temp_copies.checksum_file(full)


def test_folders_exist_during_the_block(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with temp_copies.recreate_folders([folder, folder / "inner"]):
        (tmp_path / "folder" / "inner" / "file").write_bytes(b"content")
    assert list(tmp_path.iterdir()) == []
