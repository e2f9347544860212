"""What a page of a Docusaurus site takes from other pages: partials that it imports and shows as components."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.read import files
from bookbound.read.frontmatter import front_matter
from bookbound.read.prose import prose
from bookbound.read.woven import DEEPEST, Shelf, Swap, weave

_IMPORT = re.compile(
    r"""^import\s++(?P<name>[A-Z]\w*+)\s++from\s++(["'])(?P<target>[^"'\n]{1,500}\.mdx?)\2""", re.MULTILINE
)
_SITE = "@site/"
_LONGEST = 1_000


class Partials:
    """Finds partials beside a page or below the site's own folder, `home`."""

    def __init__(self, shelf: Shelf, home: Path) -> None:
        self._shelf = shelf
        self._home = home

    def swaps(self, source: str, path: Path, start: int = 0, depth: int = 0) -> list[Swap]:
        """The partials that the page at `path` shows from `start` on, each with its words."""
        plain = prose(source)
        targets = {found["name"]: found["target"] for found in _IMPORT.finditer(plain, start)}
        if not targets or depth >= DEEPEST:
            return []
        shown = re.compile(rf"<(?P<name>{'|'.join(targets)})\b(?P<props>[^<>]*+)(?:(?<=/)>|>\s*+</(?P=name)\s*+>)")
        return [
            Swap(*found.span(), self._words(targets[found["name"]], path, found["props"], depth))
            for found in shown.finditer(plain, start)
        ]

    def _words(self, target: str, path: Path, props: str, depth: int) -> str:
        home, name = (self._home, target[len(_SITE) :]) if target.startswith(_SITE) else (path.parent, target)
        other = files.beside(home, name)
        text = self._shelf.text(other, target)
        if text is None or other is None:
            return ""
        body = text[front_matter(text).end :]
        words = weave(body, self.swaps(body, other, depth=depth + 1)).text
        # A component shows its words as blocks of their own.
        return f"\n\n{_filled(words, props)}\n\n"


def _filled(words: str, props: str) -> str:
    """The words with the strings that the component was given."""
    given = {found[1]: found[3] for found in re.finditer(r"""(\w++)=(["'])([^"']*+)\2""", props[:_LONGEST])}

    def value(found: re.Match[str]) -> str:
        return given.get(found["name"], found[0])

    return re.sub(r"\{\s*+props\.(?P<name>\w++)\s*+\}", value, words)
