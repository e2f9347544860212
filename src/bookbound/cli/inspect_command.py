"""Implements the command `inspect`, which shows how Bookbound reads a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import typer

from bookbound.cli import options, terminal
from bookbound.cli.exit_codes import EXIT_PAGES_LOST, exit_on_error, prefix_source_errors
from bookbound.domain.document import Block, BlockKind, Page, ParsedBook
from bookbound.settings import load_settings

_COUNTED_BLOCKS: tuple[tuple[BlockKind, str], ...] = (
    ("code", "code block"),
    ("table", "table"),
    ("formula", "formula"),
    ("admonition", "admonition"),
)


def inspect(
    ctx: typer.Context,
    source: options.SourceArgument = None,
    site: options.SiteOption = None,
    from_qdrant: options.CollectionOption = None,
    fields: options.FieldOption = None,
    edition: options.EditionOption = None,
    source_format: options.SourceFormatOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Show how a source is read: its format, chapters, pages and words, and what is left out and why.

    The exit code is 5 if some pages or words of the book could not be read.
    """
    with exit_on_error(as_json):
        from bookbound.sources.detect import BOOK_READERS

        settings = load_settings(edition=edition)
        target = options.choose_source(source, site, from_qdrant, fields, ctx.info_name)
        with prefix_source_errors(target), terminal.show_progress({"read": "Read"}) as progress:
            book: ParsedBook = ctx.obj.read_book(target, settings, progress, kind=source_format)
        reader = next((each for each in BOOK_READERS if each.kind == book.kind), None)
        described = reader.description if reader else "chunks of a collection in Qdrant"
        detected_by = "a site on the web" if site else described
        if source_format and source_format.lower() == book.kind:
            detected_by = "--source-format"
        editions = reader.editions(source) if reader and source else []
        found = _serialize_book(book) | {"detected_by": detected_by, "editions": editions}
        overview = terminal.format_table(_build_overview_rows(book, found))
        terminal.print_result(found, [*overview, *_format_chapters(book.pages), *_format_notices(book)], as_json)
    raise typer.Exit(EXIT_PAGES_LOST if any(notice.lost for notice in book.notices) else 0)


def _build_overview_rows(book: ParsedBook, found: dict[str, Any]) -> list[tuple[str, str]]:
    blocks, printed, anchors = found["blocks"], found["printed_pages"], found["anchors"]
    contents = [terminal.format_count(blocks[kind], noun) for kind, noun in _COUNTED_BLOCKS if blocks[kind]]
    chapters = terminal.format_count(len(found["chapters"]), "chapter")
    rows = [
        ("Book", book.title),
        ("Format", f"{book.kind} ({found['detected_by']})"),
        ("Pages", f"{book.page_count} in {chapters}"),
        ("Words", f"{found['words']:,}"),
        ("Contents", ", ".join(contents) or "no code and no tables"),
        ("Printed pages", str(printed) if printed and not book.printed_pages else ""),
        ("Anchors", str(anchors) if anchors or not printed else ""),
        ("Search index", ", ".join(book.search_indexes)),
        ("Editions", ", ".join(found["editions"]) if len(found["editions"]) > 1 else ""),
    ]
    return [(name, value) for name, value in rows if value]


def _format_chapters(pages: Iterable[Page]) -> Iterator[terminal.StyledLine]:
    yield terminal.BLANK_LINE
    for chapter, group in groupby(pages, key=lambda page: page.chapter):
        chapter_pages = list(group)
        page_count = sum(page.page_count for page in chapter_pages)
        counts = f"  {terminal.format_count(page_count, 'page')}, {sum(map(_count_words, chapter_pages)):,} words"
        yield terminal.styled((chapter, "bold"), (counts, "dim"))
        for page in chapter_pages:
            anchor = next((each.anchor for each in page.page_breaks), "")
            link = f"{page.url}#{anchor}" if anchor else page.url
            yield terminal.styled(page.title, (f"  {link}", "dim"), indent=2, no_wrap=True)


def _format_notices(book: ParsedBook) -> Iterator[terminal.StyledLine]:
    for heading, style, lost in (("Missing", "bold red", True), ("Notes", "bold", False)):
        notices = [notice for notice in book.notices if notice.lost is lost]
        if notices:
            yield terminal.BLANK_LINE
            yield terminal.styled((heading, style))
        for file, message, _ in notices:
            yield terminal.styled(
                (f"{terminal.escape_line_breaks(file)}: ", "dim"), terminal.escape_line_breaks(message), indent=2
            )


def _serialize_book(book: ParsedBook) -> dict[str, Any]:
    blocks = Counter(block.kind for page in book.pages for block in _walk_blocks(page.blocks))
    chapters = dict.fromkeys(page.chapter for page in book.pages)
    return {
        "title": book.title,
        "kind": book.kind,
        "pages": book.page_count,
        "words": sum(map(_count_words, book.pages)),
        "anchors": sum(map(_count_anchors, book.pages)),
        "printed_pages": len({(each.number, each.label) for page in book.pages for each in page.page_breaks}),
        "blocks": {kind: blocks[kind] for kind, _ in _COUNTED_BLOCKS},
        "chapters": [
            {"title": chapter, "pages": [_serialize_page(page) for page in book.pages if page.chapter == chapter]}
            for chapter in chapters
        ],
        "search_indexes": book.search_indexes,
        "notices": [notice._asdict() for notice in book.notices],
        "lost": any(notice.lost for notice in book.notices),
    }


def _serialize_page(page: Page) -> dict[str, object]:
    about = {name: getattr(page, name) for name in ("title", "url", "file", "position")}
    return about | {"words": _count_words(page), "anchors": _count_anchors(page)}


def _walk_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        yield from _walk_blocks(block.children)


def _count_words(page: Page) -> int:
    return len(page.text.split())


def _count_anchors(page: Page) -> int:
    return sum(bool(block.anchor) for block in _walk_blocks(page.blocks))
