"""What becomes of the pages of a published book when its source is indexed again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from bookbound.errors import Doubtful
from bookbound.manifest import Manifest, Sheet

NAMED = 3
MISSED = 1 / 3
"""The share of a published book that may be missing before somebody is asked."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Files by what became of them; `renamed` gives for each new name the one that its page had."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.renamed)


def compare(before: Iterable[Sheet], now: Iterable[Sheet]) -> Changes:
    """What became of each page; a page whose name is new and whose source is that of a lost one was renamed."""
    old, new = ({sheet.file: sheet for sheet in sheets} for sheets in (before, now))
    gone: dict[str, list[str]] = {}
    for file, sheet in old.items():
        if file not in new:
            gone.setdefault(sheet.words, []).append(file)
    renamed: dict[str, str] = {}
    for file, sheet in new.items():
        if file not in old and (names := gone.get(sheet.words)):
            renamed[file] = names.pop(0)
    stayed, kept = [file for file in new if file in old], frozenset(renamed.values())
    return Changes(
        added=tuple(file for file in new if file not in old and file not in renamed),
        changed=tuple(file for file in stayed if new[file].fingerprint != old[file].fingerprint),
        removed=tuple(file for file in old if file not in new and file not in kept),
        renamed=renamed,
        unchanged=tuple(file for file in stayed if new[file].fingerprint == old[file].fingerprint),
    )


def check_whole(changes: Changes, published: Manifest) -> None:
    """Refuse to publish a book that lost a good part of its pages, unless somebody says that this is meant."""
    lost, of = len(changes.removed), len(published.sheets)
    if lost <= of * MISSED:
        return
    names = ", ".join(changes.removed[:NAMED]) + (", ..." if lost > NAMED else "")
    raise Doubtful(
        f"{lost} of the {of} pages of “{published.title}”, which is published here, are missing in this source "
        f"({names}). If that is meant, add --force. To keep another book beside it, give it a name: --book NAME"
    )
