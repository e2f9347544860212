"""Loads one page file: reads it, parses its front matter and renders it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bookbound.domain.document import Page, SourceNotice
from bookbound.sources import decoding, markdown
from bookbound.sources.includes import ExpandedSource
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.markdown.front_matter import FrontMatter, parse_front_matter
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.titles import find_first_title

IncludeExpander = Callable[[str, Path, int], tuple[ExpandedSource, list[SourceNotice]]]
"""Gives a page's source with the words that it takes from other files after its fields."""
SourceRenderer = Callable[[str, FrontMatter], tuple[RenderedPage, list[SourceNotice]]]
"""Sets a page's source below its fields, and tells what is odd about it."""


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """A page's file, its fields and its words."""

    path: Path
    file: str
    source: str
    front: FrontMatter
    setting: RenderedPage

    @property
    def title(self) -> str:
        """What the page calls itself, or nothing."""
        return self.front.text("title") or find_first_title(self.setting)

    def page(self, url: str, title: str, chapter: str, position: int) -> Page:
        return Page(self.file, url, title, chapter, position, self.source, *self.setting)


def load_markdown_page(
    path: Path,
    file: str,
    dialect: MarkdownDialect,
    *,
    fields: Callable[[str], FrontMatter] = parse_front_matter,
    weave: IncludeExpander | None = None,
    unpublished: tuple[str, ...] = (),
    titled: Callable[[FrontMatter], bool] = lambda front: False,
) -> tuple[LoadedPage | None, list[SourceNotice]]:
    """The words of a file of Markdown, or nothing for one that `set_doc` leaves out.

    Where the generator shows a page's title above it, `titled` says so.
    """

    def words(source: str, front: FrontMatter) -> tuple[RenderedPage, list[SourceNotice]]:
        title = front.span("title", source) if titled(front) else None
        if weave is None:
            return markdown.render_markdown(source, dialect, front.end, title), []
        woven, odd = weave(source, path, front.end)
        return woven.unwoven(markdown.render_markdown(woven.text, dialect, front.end, title)), odd

    return load_page(path, file, words, fields, unpublished)


def load_page(
    path: Path,
    file: str,
    words: SourceRenderer,
    fields: Callable[[str], FrontMatter] = lambda source: FrontMatter(),
    unpublished: tuple[str, ...] = (),
) -> tuple[LoadedPage | None, list[SourceNotice]]:
    """The file's words, or nothing for one that cannot be read, shows none or is marked as one of the `unpublished`."""
    source, notices = decoding.load_text(path, file)
    if source is None:
        return None, notices
    front = fields(source)
    if front.broken:
        notices.append(SourceNotice(file, "its front matter is not plain YAML; passed over"))
    for state in unpublished:
        if front.flag(state):
            return None, [*notices, SourceNotice(file, f"is marked {state}; left out")]
    setting, odd = words(source, front)
    notices += odd
    if not setting.text:
        return None, [*notices, SourceNotice(file, "shows no words; left out")]
    return LoadedPage(path, file, source, front, setting), notices
