"""Defines the reply to a question: an answer or a refusal, with the trace of how it was made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bookbound.domain.chunk import Passage, UnitKind, join_units
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID

if TYPE_CHECKING:
    from bookbound.domain.question import Retrieval


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What a language model was asked: in how many calls, and how many tokens it read and wrote."""

    calls: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, more: TokenUsage) -> TokenUsage:
        return TokenUsage(self.calls + more.calls, self.read + more.read, self.written + more.written)


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything a face may report about how a reply came to be.

    `tools` names each search of the book; `degraded` is an answer that a language model failed to write, or to finish.
    `edition` is the one that was asked, and `differs` names others that do not hold all the words that are cited.
    """

    retrieval: Retrieval
    generation: str
    embedder: str
    writer: str
    timings: Mapping[str, float]
    usage: TokenUsage = TokenUsage()
    tools: tuple[str, ...] = ()
    degraded: bool = False
    edition: str = ""
    differs: tuple[str, ...] = ()

    @property
    def retrieval_ms(self) -> float:
        return self.timings.get("retrieve", 0.0)

    @property
    def generation_ms(self) -> float:
        return self.timings.get("answer", 0.0)

    @property
    def total_ms(self) -> float:
        return sum(self.timings.values())


SUPPORT_THRESHOLD = 0.5
MAX_ANSWER_SENTENCES = 5
NOT_IN_BOOK_MESSAGE = "This information is not available in the book."
NOT_IN_SELECTION_MESSAGE = "The selected text does not contain this information."
PARTIAL_ANSWER_MESSAGE = "Only part of this is in the book."
SEARCH_TOOL_NAME = "search_textbook"
UNSURE_ANSWER_MESSAGE = "The book may not answer this; these are the words that come nearest."
UNSURE_SELECTION_ANSWER_MESSAGE = "The selected text may not answer this; these are the words that come nearest."
PARTIAL_SELECTION_ANSWER_MESSAGE = "Only part of this is in the selected text."


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer and the words of the book it rests on; `SUPPORTED` is the least support that holds."""

    text: str
    evidence: tuple[Evidence, ...]
    support: float = 0.0

    @property
    def kind(self) -> UnitKind:
        """That of the words it quotes; in a writer's own words it is a sentence."""
        return next((evidence.kind for evidence in self.evidence if evidence.text == self.text), "sentence")


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A writer's word that part of what was asked for is not in what it read."""


WriterEvent = AnswerSentence | MissingPart | TokenUsage
"""What a writer gives: sentences, and what there is to say about them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose every sentence was found supported."""

    sentences: tuple[AnswerSentence, ...]
    passages: tuple[Passage, ...]
    judgement: Judgement
    trace: Trace

    @property
    def text(self) -> str:
        return join_sentences(self.sentences)

    @property
    def partial(self) -> bool:
        """Whether something else was asked for that the passages do not answer."""
        return self.judgement.partial

    @property
    def sure(self) -> bool:
        """Whether the words stand as the answer, and do not merely come near."""
        return self.judgement.sure

    @property
    def reservation(self) -> str:
        """The plain statement that this may not be the answer, or is only part of it; nothing where neither is so."""
        selected = all(passage.chunk.id == SELECTION_CHUNK_ID for passage in self.trace.retrieval.passages)
        if not self.sure:
            return UNSURE_SELECTION_ANSWER_MESSAGE if selected else UNSURE_ANSWER_MESSAGE
        return (PARTIAL_SELECTION_ANSWER_MESSAGE if selected else PARTIAL_ANSWER_MESSAGE) if self.partial else ""

    @property
    def full_text(self) -> str:
        """The text with the reservation at its end, where five sentences leave room for it."""
        room = self.reservation and len(self.sentences) < MAX_ANSWER_SENTENCES
        return join_sentences([*self.sentences, self.reservation]) if room else self.text

    @property
    def citations(self) -> tuple[Evidence, ...]:
        """The words of the book that the sentences rest on, each once, in the order of the sentences."""
        return tuple(dict.fromkeys(evidence for sentence in self.sentences for evidence in sentence.evidence))


@dataclass(frozen=True, slots=True)
class Refusal:
    """The plain statement that the book does not say."""

    kind: RefusalReason
    judgement: Judgement
    trace: Trace

    @property
    def text(self) -> str:
        return NOT_IN_SELECTION_MESSAGE if self.kind is RefusalReason.SELECTED_TEXT_MISSING else NOT_IN_BOOK_MESSAGE

    @property
    def citations(self) -> tuple[Evidence, ...]:
        return ()


Reply = Answer | Refusal


def join_sentences(pieces: Iterable[AnswerSentence | str]) -> str:
    """Sentences, and a face's own words between them, as one text; lists and tables of two places stand apart."""
    groups: list[list[tuple[UnitKind, str]]] = []
    before: AnswerSentence | str = ""
    for piece in pieces:
        if not groups or _needs_blank_line(before, piece):
            groups.append([])
        groups[-1].append(("sentence", piece) if isinstance(piece, str) else (piece.kind, piece.text))
        before = piece
    return "\n\n".join(map(join_units, groups))


def _needs_blank_line(before: AnswerSentence | str, piece: AnswerSentence | str) -> bool:
    if isinstance(before, str) or isinstance(piece, str):
        return False
    places = [{evidence.chunk_id for evidence in each.evidence} for each in (before, piece)]
    return before.kind == piece.kind in ("item", "row") and places[0].isdisjoint(places[1])
