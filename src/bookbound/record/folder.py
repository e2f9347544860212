"""The folders for what belongs to a log: one beside the index, and one for where that cannot be written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def beside(index: Path) -> Path:
    """The folder for the log of an index; not within that of the index, which may be read-only, or be made anew."""
    folder = index.absolute()
    return folder.with_name(f"{folder.name}-log")


def make(folder: Path) -> None:
    """The folder, where there is none yet: for its owner alone, and kept out of version control."""
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")


def passing() -> Path:
    """The folder of this user's among those that the system clears; it is not made by asking for it."""
    return Path(tempfile.gettempdir()) / f"bookbound-{os.getuid()}"
