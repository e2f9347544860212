"""Loads one page file: reads it, parses its front matter and renders it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bookbound.domain.document import Page, SourceNotice
from bookbound.sources import file_loader
from bookbound.sources.file_loader import Loaded
from bookbound.sources.includes import IncludeLoader, Substitution, substitute
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.page_builder import CharSpan, RenderedPage
from bookbound.sources.safe_config import ConfigFields, parse_yaml
from bookbound.sources.titles import find_first_title

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter(ConfigFields):
    """A page's fields, and the offset at which its text begins."""

    end: int = 0
    is_broken: bool = False

    def span(self, name: str, source: str) -> CharSpan | None:
        """Find a field's value in the source; of several fields of that name, the least indented counts."""
        words = self.text(name)
        opening = re.compile(
            rf"^(?P<indent>[ \t]*+)[ \t{{,]*+\"?{re.escape(name)}\"?[ \t]*+[:=](?P<value>[^\n]*)", re.MULTILINE
        )
        lines = (line for line in opening.finditer(source, 0, self.end) if words and words in line["value"])
        if (line := min(lines, key=lambda line: len(line["indent"]), default=None)) is None:
            return None
        start = source.index(words, line.start("value"))
        return start, start + len(words)


def parse_front_matter(source: str) -> FrontMatter:
    """Parse the YAML between two `---` lines at the top; broken YAML is still not text."""
    match = _FRONT_MATTER.match(source)
    if not match:
        return FrontMatter()
    fields = parse_yaml(match["body"])
    if isinstance(fields, dict):
        return FrontMatter(fields, match.end())
    is_empty = not match["body"].strip()
    if fields is None and (is_empty or re.match(r"[\w-]+:", match["body"])):
        return FrontMatter({}, match.end(), not is_empty)
    return FrontMatter()


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """A page's file, front matter and visible text."""

    path: Path
    file: str
    source: str
    front_matter: FrontMatter
    rendered: RenderedPage

    @property
    def title(self) -> str:
        """The title that the page gives itself, or nothing."""
        return self.front_matter.text("title") or find_first_title(self.rendered)

    def make_page(self, url: str, title: str, chapter: str, position: int) -> Page:
        return Page(self.file, url, title, chapter, position, self.source, *self.rendered)


def load_markdown_page(
    path: Path,
    file: str,
    dialect: MarkdownDialect,
    *,
    parse_front: Callable[[str], FrontMatter] = parse_front_matter,
    find_includes: Callable[[str, Path, int], Iterable[Substitution]] | None = None,
    includes: IncludeLoader | None = None,
    unpublished: tuple[str, ...] = (),
    shows_title: Callable[[FrontMatter], bool] = lambda front: False,
) -> Loaded[LoadedPage]:
    """Load a Markdown file, or nothing if it is unreadable, empty or marked as one of the `unpublished`.

    `shows_title` says whether the generator shows the title of the front matter above the page.
    """

    def render(source: str, front: FrontMatter) -> tuple[RenderedPage, list[SourceNotice]]:
        title = front.span("title", source) if shows_title(front) else None
        expanded = substitute(source, find_includes(source, path, front.end) if find_includes else ())
        rendered = expanded.restore_positions(render_markdown(expanded.text, dialect, front.end, title))
        return rendered, includes.take_notices(file) if includes else []

    return load_page(path, file, render, parse_front, unpublished)


def load_page(
    path: Path,
    file: str,
    render: Callable[[str, FrontMatter], tuple[RenderedPage, list[SourceNotice]]],
    parse_front: Callable[[str], FrontMatter] = lambda source: FrontMatter(),
    unpublished: tuple[str, ...] = (),
) -> Loaded[LoadedPage]:
    """Load a file with its own way to `render`, or nothing if it is unreadable, empty or `unpublished`."""
    source, notices = file_loader.load_text(path, file)
    if source is None:
        return Loaded(None, notices)
    front = parse_front(source)
    if front.is_broken:
        notices.append(SourceNotice(file, "its front matter is not plain YAML; ignored"))
    if flag := next(filter(front.flag, unpublished), ""):
        return Loaded(None, [*notices, SourceNotice(file, f"is marked {flag}; left out")])
    rendered, render_notices = render(source, front)
    notices += render_notices
    if not rendered.text:
        return Loaded(None, [*notices, SourceNotice(file, "has no visible text; left out")])
    return Loaded(LoadedPage(path, file, source, front, rendered), notices)
