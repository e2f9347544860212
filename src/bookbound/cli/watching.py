"""Index a book again whenever its source changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bookbound import settings
from bookbound.cli.index import make, tell, told_changes
from bookbound.cli.outcome import tell as tell_trouble
from bookbound.cli.parts import Parts
from bookbound.cli.screen import Line, note, put
from bookbound.cli.streams import flush
from bookbound.errors import BookboundError

LOOK = 1000
"""The milliseconds after which there is a look without a sign."""


def follow(parts: Parts, source: Path, chosen: settings.Settings, kind: str | None, as_json: bool) -> None:
    """Index again after each change, until Ctrl-C; what goes wrong is told, and the next change waited for."""
    from watchfiles import watch

    note([Line.of((f"Watching {source} (Ctrl-C ends)", "dim"))])
    looked = False
    own = _Elsewhere(chosen.index)
    for changes in watch(source, watch_filter=own, raise_interrupt=True, yield_on_timeout=True, rust_timeout=LOOK):
        if looked and not changes:
            continue
        looked = True  # once without a sign: something may have changed before anybody watched
        try:
            indexed, seconds = make(parts, source, chosen, kind=kind)
        except BookboundError as trouble:
            tell_trouble(trouble, as_json)
            continue
        if not indexed.published:
            continue
        if as_json:
            tell(indexed, seconds, chosen, as_json)
        else:
            put([Line.of(f"Published {indexed.manifest.generation}: {told_changes(indexed)}")])
        flush()


class _Elsewhere:
    """Whether a change is one of the book's: the index may lie within the source."""

    def __init__(self, index: Path) -> None:
        self._own = index.resolve()

    def __call__(self, change: Any, path: str) -> bool:
        hidden = any(part.startswith(".") for part in Path(path).parts[-2:])
        return not hidden and not Path(path).is_relative_to(self._own)
