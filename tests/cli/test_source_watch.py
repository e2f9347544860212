"""A watched source: no change of it is missed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from bookbound.cli.source_watch import watch_changes

CHANGED, DELETED = watchfiles.Change.modified, watchfiles.Change.deleted
MAX_POLLS = 60
"""A watch yields at least each second, so a test that fails ends too."""
Changes = set[tuple[watchfiles.Change, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (folder := tmp_path / "book").mkdir()
    (folder / "page.md").write_text("The first words.")
    return folder


@pytest.fixture
def watched(folder: Path, tmp_path: Path) -> Iterator[bool]:
    """The yields of a watch that has begun and has nothing to report."""
    yields = watch_changes(folder, tmp_path / "index")
    wait_for(yields, False)
    return yields


def wait_for(yields: Iterator[bool], value: bool) -> None:
    assert value in islice(yields, MAX_POLLS)


def script(monkeypatch: pytest.MonkeyPatch, *watches: list[Changes]) -> None:
    """Makes each next watch of the system report these changes, and then end."""
    remaining = iter(watches)

    def watch(*_: Any, **__: Any) -> Iterator[Changes]:
        try:
            yield from next(remaining)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(watchfiles, "watch", watch)


def read_all(yields: Iterator[bool]) -> list[bool]:
    found = list[bool]()
    with pytest.raises(KeyboardInterrupt):
        found.extend(yields)
    return found


def test_a_changed_page_is_noticed(watched: Iterator[bool], folder: Path) -> None:
    for words in ("second", "third"):
        (folder / "page.md").write_text(f"The {words} words.")
        wait_for(watched, True)
        wait_for(watched, False)


@pytest.mark.parametrize("how", ["created again", "moved away and back"])
def test_a_folder_that_comes_back_at_once_is_still_watched(how: str, watched: Iterator[bool], folder: Path) -> None:
    if how == "created again":  # usually with the inode of the old one
        shutil.rmtree(folder)
        folder.mkdir()
    else:
        folder.rename(folder.with_name("away")).rename(folder)
    wait_for(watched, False)
    (folder / "page.md").write_text("The last words.")
    wait_for(watched, True)


def test_the_source_is_looked_at_again_when_it_is_quiet_because_a_change_may_be_lost(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = {(CHANGED, str(folder / "page.md"))}
    script(monkeypatch, [set(), set(), change, change, set(), set()])
    assert read_all(watch_changes(folder, tmp_path / "index")) == [True, False, True, True, True, False]


def test_hidden_files_and_the_index_do_not_count_and_do_not_hide_other_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = {(CHANGED, str(folder / ".git" / "HEAD")), (CHANGED, str(folder / "index" / "chunks"))}
    script(monkeypatch, [set(), hidden, hidden | {(CHANGED, str(folder / "page.md"))}])
    assert read_all(watch_changes(folder, folder / "index")) == [True, False, True]


def test_a_folder_that_goes_away_at_any_moment_does_not_end_the_watch(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bookbound.cli.source_watch.sleep", lambda _: None)
    missing = iter([FileNotFoundError("while it is opened"), None])

    def watch(*_: Any, **__: Any) -> Iterator[Changes]:
        if error := next(missing):
            raise error
        yield set()
        shutil.rmtree(folder)
        yield set()

    monkeypatch.setattr(watchfiles, "watch", watch)
    yields = watch_changes(folder, tmp_path / "index")
    assert list(islice(yields, 4)) == [False, True, False, False]


def test_other_files_next_to_a_watched_file_do_not_count(folder: Path, tmp_path: Path) -> None:
    yields = watch_changes(folder / "page.md", tmp_path / "index")
    next(yields)
    (folder / "other.md").write_text("Other words.")
    assert not any(islice(yields, 3))
