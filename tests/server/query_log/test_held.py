"""A file is its process's while that lives, and can be told from others afterwards."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bookbound.server.query_log.unflushed import LockedFile, find_unlocked_files


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file can grow beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def found(folder: Path) -> list[bytes]:
    return [each.words for each in find_unlocked_files(folder, "file*")]


def test_a_file_is_found_once_nobody_holds_it(tmp_path: Path) -> None:
    file = LockedFile(tmp_path / "file", b"words")
    file.append(b" and more")
    assert found(tmp_path) == []
    file.close(keep=True)
    assert found(tmp_path) == [b"words and more"]


def test_a_kill_lets_go_of_a_file_with_all_that_was_written(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from bookbound.server.query_log.unflushed import Held
file = Held(Path({str(tmp_path / "file")!r}), b"words")
file.replace(b"others")
file.append(b" and more")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert found(tmp_path) == [b"others and more"]


def test_what_replaces_a_file_is_held_as_well_and_can_be_added_to(tmp_path: Path) -> None:
    file = LockedFile(tmp_path / "file", b"some words")
    file.replace(b"others")
    file.append(b"!")
    assert found(tmp_path) == []
    file.cut(3)
    file.append(b"...")
    file.close(keep=True)
    assert found(tmp_path) == [b"oth..."]


def test_what_is_not_kept_is_gone(tmp_path: Path) -> None:
    file = LockedFile(tmp_path / "file", b"words")
    (tmp_path / ".file").write_text("what a kill left")
    file.close(keep=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_replaced_while_somebody_waits_for_it_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old words")
    monkeypatch.setattr("fcntl.flock", lambda *_: file.unlink())
    assert found(tmp_path) == []


def test_on_a_full_disk_what_was_written_stays_whole(tmp_path: Path) -> None:
    file = LockedFile(tmp_path / "file", b"words")
    with room_for(8):
        file.append(b" and more")
        with pytest.raises(OSError, match=r".*"):
            file.replace(b"many other words")
    file.append(b"!")
    file.close(keep=True)
    assert found(tmp_path)[0].startswith(b"words!")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_where_there_is_no_room_to_begin_with_nothing_is_left(tmp_path: Path) -> None:
    with room_for(3), pytest.raises(OSError, match="no room"):
        LockedFile(tmp_path / "file", b"words")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path / "nowhere") == []
