"""The commit of a wheel comes from its file, that of a checkout from Git, and nothing else is taken for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bookbound.cli.source_commit import COMMIT_FILE, find_commit


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a checkout with one commit and a tag."""
    package = tmp_path / "src" / "bookbound"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=Begin")
    git(tmp_path, "tag", "v9")
    return package


def test_a_checkout_says_its_commit(package: Path) -> None:
    assert find_commit(package) == git(package, "rev-parse", "--short=12", "HEAD")


def test_a_changed_checkout_says_so(package: Path) -> None:
    (package / "__init__.py").write_text("changed = True\n")
    assert find_commit(package) == git(package, "rev-parse", "--short=12", "HEAD") + "-dirty"


def test_the_file_of_a_wheel_comes_first(package: Path) -> None:
    (package / COMMIT_FILE).write_text("0123456789ab\n")
    assert find_commit(package) == "0123456789ab"


def test_the_repository_around_an_environment_is_not_ours(package: Path) -> None:
    installed = package.parent / "lib" / "site-packages" / "bookbound"
    installed.mkdir(parents=True)
    assert git(installed, "rev-parse", "HEAD")
    assert find_commit(installed) is None


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff"])
def test_an_empty_or_broken_file_is_no_commit(tmp_path: Path, content: bytes) -> None:
    (tmp_path / COMMIT_FILE).write_bytes(content)
    assert find_commit(tmp_path) is None


def test_without_git_there_is_no_commit(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert find_commit(package) is None
