"""Reads off a reply what a reader sees: its kind, its blocks, and its numbered citations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bookbound.domain.reply import (
    Answer,
    AnswerSentence,
    Refusal,
    Reply,
    Source,
    Unsure,
    find_source_numbers,
    group_by_section,
)
from bookbound.domain.reply_blocks import CUT_MARK, ReplyBlock, build_blocks


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A part of a reply: its kind, its sentences, items, rows or lines, and the numbers of its citations.

    A list with titles has those of chapters or sections; it is no list of the book.
    """

    kind: str
    lines: tuple[str, ...]
    numbers: tuple[int, ...] = ()
    has_titles: bool = False

    @property
    def text(self) -> str:
        return (" " if self.kind == "paragraph" else "\n").join(self.lines)

    @property
    def rows(self) -> list[list[str]]:
        """The cells of each line of a table."""
        return [[cell.strip() for cell in f" {line} ".split(" | ")] for line in self.lines]


@dataclass(frozen=True, slots=True)
class ShownCitation:
    """A citation, or a section that a refusal names, with the number that the blocks show for it."""

    number: int
    path: str
    link: str
    file: str


@dataclass(frozen=True, slots=True)
class ShownReply:
    """A reply as a reader sees it; `message` is what it says besides the words of the book."""

    kind: str
    message: str
    blocks: tuple[ShownBlock, ...]
    citations: tuple[ShownCitation, ...]
    completed: str = ""

    @property
    def text(self) -> str:
        return "\n".join([self.message, *(block.text for block in self.blocks)])

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are cited."""
        return tuple(dict.fromkeys(citation.file for citation in self.citations if citation.file))


def show_reply(reply: Reply) -> ShownReply:
    """What a reader sees of a reply."""
    kind = {Answer: "answer", Unsure: "unsure", Refusal: "refusal"}.get(type(reply), type(reply).__name__.lower())
    said = reply.reservation if isinstance(reply, Answer) else reply.text
    trace = reply.trace
    blocks, citations = tuple(blocks_of(reply)), tuple(citations_of(reply))
    return ShownReply(kind, trace.note or said, blocks, citations, trace.completed_question)


def blocks_of(reply: Reply) -> Iterator[ShownBlock]:
    """The blocks of a reply, in the order in which they are shown."""
    sources = _sources_of(reply)
    if isinstance(reply, Answer):
        blocks: Iterable[ReplyBlock] = reply.blocks
    else:
        quotes = [AnswerSentence(quote.text, (quote,)) for source in sources for quote in source.quotes]
        blocks = build_blocks(quotes)
    for block in blocks:
        numbers = tuple(find_source_numbers(block.evidence, sources))
        has_titles = any(item.quote and item.quote.kind == "heading" for item in block.items)
        yield ShownBlock(block.kind, tuple(_lines_of(block)), numbers, has_titles)


def _lines_of(block: ReplyBlock) -> Iterator[str]:
    if block.kind == "list":
        yield from (f"{item.number} {item.text}".strip() for item in block.items)
    elif block.kind == "table":
        yield from (" | ".join(row) for row in block.rows)
    elif block.kind == "code":
        yield from [CUT_MARK] * block.cut_start
        yield from block.text.split("\n")
        yield from [CUT_MARK] * block.cut_end
    else:
        yield block.text


def citations_of(reply: Reply) -> Iterator[ShownCitation]:
    """The sections that a reply cites, or names as the closest."""
    numbered = [(source.number, source.place) for source in _sources_of(reply)]
    if isinstance(reply, Refusal):
        numbered = list(enumerate(reply.closest, 1))
    for number, place in numbered:
        yield ShownCitation(number, " › ".join(place.heading_path), place.link, place.file.partition("#")[0])


def _sources_of(reply: Reply) -> tuple[Source, ...]:
    if isinstance(reply, Unsure):
        return group_by_section(reply.closest)
    return reply.sources if isinstance(reply, Answer) else ()
