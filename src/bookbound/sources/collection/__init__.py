"""Rebuilds the pages of a book from the chunks of a vector collection."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from bookbound.domain.document import Page, PageBreak, ParsedBook, SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.collection.payload_fields import CollectedChunk, PayloadReader
from bookbound.sources.files import split_numbers
from bookbound.sources.html.urls import page_file_name, page_key
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.plain_text import render_plain_text
from bookbound.sources.titles import find_first_title, humanize_name

COLLECTION_KIND = "collection"
# Neighbours share shorter texts by chance, and a longer overlap would be most of a chunk.
MIN_OVERLAP_CHARS = 20
MAX_OVERLAP_CHARS = 4_000
MIN_MARKDOWN_SHARE = 0.2
"""The share of pages with signs of Markdown from which on all are read as Markdown."""
_MARKDOWN_SIGN = re.compile(
    r"^[ \t]{0,3}(?:```|~~~)|^#{2,6} \S|^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*\||\*\*\w[^*\n]*\*\*|\[[^\]\n]+\]\([^()\s]+\)",
    re.MULTILINE,
)
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)
_SENTENCE_LINE = re.compile(r"(?<=[.!?:])[ \t]*\n(?=\S)")


def assemble_collection_book(
    name: str, chunks: Iterable[CollectedChunk | str], reader: PayloadReader, kind: str | None = None
) -> ParsedBook:
    """Makes pages of the chunks of each address, in the order of their positions and without their overlaps.

    In place of a chunk there may be the name of what it lacks. `kind` says whether the chunks are `markdown` or `text`,
    if this should not be detected.
    """
    if kind not in (None, "markdown", "text"):
        raise SourceError("The chunks of a collection are markdown or text. Name one of the two: --source-format text")
    lacking: Counter[str] = Counter()
    by_page: dict[str, list[CollectedChunk]] = {}
    for chunk in chunks:
        if isinstance(chunk, str):
            lacking[chunk] += 1
        else:
            by_page.setdefault(page_key(chunk.url), []).append(chunk)
    notices = list(_describe_lacking(lacking, reader, is_empty=not by_page))
    groups = _order_pages([sorted(page, key=_reading_order) for page in by_page.values()])
    marked = sum(any(_MARKDOWN_SIGN.search(chunk.text) for chunk in page) for page in groups)
    is_markdown = kind == "markdown" or (kind is None and marked >= MIN_MARKDOWN_SHARE * len(groups))
    hosts = {urlsplit(page[0].url).netloc for page in groups}
    pages = []
    for position, group in enumerate(groups):
        file = page_file_name(group[0].url, with_host=len(hosts) > 1)
        pages.append(_build_page(group, file, position, is_markdown))
        notices += [SourceNotice(file, message, lost) for message, lost in _find_doubts(group)]
    title = next((chunk.book for page in groups for chunk in page if chunk.book), humanize_name(name))
    return ParsedBook(title, COLLECTION_KIND, tuple(pages), tuple(notices), is_volatile=True)


def _describe_lacking(lacking: Counter[str], reader: PayloadReader, *, is_empty: bool) -> Iterator[SourceNotice]:
    needs = {"text": "no text", "url": "no http or https address"}
    for role, count in lacking.items():
        message = f"{count} of its chunks have {needs[role]} ({reader.describe(role)})"
        if is_empty:
            raise SourceError(f"The collection cannot be indexed: {message}. Name the field: --field {role}=NAME")
        yield SourceNotice(".", f"{message}; left out", lost=True)
    if is_empty:
        raise SourceError("The collection is empty. Name one that has chunks.")


def _reading_order(chunk: CollectedChunk) -> tuple[object, ...]:
    return chunk.position is None, chunk.position or 0, split_numbers(chunk.id), chunk.text


def _order_pages(pages: list[list[CollectedChunk]]) -> list[list[CollectedChunk]]:
    """Orders pages by their addresses, with those of one chapter together."""
    pages = sorted(pages, key=lambda page: split_numbers(page[0].url))
    chapters = {chapter: at for at, chapter in enumerate(dict.fromkeys(page[0].chapter for page in pages))}
    return sorted(pages, key=lambda page: chapters[page[0].chapter])


def _find_doubts(page: Sequence[CollectedChunk]) -> Iterator[tuple[str, bool]]:
    """Yields what may be wrong with the chunks of a page, and whether words are missing."""
    positions = [chunk.position for chunk in page if chunk.position is not None]
    if len(positions) < len(page) > 1:
        yield "has chunks without a position; they follow in the order of their ids", False
    texts_by_position = {(chunk.position, chunk.text) for chunk in page if chunk.position is not None}
    if doubled := len(texts_by_position) - len(set(positions)):
        yield f"has {doubled} more chunks at the positions of others; all are kept, also old versions", False
    missing = max(positions, default=0) - min(positions, default=0) + 1 - len(set(positions))
    if 0 < missing < len(set(positions)):
        yield f"lacks {missing} of its chunks, according to their positions", True


def _build_page(chunks: Sequence[CollectedChunk], file: str, position: int, is_markdown: bool) -> Page:
    title = next((chunk.title for chunk in chunks if chunk.title), "")
    chapter = next((chunk.chapter for chunk in chunks if chunk.chapter), "")
    source, starts = _join_chunks(chunks, title or chapter, is_markdown)
    rendered = render_markdown(source, PLAIN_MARKDOWN) if is_markdown else render_plain_text(source)
    title = title or find_first_title(rendered) or humanize_name(unquote(urlsplit(chunks[0].url).path.strip("/")))
    anchors = {chunk.section: chunk.anchor for chunk in reversed(chunks) if chunk.anchor}
    texts = (" ".join(rendered.text[block.start : block.end].split()) for block in rendered.blocks)
    blocks = (replace(b, anchor=anchors.get(text, "")) for b, text in zip(rendered.blocks, texts, strict=True))
    breaks = tuple(_find_page_breaks(rendered, starts))
    rendered = rendered._replace(blocks=tuple(blocks))
    return Page(file, chunks[0].url, title, chapter or title, position, source, *rendered, breaks)


def _join_chunks(
    chunks: Sequence[CollectedChunk], title: str, is_markdown: bool
) -> tuple[str, list[tuple[int, CollectedChunk]]]:
    """Returns the text of a page with a heading above each section, and where the words of each chunk begin."""
    source = last = ""
    section, is_code = title, False
    starts: list[tuple[int, CollectedChunk]] = []
    for chunk in chunks:
        if last and chunk.text.strip() in last:
            continue
        overlap = count_overlap(last, chunk.text)
        text, last = chunk.text[overlap:], chunk.text
        if not is_markdown and "\n\n" not in last:
            text = _SENTENCE_LINE.sub("\n\n", text)
        if chunk.section and chunk.section != section and not is_code:
            section = chunk.section
            text = _remove_heading(text, section)
            heading = f"## {section}" if is_markdown else f"{section}\n{'=' * max(4, len(section))}"
            source = f"{source.rstrip()}\n\n{heading}\n\n".lstrip("\n")
        elif source and not overlap:
            is_continued = text[:1].islower() and not re.search(r"[.!?:]\s*\Z", source)
            source = source.rstrip() + ("\n" if is_code else " " if is_continued else "\n\n")
        starts.append((len(source), chunk))
        source += text
        is_code ^= is_markdown and len(_FENCE.findall(text)) % 2 == 1
    return source.rstrip(), starts


def count_overlap(before: str, after: str) -> int:
    """Returns how many characters at the start of a chunk are the end of the one before it."""
    longest = min(len(before), len(after), MAX_OVERLAP_CHARS)
    return next((n for n in range(longest, MIN_OVERLAP_CHARS - 1, -1) if before.endswith(after[:n])), 0)


def _remove_heading(text: str, section: str) -> str:
    """Removes the first line if it is the heading of the section."""
    first, _, rest = text.lstrip().partition("\n")
    return rest.lstrip("\n") if first.strip("#* \t").casefold() == section.casefold() else text


def _find_page_breaks(rendered: RenderedPage, starts: Iterable[tuple[int, CollectedChunk]]) -> Iterator[PageBreak]:
    """Yields where the printed pages begin that the chunks name."""
    last = None
    for start, chunk in starts:
        if chunk.page and chunk.page != last:
            last = chunk.page
            at = bisect_right(rendered.spans, start, key=lambda span: span.end)
            for span in rendered.spans[at : at + 1]:
                yield PageBreak(span.at + (max(0, start - span.start) if span.is_verbatim else 0), last)
