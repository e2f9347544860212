"""Reads off a reply what a reader sees: its kind, its blocks, and its numbered citations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from bookbound.domain.chunk import Place, UnitKind
from bookbound.domain.judgement import Evidence
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, Unsure

BLOCK_KINDS: dict[UnitKind, str] = {
    "sentence": "paragraph",
    "item": "list",
    "row": "table",
    "code": "code",
    "formula": "formula",
    "heading": "heading",
}

LIST_MARKER = re.compile(r"^[-*+•] ")


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A part of a reply: its kind, its sentences, items, rows or lines, and the numbers of its citations."""

    kind: str
    lines: tuple[str, ...]
    numbers: tuple[int, ...] = ()

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
    message = note_of(reply) or said
    return ShownReply(kind, message, tuple(blocks_of(reply)), tuple(citations_of(reply)), completed_question(reply))


def blocks_of(reply: Reply) -> Iterator[ShownBlock]:
    """The blocks of a reply, in the order in which they are shown."""
    if isinstance(reply, Answer):
        numbers = {evidence: number for number, evidence in enumerate(reply.citations, 1)}
        units = [unit for sentence in reply.sentences for unit in _split_sentence(sentence, numbers)]
        for (kind, _), group in groupby(
            units, key=lambda unit: (unit.kind, unit.numbers if unit.kind == "code" else 0)
        ):
            yield _join_blocks(kind, list(group))
    elif isinstance(reply, Unsure):
        for number, evidence in enumerate(reply.closest, 1):
            for kind, group in groupby(_split_evidence(evidence, (number,)), key=lambda unit: unit.kind):
                yield _join_blocks(kind, list(group))


def citations_of(reply: Reply) -> Iterator[ShownCitation]:
    """The places that a reply cites, or names as the closest."""
    places = [each if isinstance(each, Place) else each.place for each in reply.citations or _closest(reply)]
    for number, place in enumerate(places, 1):
        yield ShownCitation(number, " › ".join(place.heading_path), place.link, place.file.partition("#")[0])


def note_of(reply: Reply) -> str:
    """What a reply says instead of its usual sentence, such as an answer to a greeting."""
    return str(getattr(reply.trace, "note", None) or "")


def completed_question(reply: Reply) -> str:
    """The question that was answered if it was completed from the conversation."""
    return str(getattr(reply.trace, "completed_question", None) or "")


def _closest(reply: Reply) -> Sequence[Evidence | Place]:
    return () if isinstance(reply, Answer) else reply.closest


def _split_sentence(sentence: AnswerSentence, numbers: dict[Evidence, int]) -> Iterator[ShownBlock]:
    cited = tuple(numbers[evidence] for evidence in dict.fromkeys(sentence.evidence))
    quoted = next((evidence for evidence in sentence.evidence if evidence.text == sentence.text), None)
    if quoted:
        yield from _split_evidence(quoted, cited)
    else:
        yield ShownBlock("paragraph", (sentence.text,), cited)


def _split_evidence(evidence: Evidence, numbers: tuple[int, ...]) -> Iterator[ShownBlock]:
    for unit in evidence.units:
        text = evidence.text[unit.start : unit.end]
        is_verbatim = unit.kind in ("code", "row", "formula")
        lines = text.split("\n") if is_verbatim else [LIST_MARKER.sub("", " ".join(text.split()))]
        yield ShownBlock(BLOCK_KINDS[unit.kind], tuple(lines), numbers)


def _join_blocks(kind: str, blocks: Sequence[ShownBlock]) -> ShownBlock:
    numbers = dict.fromkeys(number for block in blocks for number in block.numbers)
    return ShownBlock(kind, tuple(line for block in blocks for line in block.lines), tuple(numbers))
