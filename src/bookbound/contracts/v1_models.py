"""Defines the replies of Bookbound's own API for the OpenAPI document."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from bookbound.domain.judgement import RetrievalQuality


class PlaceModel(BaseModel):
    """A stable address in the book."""

    chapter: str
    title: str
    section: str
    path: list[str]
    url: str
    file: str
    anchor: str
    start: int
    end: int
    page: int | None
    label: str
    book: str


class CitationModel(PlaceModel):
    """A verbatim quote and its place; `link` opens the page with the quote highlighted."""

    chunk_id: str
    quote: str
    link: str
    hash: str
    probability: float


class SentenceModel(BaseModel):
    """A sentence of the answer, how well it is supported, and by which quotes.

    A language model's sentence that is `unverified` is plausible but not proved; its citations are the closest quotes.
    """

    text: str
    support: float
    label: Literal["supported", "unverified"]
    citations: list[CitationModel]


class UnverifiedModel(BaseModel):
    """Marks what a language model says and the book does not prove, with the words of the book that are closest."""

    closest: str


class UnverifiedRowModel(BaseModel):
    """Marks a row of a table by its place in `rows`, with the words of the book that are closest."""

    row: int
    closest: str


class ListItemModel(BaseModel):
    """An item of a list; `number` is empty unless the list is numbered, and `level` counts from 0."""

    text: str
    number: str
    level: int
    sources: list[int]
    unverified: UnverifiedModel | None


class BlockModel(BaseModel):
    """A part of the reply in its form: a list has `items`, a table `rows`, everything else a `text`.

    `cut` code goes on in the book. `sources` are numbers of sources, `marks` the spans of `text` that answer.
    """

    kind: Literal["paragraph", "heading", "list", "table", "code", "formula"]
    text: str
    items: list[ListItemModel]
    header: list[str] | None
    rows: list[list[str]]
    cut: bool
    sources: list[int]
    marks: list[tuple[int, int]]
    unverified: UnverifiedModel | None
    unverified_rows: list[UnverifiedRowModel]
    markdown: str


class SourceModel(PlaceModel):
    """A cited section and the words that are quoted from it; `link` opens the page with the first ones highlighted."""

    number: int
    link: str
    quotes: list[str]


class ClosestModel(CitationModel):
    """A quote that comes close, with its form."""

    blocks: list[BlockModel]


class RefusalModel(BaseModel):
    """Why there is no answer, and the places of the closest sections."""

    kind: Literal["empty_retrieval", "low_relevance", "insufficient_grounding", "selected_text_missing"]
    message: str
    sections: list[PlaceModel]


class UnsureModel(BaseModel):
    """The sentence to show above the closest passages, and the reason why there is no answer."""

    kind: Literal["insufficient_grounding", "selected_text_missing"]
    message: str


class JudgementModel(BaseModel):
    """The judgement behind the reply; `unsure` if the passages may or may not answer."""

    probability: float
    answer_present: bool
    unsure: bool
    quality: RetrievalQuality
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
    """The calls to a language model and the tokens it read and wrote."""

    calls: int
    read: int
    written: int


class VerificationModel(BaseModel):
    """How many sentences of a language model are verified, shown as not verified, and not shown.

    If `withheld`, the book does not support enough of its answer, and the reply is the book's own words.
    """

    verified: int
    unverified: int
    dropped: int
    withheld: bool


class TraceModel(BaseModel):
    """How the reply was made; `tools` are those that a language model called.

    `differs` names other editions that do not contain all quotes of the reply. `completed_question` is the question
    as it was understood, if that is not how it was asked.
    """

    generation: str
    embedder: str
    writer: str
    tools: list[str]
    usage: UsageModel
    edition: str
    differs: list[str]
    completed_question: str | None
    selection: PlaceModel | None
    milliseconds: dict[str, float]


class ReplyModel(BaseModel):
    """An answer, an unsure reply or a refusal; `partial` if only part of the question is answered.

    `answer` is Markdown, and `blocks` are the same in pieces. Each cited section is one of the `sources`.

    An unsure reply neither claims nor denies that the book answers: `closest` has the quotes that come closest, best
    passage first. `sure` is true for an answer. `degraded` if a language model failed: the sentences are quotes, or
    what the model wrote before it failed. `completed_question` is the question as it was understood, if that is not how
    it was asked. `note` says where an answer about the book itself is from, and replaces the refusal of a message that
    is no question.
    """

    status: Literal["answered", "unsure", "refused"]
    answer: str | None
    note: str | None
    partial: bool
    sure: bool
    reservation: str | None
    degraded: bool
    verification: VerificationModel
    completed_question: str | None
    unsure: UnsureModel | None
    closest: list[ClosestModel]
    refusal: RefusalModel | None
    blocks: list[BlockModel]
    sources: list[SourceModel]
    sentences: list[SentenceModel]
    citations: list[CitationModel]
    judgement: JudgementModel
    passages: list[PassageModel]
    trace: TraceModel
    request_id: str


class SearchResultsModel(BaseModel):
    """Passages alone."""

    passages: list[PassageModel]
    generation: str
    request_id: str


class ChapterModel(BaseModel):
    title: str
    pages: int
    chunks: int


class BookModel(BaseModel):
    """The book that is served."""

    title: str
    kind: str
    pages: int
    chunks: int
    chapters: list[ChapterModel]
    generation: str
    created: str
    models: dict[str, str]
