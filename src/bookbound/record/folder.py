"""The folder beside an index for what belongs to its log: the file of questions, and the key for addresses."""

from __future__ import annotations

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
