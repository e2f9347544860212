"""A folder for an index: whether it may be taken for one, and by whom it is written now."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bookbound.errors import BadSetup, IndexBusy
from bookbound.store.files import FRESH
from bookbound.store.naming import is_id

OURS = {"books/", "generations/", "current", "lock", ".gitignore", "operating-point.json"}
EARLIER = {"demo-book": "demo-book", "demo/": "demo/demo-book"}
"""What Bookbound may have laid into a folder before the first index comes there, and the file to tell it by."""
NOBODYS = {"lost+found/", ".DS_Store"}
"""What systems lay into folders that are otherwise empty."""
GENERATION = {"shard/", "manifest.json"}


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Be the only writer in a folder that is new, empty, or an index already."""
    try:
        _take(folder)
        lock = (folder / "lock").open("a")
    except OSError as trouble:
        raise BadSetup(
            f"The folder for the index cannot be used ({trouble.strerror}). Choose another one: --index DIR"
        ) from trouble
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexBusy(
                "Another process is writing this index. Wait until it has finished, or stop it, and try again."
            ) from None
        yield


def is_generation(folder: Path) -> bool:
    """Whether a folder has the name of a generation and holds nothing that none would hold."""
    return is_id(folder.name) and folder.is_dir() and not folder.is_symlink() and _names(folder) <= GENERATION | NOBODYS


def _take(folder: Path) -> None:
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    names = _names(folder)
    earlier = {name for name, sign in EARLIER.items() if (folder / sign).is_file()}
    generations = [is_generation(path) for path in (folder / "generations").glob("*")]
    if not any(generations) and (generations or names - OURS - NOBODYS - earlier):
        raise BadSetup("The folder for the index holds other things. Choose one that is new or empty: --index DIR")
    if new or (names and names <= earlier):
        (folder / ".gitignore").write_text("*\n")


def _names(folder: Path) -> set[str]:
    """What is in a folder, with a slash after the names of folders, but for files that a kill left half written."""
    names = {f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir()}
    return {name for name in names if name.endswith("/") or not name.startswith(FRESH)}
