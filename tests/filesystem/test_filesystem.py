from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from bookbound import filesystem


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_concurrent_writers_all_succeed_and_leave_one_complete_content(tmp_path: Path) -> None:
    file = tmp_path / "current"
    contents = [bytes([65 + i]) * (100_000 + i) for i in range(8)]
    for _ in range(5):
        with ThreadPoolExecutor(len(contents)) as writers:
            list(writers.map(lambda content: filesystem.write_atomically(file, content), contents))
        assert file.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [file]


def test_a_failure_names_the_target_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "current" / "full").mkdir(parents=True)
    with pytest.raises(IsADirectoryError) as raised:
        filesystem.write_atomically(tmp_path / "current", b"new")
    assert raised.value.filename == str(tmp_path / "current")
    assert [path.name for path in tmp_path.iterdir()] == ["current"]


def test_disk_usage_does_not_count_holes(tmp_path: Path) -> None:
    (tmp_path / "full").write_bytes(os.urandom(100_000))
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(10_000_000)
    assert 100_000 <= filesystem.disk_usage(tmp_path) < 1_000_000


def test_an_exclusive_lock_excludes_every_other_lock(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert filesystem.try_lock(first.fileno())
        assert not filesystem.try_lock(second.fileno())
        assert not filesystem.try_lock(second.fileno(), shared=True)
        first.close()
        assert filesystem.try_lock(second.fileno())


def test_shared_locks_exclude_only_an_exclusive_one(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as first, (tmp_path / "lock").open("w") as second:
        assert filesystem.try_lock(first.fileno(), shared=True)
        assert not filesystem.try_lock(second.fileno())
        assert filesystem.try_lock(second.fileno(), shared=True)


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    running = 0

    def work(_: int) -> int:
        nonlocal running
        with filesystem.wait_for_lock(tmp_path / "lock"):
            running += 1
            sleep(0.01)
            found, running = running, running - 1
        return found

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(work, range(8))) == {1}
    assert permissions(tmp_path / "lock") == 0o600


def test_a_private_folder_is_for_its_owner_and_ignored_by_version_control(tmp_path: Path) -> None:
    filesystem.create_private_folder(tmp_path / "outer" / "private")
    assert permissions(tmp_path / "outer" / "private") == 0o700
    assert (tmp_path / "outer" / "private" / ".gitignore").read_text() == "*\n"


def test_an_existing_folder_does_not_become_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    filesystem.create_private_folder(tmp_path)
    assert permissions(tmp_path) == 0o755
    assert list(tmp_path.iterdir()) == []


def test_a_private_file_is_for_its_owner_and_never_emptied(tmp_path: Path) -> None:
    filesystem.create_private_file(tmp_path / "file")
    assert permissions(tmp_path / "file") == 0o600
    (tmp_path / "file").write_bytes(b"content")
    filesystem.create_private_file(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"content"


def test_a_secret_is_created_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: filesystem.create_secret_file(tmp_path / "key"), range(8)))
    secret = (tmp_path / "key").read_bytes()
    assert (len(secret), permissions(tmp_path / "key")) == (32, 0o600)
    filesystem.create_secret_file(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == secret
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_the_new_files_of_killed_writers_are_removed_and_those_of_running_ones_are_not(tmp_path: Path) -> None:
    abandoned = tmp_path / f"{filesystem.TEMP_PREFIX}{'0' * 16}"
    theirs = tmp_path / f"{filesystem.TEMP_PREFIX}notes.txt"
    for file in (abandoned, theirs):
        file.write_bytes(b"half")
        os.utime(file, (0, 0))
    with filesystem.open_atomically(tmp_path / "slow") as slow:
        (running,) = set(tmp_path.iterdir()) - {abandoned, theirs}
        os.utime(running, (0, 0))
        filesystem.write_atomically(tmp_path / "quick", b"1")
        slow.write(b"2")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([theirs.name, "quick", "slow"])
