"""Rooms for copies: in the first place that has enough, and none left behind by the dead."""

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
from bookbound.indexing.store import rooms

rooms.MEMORY = Path(sys.argv[1])
with rooms.filled(lambda room: (room / "copy").touch()) as room:
    print(room, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place in memory; the temporary files lie beside it."""
    for name in ("memory", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(temp_copies, "MEMORY_FOLDER", tmp_path / "memory")
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / "temporary"))
    monkeypatch.delenv("TMPDIR", raising=False)
    return tmp_path / "memory"


@pytest.fixture
def temporary(memory: Path) -> Path:
    return memory.with_name("temporary")


def place(lacking: tuple[Path, ...] = ()) -> Path:
    """Where a copy comes to lie if there is no room for it in some places."""

    def fill(room: Path) -> None:
        (room / "half").touch()
        if room.parent in lacking:
            raise DiskFullError("Make room.")

    with temp_copies.make_temp_copy(fill) as room:
        assert (room / "half").exists()
        return room.parent


def test_a_copy_lies_in_memory_unless_another_place_is_named(
    memory: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place() == memory
    monkeypatch.setenv("TMPDIR", os.fspath(temporary))
    assert place() == temporary
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(temp_copies, "MEMORY_FOLDER", memory / "nowhere")
    assert place() == temporary


def test_a_copy_that_memory_has_no_room_for_lies_among_the_temporary_files(memory: Path, temporary: Path) -> None:
    assert place(lacking=(memory,)) == temporary
    assert [*memory.iterdir(), *temporary.iterdir()] == []


def test_a_copy_that_no_place_has_room_for_is_refused_and_nothing_left(memory: Path, temporary: Path) -> None:
    with pytest.raises(DiskFullError, match="Make room"):
        place(lacking=(memory, temporary))
    assert [*memory.iterdir(), *temporary.iterdir()] == []


def test_trouble_of_whoever_uses_a_room_is_not_taken_for_lack_of_room(memory: Path) -> None:
    with pytest.raises(DiskFullError, match="another"), temp_copies.make_temp_copy(lambda room: None):
        raise DiskFullError("another")
    assert list(memory.iterdir()) == []


def test_there_is_no_end_of_room_where_a_disk_names_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=0, f_bavail=0, f_frsize=4096))
    assert filesystem.free_bytes(tmp_path) > 1 << 60
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_blocks=9, f_bavail=2, f_frsize=4096))
    assert filesystem.free_bytes(tmp_path) == 8192


def test_nothing_is_written_into_what_is_to_be_left_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        monkeypatch.setattr(filesystem, "free_bytes", lambda _: filesystem.RESERVED_BYTES + 3)
        filesystem.write_at(file.fileno(), b"abc", 1)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            filesystem.write_at(file.fileno(), b"abcd", 0)
    assert (tmp_path / "file").read_bytes() == b"\0abc"


def aged(room: Path, seconds: float = temp_copies.MIN_AGE_SECONDS + 5) -> Path:
    """A room that was made so long ago."""
    then = room.stat().st_mtime - seconds
    os.utime(room, (then, then))
    return room


def test_the_room_of_a_reader_that_was_killed_is_removed_by_the_next(memory: Path) -> None:
    command = [sys.executable, "-c", READER, os.fspath(memory)]
    environment = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
    reader = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    room = aged(Path(reader.stdout.readline().strip()))
    assert room.parent == memory
    place()
    assert (room / "copy").exists()
    reader.kill()
    reader.communicate()
    place()
    assert list(memory.iterdir()) == []


def test_a_room_that_was_made_just_now_is_left_to_its_maker(memory: Path) -> None:
    room = memory / "bookbound-reader-abcd1234"
    room.mkdir(mode=0o700)
    place()
    assert room.exists()
    aged(room)
    place()
    assert not room.exists()


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
def test_what_is_no_room_of_a_reader_is_left_alone(memory: Path, name: str, make: Callable[[Path], None]) -> None:
    make(memory / name)
    aged(memory / name)
    place()
    assert (memory / name).exists()
