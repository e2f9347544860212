"""The shapes of Bookbound's own contract, as `canonical` makes them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel


class PlaceModel(BaseModel):
    """A stable address in the book."""

    chapter: str
    title: str
    section: str
    path: list[str]
    url: str
    file: str
    start: int
    end: int
    page: int | None
    label: str
    book: str


class CitationModel(PlaceModel):
    """Words of the book, verbatim, where they stand; `link` opens the page with the words highlighted."""

    chunk_id: str
    quote: str
    link: str
    hash: str
    probability: float


class SentenceModel(BaseModel):
    """A sentence of the answer, how surely it is supported, and by which words."""

    text: str
    support: float
    citations: list[CitationModel]


class RefusalModel(BaseModel):
    """Why there is no answer."""

    kind: Literal["empty_retrieval", "low_relevance", "insufficient_grounding", "selected_text_missing"]
    message: str


class JudgementModel(BaseModel):
    """The finding that the reply rests on."""

    probability: float
    answer_present: bool
    quality: Literal["Good", "Partial", "Poor"]
    relevant: list[str]
    evidence: list[CitationModel]


class PassageModel(PlaceModel):
    """A passage that the search found."""

    rank: int
    score: float
    chunk_id: str
    text: str
    hash: str


class UsageModel(BaseModel):
    """What a language model was asked: in how many calls, and how many tokens it read and wrote."""

    calls: int
    read: int
    written: int


class TraceModel(BaseModel):
    """How the reply came to be; `tools` are those that a language model called.

    `differs` names other editions that do not hold all the words that are cited.
    """

    generation: str
    embedder: str
    writer: str
    tools: list[str]
    usage: UsageModel
    edition: str
    differs: list[str]
    selection: PlaceModel | None
    milliseconds: dict[str, float]


class ReplyModel(BaseModel):
    """An answer or a refusal, with everything it rests on; `partial` where only part of what was asked is answered.

    `degraded` where a language model failed: then the sentences are the book's own, or what it had written until then.
    """

    status: Literal["answered", "refused"]
    answer: str | None
    partial: bool
    sure: bool
    reservation: str | None
    degraded: bool
    refusal: RefusalModel | None
    sentences: list[SentenceModel]
    citations: list[CitationModel]
    judgement: JudgementModel
    passages: list[PassageModel]
    trace: TraceModel
    request_id: str


class FoundModel(BaseModel):
    """Passages alone."""

    passages: list[PassageModel]
    generation: str
    request_id: str


class ChapterModel(BaseModel):
    title: str
    pages: int
    chunks: int


class BookModel(BaseModel):
    """The book that is being served."""

    title: str
    kind: str
    pages: int
    chunks: int
    chapters: list[ChapterModel]
    generation: str
    created: str
    models: dict[str, str]


class FieldModel(BaseModel):
    field: str
    rule: str


class ProblemModel(BaseModel):
    """What went wrong and what to do."""

    type: str
    message: str
    fields: list[FieldModel]
    retry_after: int | None


class ErrorModel(BaseModel):
    error: ProblemModel
    request_id: str
