"""Implements the command `inspect`, which shows how Bookbound reads a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import typer

from bookbound import settings
from bookbound.cli import terminal
from bookbound.cli.common import (
    EXIT_PAGES_LOST,
    Bootstrap,
    EditionOption,
    JsonOption,
    SiteOption,
    SourceArgument,
    SourceFormatOption,
    exit_on_error,
)
from bookbound.cli.terminal import StyledLine, escape_line_breaks, print_json, print_lines, show_progress
from bookbound.domain.document import Block, BlockKind, Page, ParsedBook
from bookbound.domain.errors import ConfigError, SourceError

_COUNTED_BLOCKS: tuple[tuple[BlockKind, str], ...] = (
    ("code", "code block"),
    ("table", "table"),
    ("formula", "formula"),
    ("admonition", "admonition"),
)


def inspect(
    ctx: typer.Context,
    source: SourceArgument = None,
    site: SiteOption = None,
    edition: EditionOption = None,
    kind: SourceFormatOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a source is taken for: its kind, pages, chapters and words, and what is left out and why.

    Ends with 5 where pages or words of the book could not be read.
    """
    with exit_on_error(as_json):
        from bookbound.sources.detect import BOOK_READERS

        book = _read_book(ctx.obj, source, site, edition, kind)
        reader = next((one for one in BOOK_READERS if one.kind == book.kind), None)
        said = "as you said" if kind and kind.lower() == book.kind else ""
        sign = said or ("a site on the web" if site else reader.sign if reader else "")
        editions = reader.editions(source) if reader and source else []
        if as_json:
            print_json({**_serialize_book(book), "sign": sign, "editions": editions})
        else:
            print_lines(terminal.format_table(_build_overview_rows(book, sign, editions)))
            print_lines(_format_chapters(book.pages))
            print_lines(_format_notices(book))
    raise typer.Exit(EXIT_PAGES_LOST if any(notice.lost for notice in book.notices) else 0)


def _read_book(
    parts: Bootstrap, source: Path | None, site: str | None, edition: str | None, kind: str | None
) -> ParsedBook:
    if (source is None) == (site is None):
        raise ConfigError("Name what to inspect: a folder or a file, or a site with --site URL, and not both.")
    chosen = settings.load_settings(edition=edition)
    try:
        with show_progress({"read": "Read"}) as progress:
            return parts.read_book(source or site or "", chosen, progress, kind=kind)
    except SourceError as trouble:
        if source is None:
            raise
        raise type(trouble)(f"{source}: {trouble}") from trouble


def _build_overview_rows(book: ParsedBook, sign: str, editions: list[str]) -> list[tuple[str, str]]:
    blocks = Counter(block.kind for page in book.pages for block in _walk_blocks(page.blocks))
    chapters = len({page.chapter for page in book.pages})
    held = [terminal.format_count(blocks[kind], noun) for kind, noun in _COUNTED_BLOCKS if blocks[kind]]
    rows = [
        ("Book", book.title),
        ("Kind", f"{book.kind} ({sign})"),
        ("Pages", f"{len(book.pages)} in {terminal.format_count(chapters, 'chapter')}"),
        ("Words", f"{sum(map(_count_words, book.pages)):,}"),
        ("Among them", ", ".join(held) or "neither code nor tables"),
    ]
    anchors, leaves = sum(map(_count_anchors, book.pages)), _count_printed_pages(book)
    rows += [("Leaves", str(leaves))] if leaves else []
    rows += [("Anchors", str(anchors))] if anchors or not leaves else []
    rows += [("Map", f"{', '.join(book.maps)} (the generator's own)")] if book.maps else []
    return rows + ([("Editions", ", ".join(editions))] if len(editions) > 1 else [])


def _format_chapters(pages: Iterable[Page]) -> Iterator[StyledLine]:
    yield StyledLine()
    for chapter, group in groupby(pages, key=lambda page: page.chapter):
        inside = list(group)
        counts = f"  {terminal.format_count(len(inside), 'page')}, {sum(map(_count_words, inside)):,} words"
        yield StyledLine.of((chapter, "bold"), (counts, "dim"))
        for page in inside:
            yield StyledLine.of(page.title, (f"  {page.url}", "dim"), indent=2, whole=True)


def _format_notices(book: ParsedBook) -> Iterator[StyledLine]:
    for heading, lost in (("Missing", True), ("To know", False)):
        told_of = [notice for notice in book.notices if notice.lost is lost]
        if told_of:
            yield StyledLine()
            yield StyledLine.of((heading, "bold red" if lost else "bold"))
        for file, message, _ in told_of:
            yield StyledLine.of((f"{escape_line_breaks(file)}: ", "dim"), escape_line_breaks(message), indent=2)


def _serialize_book(book: ParsedBook) -> dict[str, object]:
    blocks = Counter(block.kind for page in book.pages for block in _walk_blocks(page.blocks))
    chapters = dict.fromkeys(page.chapter for page in book.pages)
    return {
        "title": book.title,
        "kind": book.kind,
        "words": sum(map(_count_words, book.pages)),
        "anchors": sum(map(_count_anchors, book.pages)),
        "leaves": _count_printed_pages(book),
        "blocks": {kind: blocks[kind] for kind, _ in _COUNTED_BLOCKS},
        "chapters": [
            {"title": chapter, "pages": [_serialize_page(page) for page in book.pages if page.chapter == chapter]}
            for chapter in chapters
        ],
        "maps": book.maps,
        "notices": [notice._asdict() for notice in book.notices],
        "lost": any(notice.lost for notice in book.notices),
    }


def _serialize_page(page: Page) -> dict[str, object]:
    about = {"title": page.title, "url": page.url, "file": page.file}
    return {**about, "position": page.position, "words": _count_words(page), "anchors": _count_anchors(page)}


def _walk_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        yield from _walk_blocks(block.children)


def _count_words(page: Page) -> int:
    return len(page.text.split())


def _count_printed_pages(book: ParsedBook) -> int:
    """The printed pages that words stand on, which stand for anchors where a book has such."""
    return len({(leaf.number, leaf.label) for page in book.pages for leaf in page.leaves})


def _count_anchors(page: Page) -> int:
    return sum(bool(block.anchor) for block in _walk_blocks(page.blocks))
