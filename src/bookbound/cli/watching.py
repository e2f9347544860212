"""Index a book again whenever its source changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from bookbound import settings
from bookbound.cli import show
from bookbound.cli.index import make, tell, told_changes
from bookbound.cli.outcome import tell as tell_trouble
from bookbound.cli.parts import Parts
from bookbound.cli.screen import Line, note, put
from bookbound.cli.streams import flush
from bookbound.errors import BookboundError
from bookbound.read.prints import signs

if TYPE_CHECKING:
    from bookbound.ingest import Indexed

LOOK = 1000
"""The milliseconds after which there is a look without a sign."""


def follow(
    parts: Parts, source: Path, chosen: settings.Settings, kind: str | None, last: Indexed, as_json: bool
) -> None:
    """Index again after each change, until Ctrl-C; what goes wrong is told, and the next change waited for."""
    note([Line.of((f"Watching {source} (Ctrl-C ends)", "dim"))])
    seen: object = None
    for changed in _looks(source, chosen):
        if (now := signs(source, last.manifest.beside)) == seen and not changed:
            continue
        seen = now
        try:
            indexed, seconds = make(parts, source, chosen, kind=kind)
        except BookboundError as trouble:
            tell_trouble(trouble, as_json)
            continue
        if not as_json and indexed.notices and indexed.notices != last.notices:
            note(show.warning(f"{file}: {message}") for file, message, _ in indexed.notices)
        last = indexed
        if not indexed.published:
            continue
        if as_json:
            tell(indexed, seconds, chosen, as_json)
        else:
            put([Line.of(f"Published {indexed.manifest.generation}: {told_changes(indexed)}")])
        flush()


def _looks(source: Path, chosen: settings.Settings) -> Iterator[bool]:
    """A look at each change below a source, and from time to time without one: whether there was a change.

    A file is replaced by whoever saves it, and a folder may be: what stood there before gives no more signs.
    """
    from watchfiles import watch

    whole = source.is_dir()
    folder = source if whole else source.parent
    own = _Elsewhere(folder, chosen.index)
    while True:
        if not folder.is_dir():
            sleep(LOOK / 1000)
            yield False
            continue
        stood, fresh = folder.stat().st_ino, True  # something may have changed before anybody watched
        for changes in watch(
            folder, watch_filter=own, recursive=whole, raise_interrupt=True, yield_on_timeout=True, rust_timeout=LOOK
        ):
            yield whole and (fresh or bool(changes))
            fresh = False
            if not folder.is_dir() or folder.stat().st_ino != stood:
                break


class _Elsewhere:
    """Whether a change is one of the book's: the index may lie within the source."""

    def __init__(self, folder: Path, index: Path) -> None:
        self._folder, self._own = folder.resolve(), index.resolve()

    def __call__(self, change: Any, path: str) -> bool:
        inside = Path(os.path.relpath(os.path.realpath(path), self._folder))
        return not any(part.startswith(".") for part in inside.parts) and not Path(path).is_relative_to(self._own)
