"""Drafts pages and resolves references for the tests of reStructuredText and MyST."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bookbound.sources.includes import IncludeLoader
from bookbound.sources.rst import draft_rst
from bookbound.sources.rst.page_draft import MarkupConfig, PageDraft, ProjectContext, References

HERE = Path(__file__).parent


class FixedReferences(References):
    """Shows the same titles, by target, and the same number everywhere."""

    def __init__(self, titles: dict[str, str], number: str = "") -> None:
        self._titles = titles
        self._number = number

    def title(self, kind: str, target: str) -> str | None:
        return self._titles.get(target, self._titles.get("*"))

    def number(self, target: str) -> str:
        return self._number


def make_context(folder: Path = HERE, **markup: Any) -> ProjectContext:
    return ProjectContext(IncludeLoader(folder), folder, MarkupConfig(**markup))


def draft_rst_page(source: str, folder: Path = HERE, **markup: Any) -> PageDraft:
    return draft_rst(source, folder / "page.rst", "page.rst", make_context(folder, **markup))
