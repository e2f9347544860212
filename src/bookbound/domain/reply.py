"""Defines the reply to a question: an answer, an unsure reply or a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, NamedTuple

from bookbound.domain.chunk import Passage, Place, UnitKind
from bookbound.domain.judgement import Claim, Evidence, Judgement, RefusalReason, ReplyStatus, SupportLabel
from bookbound.domain.question import SELECTION_CHUNK_ID, CompletedQuestion, QuestionKind, Retrieval
from bookbound.domain.reply_blocks import ReplyBlock, build_blocks
from bookbound.domain.reply_markdown import escape_markdown, render_markdown
from bookbound.domain.trace import TokenUsage, Trace

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
WITHHELD_MESSAGE = "The book does not support enough of what the language model wrote, so this answer quotes the book."
DROPPED_MESSAGE = "Sentences of the language model that are left out because the book does not prove them: {}."
SEARCH_TOOL_NAME = "search_textbook"


class SentenceForm(NamedTuple):
    """The form that a language model gave a sentence: an item has a number and a level, a row of a table its cells."""

    kind: UnitKind = "sentence"
    number: str = ""
    level: int = 0
    cells: tuple[str, ...] = ()
    is_header: bool = False
    starts_paragraph: bool = False


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer, the words of the book that it rests on, and the probability that they support it.

    A language model's own words have a `form` and a `claim`; what only introduces other sentences, such as a heading,
    has no claim. The evidence of a sentence that is not supported are the closest words.
    """

    text: str
    evidence: tuple[Evidence, ...]
    support: float = 0.0
    label: SupportLabel = SupportLabel.SUPPORTED
    form: SentenceForm | None = None
    claim: Claim | None = None

    @property
    def is_verified(self) -> bool:
        return self.label is SupportLabel.SUPPORTED

    @property
    def makes_claim(self) -> bool:
        """Whether the book has to support it: headings and introductions say nothing by themselves."""
        return self.form is None or self.claim is not None

    @property
    def kind(self) -> UnitKind:
        """The kind of the quoted words, or the form of a language model's own words."""
        if self.form:
            return self.form.kind
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


def count_sentences(sentences: Sequence[AnswerSentence]) -> int:
    """Returns how many sentences readers see; a list, a table or code counts as one with the sentence before it."""
    continuing = ("item", "row", "code", "heading")
    return sum(each.kind not in continuing or (at == 0 and each.kind != "heading") for at, each in enumerate(sentences))


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A writer's statement that the passages do not answer part of the question."""


@dataclass(frozen=True, slots=True)
class Restart:
    """A writer's statement that what it wrote before was not its answer."""


WriterEvent = AnswerSentence | MissingPart | Restart | TokenUsage


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; each sentence is supported by the words that it cites, or unverified and cites the closest words."""

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
    def verification_note(self) -> str:
        """The statement that something of a language model's answer is not shown, or an empty text."""
        counts = self.trace.sentences
        if counts.is_withheld:
            return WITHHELD_MESSAGE
        return DROPPED_MESSAGE.format(counts.dropped) if counts.dropped else ""

    @property
    def notes(self) -> str:
        """Our own statements about the answer, which follow it."""
        return " ".join(filter(None, (self.reservation, self.verification_note)))

    @property
    def full_text(self) -> str:
        """The text with the reservation at its end, if the limit of sentences leaves room for it."""
        has_room = self.reservation and count_sentences(self.sentences) < MAX_ANSWER_SENTENCES
        return join_sentences(self.sentences, self.trace.note, self.reservation if has_room else "")

    @property
    def citations(self) -> tuple[Evidence, ...]:
        """The words of the book that the sentences rest on, each once, in the order of the sentences."""
        return tuple(dict.fromkeys(evidence for sentence in self.sentences for evidence in sentence.evidence))

    @property
    def sources(self) -> tuple[Source, ...]:
        return group_by_section(self.citations)


class _WithoutAnswer:
    """What a refusal and an unsure reply have in common."""

    __slots__ = ()
    judgement: Judgement
    citations: ClassVar[tuple[Evidence, ...]] = ()

    @property
    def reservation(self) -> str:
        """The statement that some parts of the question were left out, or an empty text."""
        return _describe_unread_parts(self.judgement)


@dataclass(frozen=True, slots=True)
class Refusal(_WithoutAnswer):
    """The statement that the book does not answer the question; `closest` are the places of the closest sections."""

    status: ClassVar = ReplyStatus.REFUSED
    kind: RefusalReason
    judgement: Judgement
    trace: Trace
    closest: tuple[Place, ...] = ()

    @property
    def text(self) -> str:
        if self.trace.question_kind is QuestionKind.OTHER_LANGUAGE:
            return self.trace.note  # the book was not read, so nobody knows whether it answers
        return NOT_IN_SELECTION_MESSAGE if self.kind is RefusalReason.SELECTED_TEXT_MISSING else NOT_IN_BOOK_MESSAGE


@dataclass(frozen=True, slots=True)
class Unsure(_WithoutAnswer):
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

    def to_refusal(self) -> Refusal:
        """Returns the refusal for an interface without unsure replies."""
        judgement = replace(self.judgement, is_unsure=False)
        sections = {each.place.link: each.place for each in self.closest}
        return Refusal(self.kind, judgement, self.trace, tuple(sections.values()))


def _describe_unread_parts(judgement: Judgement) -> str:
    return UNREAD_PARTS_MESSAGE.format(judgement.unread_parts) if judgement.unread_parts else ""


Reply = Answer | Unsure | Refusal


class Progress(StrEnum):
    """What a language model is doing for an answer."""

    UNDERSTANDING = "understanding"
    WRITING = "writing"
    REVISING = "revising"
    TRANSLATING = "translating"


PipelineEvent = Progress | CompletedQuestion | Retrieval | Judgement | AnswerSentence | Reply


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
