"""Say what a book's source is taken for, before it is indexed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import typer

from bookbound import settings
from bookbound.book import Block, BlockKind, Manuscript, Page
from bookbound.cli import show
from bookbound.cli.outcome import LOST, told
from bookbound.cli.parts import AsJson, EditionName, Kind, Parts, Site, Source
from bookbound.cli.progress import bars
from bookbound.cli.screen import Line, one_line, put, put_json
from bookbound.errors import BadSetup, BadSource

_SHOWN: tuple[tuple[BlockKind, str], ...] = (
    ("code", "code block"),
    ("table", "table"),
    ("formula", "formula"),
    ("admonition", "admonition"),
)


def inspect(
    ctx: typer.Context,
    source: Source = None,
    site: Site = None,
    edition: EditionName = None,
    kind: Kind = None,
    as_json: AsJson = False,
) -> None:
    """Say what a source is taken for: its kind, pages, chapters and words, and what is left out and why.

    Ends with 5 where pages or words of the book could not be read.
    """
    with told(as_json):
        from bookbound.read.kinds import READERS

        book = _read(ctx.obj, source, site, edition, kind)
        reader = next((one for one in READERS if one.kind == book.kind), None)
        said = "as you said" if kind and kind.lower() == book.kind else ""
        sign = said or ("a site on the web" if site else reader.sign if reader else "")
        editions = reader.editions(source) if reader and source else []
        if as_json:
            put_json({**_plain(book), "sign": sign, "editions": editions})
        else:
            put(show.table(_rows(book, sign, editions)))
            put(_chapters(book.pages))
            put(_notices(book))
    raise typer.Exit(LOST if any(notice.lost for notice in book.notices) else 0)


def _read(parts: Parts, source: Path | None, site: str | None, edition: str | None, kind: str | None) -> Manuscript:
    if (source is None) == (site is None):
        raise BadSetup("Name what to inspect: a folder or a file, or a site with --site URL, and not both.")
    chosen = settings.load(edition=edition)
    try:
        with bars({"read": "Read"}) as progress:
            return parts.read_book(source or site or "", chosen, progress, kind=kind)
    except BadSource as trouble:
        if source is None:
            raise
        raise type(trouble)(f"{source}: {trouble}") from trouble


def _rows(book: Manuscript, sign: str, editions: list[str]) -> list[tuple[str, str]]:
    blocks = Counter(block.kind for page in book.pages for block in _all(page.blocks))
    chapters = len({page.chapter for page in book.pages})
    held = [show.counted(blocks[kind], noun) for kind, noun in _SHOWN if blocks[kind]]
    rows = [
        ("Book", book.title),
        ("Kind", f"{book.kind} ({sign})"),
        ("Pages", f"{len(book.pages)} in {show.counted(chapters, 'chapter')}"),
        ("Words", f"{sum(map(_words, book.pages)):,}"),
        ("Among them", ", ".join(held) or "neither code nor tables"),
    ]
    anchors, leaves = sum(map(_anchors, book.pages)), _leaves(book)
    rows += [("Leaves", str(leaves))] if leaves else []
    rows += [("Anchors", str(anchors))] if anchors or not leaves else []
    rows += [("Map", f"{', '.join(book.maps)} (the generator's own)")] if book.maps else []
    return rows + ([("Editions", ", ".join(editions))] if len(editions) > 1 else [])


def _chapters(pages: Iterable[Page]) -> Iterator[Line]:
    yield Line()
    for chapter, group in groupby(pages, key=lambda page: page.chapter):
        inside = list(group)
        counts = f"  {show.counted(len(inside), 'page')}, {sum(map(_words, inside)):,} words"
        yield Line.of((chapter, "bold"), (counts, "dim"))
        for page in inside:
            yield Line.of(page.title, (f"  {page.url}", "dim"), indent=2, whole=True)


def _notices(book: Manuscript) -> Iterator[Line]:
    for heading, lost in (("Missing", True), ("To know", False)):
        told_of = [notice for notice in book.notices if notice.lost is lost]
        if told_of:
            yield Line()
            yield Line.of((heading, "bold red" if lost else "bold"))
        for file, message, _ in told_of:
            yield Line.of((f"{one_line(file)}: ", "dim"), one_line(message), indent=2)


def _plain(book: Manuscript) -> dict[str, object]:
    blocks = Counter(block.kind for page in book.pages for block in _all(page.blocks))
    chapters = dict.fromkeys(page.chapter for page in book.pages)
    return {
        "title": book.title,
        "kind": book.kind,
        "words": sum(map(_words, book.pages)),
        "anchors": sum(map(_anchors, book.pages)),
        "leaves": _leaves(book),
        "blocks": {kind: blocks[kind] for kind, _ in _SHOWN},
        "chapters": [
            {"title": chapter, "pages": [_page(page) for page in book.pages if page.chapter == chapter]}
            for chapter in chapters
        ],
        "maps": book.maps,
        "notices": [notice._asdict() for notice in book.notices],
        "lost": any(notice.lost for notice in book.notices),
    }


def _page(page: Page) -> dict[str, object]:
    about = {"title": page.title, "url": page.url, "file": page.file}
    return {**about, "position": page.position, "words": _words(page), "anchors": _anchors(page)}


def _all(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        yield from _all(block.children)


def _words(page: Page) -> int:
    return len(page.text.split())


def _leaves(book: Manuscript) -> int:
    """The printed pages that words stand on, which stand for anchors where a book has such."""
    return len({(leaf.number, leaf.label) for page in book.pages for leaf in page.leaves})


def _anchors(page: Page) -> int:
    return sum(bool(block.anchor) for block in _all(page.blocks))
