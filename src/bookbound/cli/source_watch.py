"""Notices every change of a source folder while it is watched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import sleep

POLL_SECONDS = 1.0


def watch_changes(source: Path, index: Path) -> Iterator[bool]:
    """Yield at each change and at least each second; the value is whether files in a source folder may have changed.

    Hidden files and the index do not count.
    """
    is_folder = source.is_dir()
    folder = source if is_folder else source.parent
    while True:
        try:
            for may_have_changed in _watch_folder(folder.absolute(), index.resolve(), is_recursive=is_folder):
                yield is_folder and may_have_changed
        except (FileNotFoundError, NotADirectoryError):  # the folder is away, and another may take its place
            sleep(POLL_SECONDS)
            yield False


def _watch_folder(folder: Path, index: Path, *, is_recursive: bool) -> Iterator[bool]:
    """Yield until the folder is moved, deleted or replaced, because its watch then sees no more changes."""
    from watchfiles import watch

    def is_in_book(path: str) -> bool:
        parts = Path(os.path.relpath(os.path.realpath(path), root)).parts
        return not any(part.startswith(".") for part in parts) and not Path(path).is_relative_to(index)

    if not folder.is_dir():
        raise NotADirectoryError(folder)
    root, inode = folder.resolve(), folder.stat().st_ino
    # The system may lose the changes of a new folder, and the watch those that come while it hands out others. So the
    # source is looked at again in the first quiet second after each change, and after the watch has begun.
    is_unsettled = True
    # Without the filter here: it would keep the watch from yielding while hidden files change.
    for changes in watch(
        folder,
        watch_filter=None,
        recursive=is_recursive,
        raise_interrupt=True,
        yield_on_timeout=True,
        rust_timeout=round(POLL_SECONDS * 1000),
    ):
        has_changed = any(is_in_book(path) for _, path in changes)
        yield has_changed or is_unsettled
        is_unsettled = has_changed
        # A new folder can have the inode of the deleted one, and a folder that was moved comes back with its own.
        if folder.stat().st_ino != inode or any(Path(path) == folder for _, path in changes):
            return
