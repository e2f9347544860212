"""The nouns of a conversation: a question, what was found for it, and the reply."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bookbound.book import Passage, Place, UnitKind, laid_out
from bookbound.errors import InvalidInput
from bookbound.finding import Evidence, Judgement, RefusalKind
from bookbound.trace import Trace, Usage

SELECTION_ID = "selected_text"
LONGEST_QUESTION, LONGEST_SELECTION, MOST_PASSAGES = 2000, 10000, 20
SUPPORTED = 0.5
MOST_SENTENCES = 5
BOOK_SILENT = "This information is not available in the book."
SELECTION_SILENT = "The selected text does not contain this information."
ONLY_PART = "Only part of this is in the book."
SEARCH_TOOL = "search_textbook"
NOT_SURE = "The book may not answer this; these are the words that come nearest."
NOT_SURE_SELECTED = "The selected text may not answer this; these are the words that come nearest."
ONLY_PART_SELECTED = "Only part of this is in the selected text."


class Scope(StrEnum):
    """Where an answer may come from."""

    BOOK = "book"
    SELECTION = "selection"
    SELECTION_THEN_BOOK = "selection_then_book"


@dataclass(frozen=True, slots=True)
class Question:
    """What a reader asks, the words they selected, and how widely to look.

    With `fall_back` the book's own words may stand in for a language model that fails.

    Outer white space is dropped, and a selection of white space alone is none; then the answer comes from the book.
    """

    text: str
    selection: str | None = None
    scope: Scope = Scope.BOOK
    k: int = 5
    threshold: float = 0.0
    fall_back: bool = False

    def __post_init__(self) -> None:
        selection = (self.selection or "").strip() or None
        object.__setattr__(self, "text", self.text.strip())
        object.__setattr__(self, "selection", selection)
        object.__setattr__(self, "scope", self.scope if selection else Scope.BOOK)
        if not 1 <= len(self.text) <= LONGEST_QUESTION:
            raise InvalidInput(f"A question has 1 to {LONGEST_QUESTION} characters; this one has {len(self.text)}.")
        if any("\ud800" <= letter <= "\udfff" for letter in f"{self.text}{selection}"):
            raise InvalidInput("A question is text; this one holds bytes that are no characters.")
        if selection and len(selection) > LONGEST_SELECTION:
            raise InvalidInput(f"A selection has at most {LONGEST_SELECTION} characters, not {len(selection)}.")
        if not 1 <= self.k <= MOST_PASSAGES:
            raise InvalidInput(f"The number of passages is 1 to {MOST_PASSAGES}, not {self.k}.")
        if not 0 <= self.threshold <= 1:
            raise InvalidInput(f"The threshold is a number from 0 to 1, not {self.threshold}.")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The passages found for a question, best first, and where the reader's selection stands in the book."""

    passages: tuple[Passage, ...]
    selection: Place | None = None
    embed_ms: float = 0.0
    search_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer and the words of the book it rests on; `SUPPORTED` is the least support that holds."""

    text: str
    evidence: tuple[Evidence, ...]
    support: float = 0.0

    @property
    def kind(self) -> UnitKind:
        """That of the words it quotes; in a writer's own words it is a sentence."""
        return next((evidence.kind for evidence in self.evidence if evidence.text == self.text), "sentence")


@dataclass(frozen=True, slots=True)
class Missing:
    """A writer's word that part of what was asked for is not in what it read."""


Piece = Sentence | Missing | Usage
"""What a writer gives: sentences, and what there is to say about them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose every sentence was found supported."""

    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]
    judgement: Judgement
    trace: Trace

    @property
    def text(self) -> str:
        return join(self.sentences)

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
        selected = all(passage.chunk.id == SELECTION_ID for passage in self.trace.retrieval.passages)
        if not self.sure:
            return NOT_SURE_SELECTED if selected else NOT_SURE
        return (ONLY_PART_SELECTED if selected else ONLY_PART) if self.partial else ""

    @property
    def full_text(self) -> str:
        """The text with the reservation at its end, where five sentences leave room for it."""
        room = self.reservation and len(self.sentences) < MOST_SENTENCES
        return join([*self.sentences, self.reservation]) if room else self.text

    @property
    def citations(self) -> tuple[Evidence, ...]:
        """The words of the book that the sentences rest on, each once, in the order of the sentences."""
        return tuple(dict.fromkeys(evidence for sentence in self.sentences for evidence in sentence.evidence))


@dataclass(frozen=True, slots=True)
class Refusal:
    """The plain statement that the book does not say."""

    kind: RefusalKind
    judgement: Judgement
    trace: Trace

    @property
    def text(self) -> str:
        return SELECTION_SILENT if self.kind is RefusalKind.SELECTED_TEXT_MISSING else BOOK_SILENT

    @property
    def citations(self) -> tuple[Evidence, ...]:
        return ()


Reply = Answer | Refusal


def join(pieces: Iterable[Sentence | str]) -> str:
    """Sentences, and a face's own words between them, as one text; lists and tables of two places stand apart."""
    groups: list[list[tuple[UnitKind, str]]] = []
    before: Sentence | str = ""
    for piece in pieces:
        if not groups or _apart(before, piece):
            groups.append([])
        groups[-1].append(("sentence", piece) if isinstance(piece, str) else (piece.kind, piece.text))
        before = piece
    return "\n\n".join(map(laid_out, groups))


def _apart(before: Sentence | str, piece: Sentence | str) -> bool:
    if isinstance(before, str) or isinstance(piece, str):
        return False
    places = [{evidence.chunk_id for evidence in each.evidence} for each in (before, piece)]
    return before.kind == piece.kind in ("item", "row") and places[0].isdisjoint(places[1])
