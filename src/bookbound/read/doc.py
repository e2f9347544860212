"""One file of Markdown, set, before its place in the book is known."""

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
    """The file's words, or nothing for one that cannot be read, shows none or is marked as one of the `unpublished`.

    Where the generator shows a page's title above it, `titled` says so.
    """
    source, notices = decode.load(path, file)
    if source is None:
        return None, notices
    front = fields(source)
    if front.broken:
        notices.append(Notice(file, "its front matter is not plain YAML; passed over"))
    for state in unpublished:
        if front.flag(state):
            return None, [*notices, Notice(file, f"is marked {state}; left out")]
    title = front.span("title", source) if titled(front) else None
    if weave is None:
        setting = markdown.typeset(source, dialect, front.end, title)
    else:
        woven, odd = weave(source, path, front.end)
        notices += odd
        setting = woven.unwoven(markdown.typeset(woven.text, dialect, front.end, title))
    if not setting.text:
        return None, [*notices, Notice(file, "shows no words; left out")]
    return Doc(path, file, source, front, setting), notices
