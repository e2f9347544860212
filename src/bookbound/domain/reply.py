"""Defines the reply to a question: an answer, an unsure reply or a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from bookbound.domain.chunk import Passage, Place, UnitKind
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason, ReplyStatus
from bookbound.domain.question import SELECTION_CHUNK_ID, CompletedQuestion, Retrieval
from bookbound.domain.reply_blocks import ReplyBlock, build_blocks, escape_markdown, render_markdown
from bookbound.domain.trace import TokenUsage, Trace

SUPPORT_THRESHOLD = 0.5  # the probability is fitted, so from here on support is the likelier case
MAX_ANSWER_SENTENCES = 5  # the contract of `/ask` allows 1 to 5
MAX_MARKED_SHARE = 0.6  # words that make up more of a paragraph are not marked: almost all of it would be
MAX_NAMED_PART_CHARS = 160  # longer parts of a question are shortened to be named
NOT_IN_BOOK_MESSAGE = "This information is not available in the book."
NOT_IN_SELECTION_MESSAGE = "The selected text does not contain this information."
UNSURE_MESSAGE = "I am not sure the book answers this. The closest passages:"
UNSURE_SELECTION_MESSAGE = "I am not sure the selected text answers this. The closest sentences:"
PARTIAL_ANSWER_MESSAGE = "Only part of this is in the book."
PARTIAL_SELECTION_ANSWER_MESSAGE = "Only part of this is in the selected text."
MISSING_PARTS_MESSAGE = "I found no sure answer to this: {}"
UNREAD_PARTS_MESSAGE = "I left out the last {} of your questions. Ask them in another message."
SEARCH_TOOL_NAME = "search_textbook"


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer, the words of the book that it rests on, and the probability that they support it."""

    text: str
    evidence: tuple[Evidence, ...]
    support: float = 0.0

    @property
    def kind(self) -> UnitKind:
        """The kind of the quoted words; a sentence in a writer's own words is a sentence."""
        return next((evidence.kind for evidence in self.evidence if evidence.text == self.text), "sentence")


@dataclass(frozen=True, slots=True)
class Source:
    """A section that a reply cites, the number of its citation, and the words that are quoted from it.

    `place` reaches from the first to the last of these words.
    """

    number: int
    place: Place
    quotes: tuple[Evidence, ...]


def group_by_section(quotes: Iterable[Evidence]) -> tuple[Source, ...]:
    """Returns one source for each section and printed page, numbered in the order of the quotes."""
    sections: dict[tuple[str, str, str], list[Evidence]] = {}
    for quote in dict.fromkeys(quotes):
        place = quote.place
        sections.setdefault((place.book, place.file, place.link), []).append(quote)
    sources = []
    for number, found in enumerate(sections.values(), 1):
        start, end = min(quote.place.start for quote in found), max(quote.place.end for quote in found)
        sources.append(Source(number, replace(found[0].place, start=start, end=end), tuple(found)))
    return tuple(sources)


def find_source_numbers(quotes: Iterable[Evidence | None], sources: Iterable[Source]) -> list[int]:
    """Returns the numbers of the sources from which any of the words are quoted."""
    wanted = set(quotes)
    return [source.number for source in sources if not wanted.isdisjoint(source.quotes)]


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A writer's statement that the passages do not answer part of the question."""


WriterEvent = AnswerSentence | MissingPart | TokenUsage


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose every sentence is supported by the words that it cites."""

    status: ClassVar = ReplyStatus.ANSWERED
    kind: ClassVar[None] = None  # an answer has no reason for a refusal
    sentences: tuple[AnswerSentence, ...]
    passages: tuple[Passage, ...]
    judgement: Judgement
    trace: Trace

    @property
    def blocks(self) -> tuple[ReplyBlock, ...]:
        return build_blocks(self.sentences)

    @property
    def text(self) -> str:
        """The answer as Markdown, after our own sentence about it."""
        return join_sentences(self.sentences, self.trace.note)

    @property
    def words(self) -> str:
        """The words of the sentences without any form."""
        return " ".join(sentence.text for sentence in self.sentences)

    def find_marks(self, block: ReplyBlock) -> tuple[tuple[int, int], ...]:
        """Returns the spans of a paragraph's text that are the short words which answer."""
        best = {piece.part: piece for piece in reversed(self.judgement.evidence)}.values()
        found = (_find_words(piece, block) for piece in best if block.kind == "paragraph")
        return tuple(sorted(span for span in found if span))

    @property
    def is_partial(self) -> bool:
        return self.judgement.is_partial

    @property
    def reservation(self) -> str:
        """The statement that the answer is partial and which parts are missing, or an empty text."""
        if not self.is_partial:
            return ""
        selected = all(passage.chunk.id == SELECTION_CHUNK_ID for passage in self.trace.retrieval.passages)
        message = _describe_unread_parts(self.judgement) or (
            PARTIAL_SELECTION_ANSWER_MESSAGE if selected else PARTIAL_ANSWER_MESSAGE
        )
        missing = " ".join(shorten(part, MAX_NAMED_PART_CHARS) for part in self.judgement.missing_parts)
        return f"{message} {MISSING_PARTS_MESSAGE.format(missing)}" if missing else message

    @property
    def full_text(self) -> str:
        """The text with the reservation at its end, if the limit of sentences leaves room for it."""
        has_room = self.reservation and len(self.sentences) < MAX_ANSWER_SENTENCES
        return join_sentences(self.sentences, self.trace.note, self.reservation if has_room else "")

    @property
    def citations(self) -> tuple[Evidence, ...]:
        """The words of the book that the sentences rest on, each once, in the order of the sentences."""
        return tuple(dict.fromkeys(evidence for sentence in self.sentences for evidence in sentence.evidence))

    @property
    def sources(self) -> tuple[Source, ...]:
        return group_by_section(self.citations)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The statement that the book does not answer the question; `closest` are the places of the closest sections."""

    status: ClassVar = ReplyStatus.REFUSED
    kind: RefusalReason
    judgement: Judgement
    trace: Trace
    closest: tuple[Place, ...] = ()

    @property
    def text(self) -> str:
        return NOT_IN_SELECTION_MESSAGE if self.kind is RefusalReason.SELECTED_TEXT_MISSING else NOT_IN_BOOK_MESSAGE

    @property
    def reservation(self) -> str:
        """The statement that some parts of the question were left out, or an empty text."""
        return _describe_unread_parts(self.judgement)

    @property
    def citations(self) -> tuple[Evidence, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Unsure:
    """The statement that the book may or may not answer, with the words of the closest passages, best first.

    `kind` is the reason of the refusal that it is for an interface without unsure replies.
    """

    status: ClassVar = ReplyStatus.UNSURE
    kind: RefusalReason
    judgement: Judgement
    trace: Trace
    closest: tuple[Evidence, ...]

    @property
    def text(self) -> str:
        return UNSURE_SELECTION_MESSAGE if self.kind is RefusalReason.SELECTED_TEXT_MISSING else UNSURE_MESSAGE

    @property
    def reservation(self) -> str:
        """The statement that some parts of the question were left out, or an empty text."""
        return _describe_unread_parts(self.judgement)

    @property
    def citations(self) -> tuple[Evidence, ...]:
        return ()

    def to_refusal(self) -> Refusal:
        """Returns the refusal for an interface without unsure replies."""
        judgement = replace(self.judgement, is_unsure=False)
        sections = {each.place.link: each.place for each in self.closest}
        return Refusal(self.kind, judgement, self.trace, tuple(sections.values()))


def _describe_unread_parts(judgement: Judgement) -> str:
    return UNREAD_PARTS_MESSAGE.format(judgement.unread_parts) if judgement.unread_parts else ""


Reply = Answer | Unsure | Refusal
PipelineEvent = CompletedQuestion | Retrieval | Judgement | AnswerSentence | Reply


def _find_words(piece: Evidence, block: ReplyBlock) -> tuple[int, int] | None:
    """Returns the span of the words that answer in a block, if they are in it and few enough to stand out."""
    words = " ".join(piece.text.split()).rstrip(".,;: ")
    before = 0
    for quote in block.evidence:
        if words and piece.overlaps(quote) and len(words) <= MAX_MARKED_SHARE * len(block.text):
            expected = before + max(0, piece.place.start - quote.place.start)
            starts = [found.start() for found in re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", block.text)]
            start = min(starts, key=lambda at: abs(at - expected), default=-1)
            return (start, start + len(words)) if start >= 0 else None
        before += len(quote.text) + 1
    return None


def shorten(text: str, max_chars: int) -> str:
    """Returns a text on one line; what is too long ends between two words with a mark."""
    text = " ".join(text.split())
    return text if len(text) <= max_chars else text[:max_chars].rpartition(" ")[0] + " …"


def join_sentences(pieces: Iterable[AnswerSentence | str], note: str = "", reservation: str = "") -> str:
    """Returns sentences and an interface's own Markdown between our own statements, as Markdown."""
    return render_markdown(build_blocks(filter(None, (escape_markdown(note), *pieces, escape_markdown(reservation)))))
