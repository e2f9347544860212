"""No large file gets into the history unnoticed, because it then is in everybody's clone for ever."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from release.large_files import LIST, MAX_BYTES, find_unlisted_files

REPOSITORY = Path(__file__).resolve().parents[2]


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone of a repository with an empty list."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    (origin / LIST.parent).mkdir(parents=True)
    (origin / LIST).write_text("# none\n", encoding="utf-8")
    git(origin, "init", "--quiet")
    commit(origin)
    git(tmp_path, "clone", "--quiet", str(origin), str(clone))
    return clone


def commit(repository: Path) -> None:
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "Change files")


def add_weights(repository: Path, letter: bytes, size: int = MAX_BYTES + 1) -> str:
    """Commits a version of the weights, and returns its line for the list."""
    (repository / "weights.bin").write_bytes(letter * size)
    commit(repository)
    return f"{git(repository, 'rev-parse', 'HEAD:weights.bin')} weights.bin"


def test_a_large_file_is_found_until_the_list_has_it(repository: Path) -> None:
    line = add_weights(repository, b"a")
    assert find_unlisted_files(repository) == [line]
    (repository / LIST).write_text(f"{line}\n", encoding="utf-8")
    assert find_unlisted_files(repository) == []


def test_a_file_of_the_limit_may_be_added(repository: Path) -> None:
    add_weights(repository, b"a", MAX_BYTES)
    assert find_unlisted_files(repository) == []


def test_weights_that_are_committed_twice_before_they_are_pushed_are_found(repository: Path) -> None:
    first, second = add_weights(repository, b"a"), add_weights(repository, b"b")
    (repository / LIST).write_text(f"{second}\n", encoding="utf-8")
    assert find_unlisted_files(repository) == [first]


def test_a_large_file_that_a_later_commit_removes_is_found(repository: Path) -> None:
    line = add_weights(repository, b"a")
    (repository / "weights.bin").unlink()
    commit(repository)
    assert find_unlisted_files(repository) == [line]


def test_versions_that_the_remote_already_has_are_no_longer_found(repository: Path) -> None:
    add_weights(repository, b"a")
    git(repository, "push", "--quiet", "origin", "HEAD:refs/heads/pushed")
    (repository / LIST).write_text(f"{add_weights(repository, b'b')}\n", encoding="utf-8")
    assert find_unlisted_files(repository) == []


@pytest.mark.skipif(not (REPOSITORY / ".git").exists(), reason="this is not a checkout")
def test_the_list_has_every_large_file_of_this_checkout() -> None:
    assert find_unlisted_files(REPOSITORY) == []
