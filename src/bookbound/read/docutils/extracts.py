"""What a page takes from other files, and which pages it lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bookbound.read import files
from bookbound.read.sphinx.things import Scope
from bookbound.read.sphinx.toctree import Toctree
from bookbound.read.woven import Shelf

_MOST_FILES = 200
_MOST = 2_000_000


@dataclass(slots=True)
class Extracts:
    """Takes texts from the shelf for the page at `path`; a target from the root begins at `home`.

    `origins` says on which line of the page a text that was included is asked for, `scope` where its things are
    described, `formulas` are the anchors of those that have labels, and `described` are the things of which only code
    says something.
    """

    shelf: Shelf
    home: Path
    path: Path
    shorthands: dict[str, str] = field(default_factory=dict)
    todos: bool = True
    toctrees: list[Toctree] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)
    formulas: dict[str, str] = field(default_factory=dict)
    described: list[str] = field(default_factory=list)
    _paths: dict[str, Path] = field(default_factory=dict)
    _taken: int = 0

    def text(self, target: str, within: str) -> str | None:
        """The text of a file that is asked for in the page or in an included text; nothing where it cannot be had."""
        few = len(self._paths) < _MOST_FILES and self._taken < _MOST
        text = self.shelf.text(self._find(target, within) if few else None, target)
        self._taken += len(text or "")
        return text

    def include(self, target: str, within: str, line: int) -> str:
        """A name of its own for a text that is included on a line."""
        name = f"<included {len(self.origins)}>"
        self.origins[name] = self.origins.get(within, line)
        self._paths[name] = self._find(target, within) or self.path
        return name

    def _find(self, target: str, within: str) -> Path | None:
        below = self.home if target.startswith("/") else self._paths.get(within, self.path).parent
        return files.beside(below, target.lstrip("/"))
