"""A PDF: its chapters by its outline or its headings, each word with the printed page it stands on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bookbound.book import Manuscript, Notice, Page
from bookbound.errors import BadSource
from bookbound.read import files
from bookbound.read.called import called
from bookbound.read.pdf.blocks import drafts
from bookbound.read.pdf.chapters import Chapter, chapters
from bookbound.read.pdf.contents import contents
from bookbound.read.pdf.folio import About, Folio, opened
from bookbound.read.pdf.hyphens import Hyphens
from bookbound.read.pdf.lines import Line, lines
from bookbound.read.pdf.margins import body
from bookbound.read.pdf.setting import typeset
from bookbound.read.pdf.titles import Type, type_of

MOST_LETTERS = 50_000_000
"""The most letters of a book that are read; the longest books have a tenth of that."""
_NO_TEXT = "The PDF has no text layer: run OCR first (for example ocrmypdf) and index what it makes."


class _Printed(NamedTuple):
    """A printed page with its lines."""

    folio: Folio
    lines: list[Line]


def knows_pdf(source: Path) -> bool:
    """Whether a source is a file that is called a PDF."""
    return source.suffix.lower() == ".pdf" and files.is_file(source)


def read_pdf(source: Path) -> Manuscript:
    """The book in a PDF file."""
    return bound(source, *opened(source))


def bound(source: Path, about: About, folios: Iterable[Folio]) -> Manuscript:
    """The book that the pages of a PDF are."""
    printed = list(_printed(folios))
    notices = list(_notices(source.name, printed))
    if not any(page.lines for page in printed):
        pictured = any(page.folio.pictures for page in printed)
        raise BadSource(_NO_TEXT if pictured or not notices else f"The PDF shows no words: {notices[0].message}.")
    listing = contents({page.folio.number: page.lines for page in printed}, about.outline)
    listing = set() if len(listing) == len(printed) else listing
    notices += _notice(source.name, listing, "only a table of contents; left out")
    told = [page.lines if page.folio.number not in listing else [] for page in printed]
    kept = list(chain(*body(told))) or list(chain(*told))
    face = type_of(kept)
    found = chapters(about.outline, kept, [page.folio.height for page in printed], face)
    title = called(about.title, source)
    labels = {page.folio.number: page.folio.label for page in printed}
    pages = _pages(source.name, title, found, face, labels, Hyphens(kept))
    return Manuscript(title, "pdf", tuple(pages), tuple(notices))


def _printed(folios: Iterable[Folio]) -> Iterator[_Printed]:
    """The pages with their lines, up to the length of any book; the words are given up page by page."""
    letters = 0
    for folio in folios:
        letters += sum(len(word.text) for word in folio.words)
        if letters > MOST_LETTERS:
            folio = Folio(folio.number, fault="is beyond the length of any book")
        found = lines(folio)
        yield _Printed(folio._replace(words=()), found)


def _notices(file: str, printed: list[_Printed]) -> Iterator[Notice]:
    faults = dict.fromkeys(page.folio.fault for page in printed if page.folio.fault)
    for fault in faults:
        yield from _notice(file, {page.folio.number for page in printed if page.folio.fault == fault}, fault, lost=True)
    pictured = {page.folio.number for page in printed if page.folio.pictures and not page.lines}
    # A cover is a picture in most books, and has no word that the book does not repeat.
    covers = pictured & {1, len(printed)}
    yield from _notice(file, covers, "only a picture; left out")
    yield from _notice(file, pictured - covers, "no text layer: run OCR first (for example ocrmypdf)", lost=True)


def _notice(file: str, numbers: set[int], message: str, lost: bool = False) -> Iterator[Notice]:
    """One notice for all pages that it is true of, those in a row named by the first and the last."""
    rows: list[list[int]] = []
    for number in sorted(numbers):
        if rows and rows[-1][-1] == number - 1:
            rows[-1][1:] = [number]
        else:
            rows.append([number])
    if rows:
        named = ", ".join("-".join(map(str, row)) for row in rows[:20]) + (", ..." if len(rows) > 20 else "")
        yield Notice(file, f"page{'s' * (len(numbers) > 1)} {named}: {message}", lost)


def _pages(
    file: str, title: str, found: list[Chapter], face: Type, labels: Mapping[int, str], hyphens: Hyphens
) -> Iterator[Page]:
    begun: Counter[int] = Counter()
    for position, chapter in enumerate(found):
        source, setting, leaves = typeset(drafts(chapter.lines, chapter.headings, face), hyphens, labels)
        first = leaves[0].number
        begun[first] += 1
        # Several chapters may begin on one page, and each is a file of its own to whoever counts characters.
        name = f"{file}#page={first}" + (f".{begun[first]}" if begun[first] > 1 else "")
        named = chapter.name or title
        yield Page(name, quote(file), named, named, position, source, *setting, leaves)
