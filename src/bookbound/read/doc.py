"""One file, set, before its place in the book is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bookbound.book import Notice, Page
from bookbound.read import decode, markdown
from bookbound.read.dialect import Dialect
from bookbound.read.frontmatter import FrontMatter, front_matter
from bookbound.read.galley import Setting
from bookbound.read.titles import first_title
from bookbound.read.woven import Woven

Weave = Callable[[str, Path, int], tuple[Woven, list[Notice]]]
"""Gives a page's source with the words that it takes from other files after its fields."""

Words = Callable[[str, FrontMatter], tuple[Setting, list[Notice]]]
"""Sets a page's source below its fields, and tells what is odd about it."""


@dataclass(frozen=True, slots=True)
class Doc:
    """A page's file, its fields and its words."""

    path: Path
    file: str
    source: str
    front: FrontMatter
    setting: Setting

    @property
    def title(self) -> str:
        """What the page calls itself, or nothing."""
        return self.front.text("title") or first_title(self.setting)

    def page(self, url: str, title: str, chapter: str, position: int) -> Page:
        return Page(self.file, url, title, chapter, position, self.source, *self.setting)


def load_doc(
    path: Path,
    file: str,
    dialect: Dialect,
    *,
    fields: Callable[[str], FrontMatter] = front_matter,
    weave: Weave | None = None,
    unpublished: tuple[str, ...] = (),
    titled: Callable[[FrontMatter], bool] = lambda front: False,
) -> tuple[Doc | None, list[Notice]]:
    """The words of a file of Markdown, or nothing for one that `set_doc` leaves out.

    Where the generator shows a page's title above it, `titled` says so.
    """

    def words(source: str, front: FrontMatter) -> tuple[Setting, list[Notice]]:
        title = front.span("title", source) if titled(front) else None
        if weave is None:
            return markdown.typeset(source, dialect, front.end, title), []
        woven, odd = weave(source, path, front.end)
        return woven.unwoven(markdown.typeset(woven.text, dialect, front.end, title)), odd

    return set_doc(path, file, words, fields, unpublished)


def set_doc(
    path: Path,
    file: str,
    words: Words,
    fields: Callable[[str], FrontMatter] = lambda source: FrontMatter(),
    unpublished: tuple[str, ...] = (),
) -> tuple[Doc | None, list[Notice]]:
    """The file's words, or nothing for one that cannot be read, shows none or is marked as one of the `unpublished`."""
    source, notices = decode.load(path, file)
    if source is None:
        return None, notices
    front = fields(source)
    if front.broken:
        notices.append(Notice(file, "its front matter is not plain YAML; passed over"))
    for state in unpublished:
        if front.flag(state):
            return None, [*notices, Notice(file, f"is marked {state}; left out")]
    setting, odd = words(source, front)
    notices += odd
    if not setting.text:
        return None, [*notices, Notice(file, "shows no words; left out")]
    return Doc(path, file, source, front, setting), notices
