"""Defines the arguments and results of the MCP tools, as data and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bookbound.contracts.book_list import ListedBookModel
from bookbound.contracts.book_sections import SectionText, get_section_id
from bookbound.contracts.serialization import build_highlight_link, serialize_counts
from bookbound.contracts.v1 import QuestionText, SelectionText, TurnModel
from bookbound.contracts.v1_models import VerificationModel
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Evidence
from bookbound.domain.question import MAX_PASSAGES, MAX_TURNS, Question, Retrieval, Turn
from bookbound.domain.reply import Answer, Refusal, Reply, Unsure, join_sentences
from bookbound.domain.reply_markdown import escape_markdown

MAX_SECTION_CHARS = 20_000
"""The longest text that `read_section` returns at once, about 5,000 tokens."""


class ToolInput(BaseModel):
    model_config = ConfigDict(extra="forbid")


class BookChoice(ToolInput):
    """Which book and edition; both are optional."""

    book: str | None = Field(default=None, description="A name from list_books, or `all`; by default the default book.")
    edition: str | None = Field(default=None, description="An edition from list_books; by default the newest.")


class SearchBookInput(BookChoice):
    query: QuestionText = Field(description="A question or keywords.")
    k: int = Field(default=5, ge=1, le=MAX_PASSAGES, description="How many passages to return.")


class AskBookInput(BookChoice):
    question: QuestionText = Field(description="One question in plain English that the book may answer.")
    selection: SelectionText | None = Field(
        default=None, description="Text that the user selected; the answer then comes from this text alone."
    )
    conversation: list[TurnModel] = Field(
        default_factory=list,
        max_length=MAX_TURNS,
        description="The earlier questions and replies, oldest first, if this question is a follow-up.",
    )

    def to_question(self) -> Question:
        turns = tuple(Turn(turn.question, turn.answer or "") for turn in self.conversation)
        return Question(self.question, self.selection, allow_fallback=True, conversation=turns)


class ReadSectionInput(BookChoice):
    section: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)] = Field(
        description="A `section_id` of a search result or source, or the exact title of a chapter or section."
    )
    offset: int = Field(default=0, ge=0, description="Where to go on reading: the `next_offset` of the result before.")


class SectionPlace(BaseModel):
    """A section of a book; `book` is set only if several books were searched together."""

    section_id: str
    chapter: str
    section: str
    url: str
    page: int | None
    book: str

    @classmethod
    def at(cls, place: Place, words: str = "", **more: Any) -> Self:
        """The section of a place; its address highlights the words, if there are some."""
        return cls(
            section_id=get_section_id(place),
            chapter=place.chapter,
            section=place.section,
            url=build_highlight_link(place, words) if words else place.link,
            page=place.page,
            book=place.book,
            **more,
        )

    @property
    def label(self) -> str:
        names = dict.fromkeys(filter(None, (self.book, self.chapter, self.section)))
        return f"{' › '.join(names)} (section_id: {self.section_id})" + (f" {self.url}" if self.url else "")


class ToolResult(BaseModel):
    """The result of a tool."""

    @property
    def readable(self) -> str:
        """The result as text."""
        raise NotImplementedError


class FoundPassage(SectionPlace):
    score: float
    text: str

    @classmethod
    def from_passage(cls, passage: Passage) -> Self:
        return cls.at(passage.chunk.place, score=round(passage.score, 4), text=passage.chunk.text)


class QuotedSource(SectionPlace):
    """A section and the words of it that support the answer, or come close to it."""

    quotes: list[str]

    @classmethod
    def from_quotes(cls, place: Place, quotes: Sequence[Evidence]) -> Self:
        texts = [quote.text for quote in quotes]
        return cls.at(place, texts[0], quotes=texts)


class SearchBookResult(ToolResult):
    """The best passages, best first, without a judgement whether they answer."""

    passages: list[FoundPassage]

    @classmethod
    def from_retrieval(cls, found: Retrieval) -> Self:
        return cls(passages=[FoundPassage.from_passage(each) for each in found.passages])

    @property
    def readable(self) -> str:
        shown = (f"{n}. {each.label}\n\n{each.text}" for n, each in enumerate(self.passages, 1))
        return "\n\n".join(shown) or "The book has no such passage."


class AskBookResult(ToolResult):
    """The reply: `answered` with the sources of every sentence, `unsure` with the closest quotes, or `refused`.

    `text` is the answer in Markdown, or the sentence that says why there is none. `completed_question` is a follow-up
    as it was understood. `verification` counts the sentences of a language model; those that the text marks as not
    verified have the closest quotes among the sources.
    """

    status: Literal["answered", "unsure", "refused"]
    text: str
    completed_question: str | None
    verification: VerificationModel
    sources: list[QuotedSource]
    closest: list[QuotedSource]
    closest_sections: list[SectionPlace]

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        text = escape_markdown(reply.trace.note) or reply.text
        if isinstance(reply, Answer):
            text = join_sentences(reply.sentences, reply.trace.note, reply.notes)
        sources = reply.sources if isinstance(reply, Answer) else ()
        closest = reply.closest if isinstance(reply, Unsure) else ()
        places = reply.closest if isinstance(reply, Refusal) else ()
        return cls(
            status=reply.status.value,
            text=text,
            completed_question=reply.trace.completed_question or None,
            verification=VerificationModel(**serialize_counts(reply.trace.sentences)),
            sources=[QuotedSource.from_quotes(source.place, source.quotes) for source in sources],
            closest=[QuotedSource.from_quotes(quote.place, [quote]) for quote in closest],
            closest_sections=[SectionPlace.at(place) for place in places],
        )

    @property
    def readable(self) -> str:
        parts = [self.text]
        parts += [f"> {' '.join(quote.split())}\n\n{each.label}" for each in self.closest for quote in each.quotes]
        parts += _list_places("Sources:", self.sources)
        parts += _list_places("The closest sections:", self.closest_sections)
        return "\n\n".join(parts)


def _list_places(title: str, places: Sequence[SectionPlace]) -> Iterable[str]:
    return [title + "".join(f"\n- {place.label}" for place in places)] if places else []


class ReadSectionResult(SectionPlace, ToolResult):
    """The text of a section as Markdown; if it goes on, `next_offset` is where."""

    text: str
    next_offset: int | None

    @classmethod
    def from_text(cls, found: SectionText, offset: int) -> Self:
        """The text from an offset, cut at the end of a line if it is too long."""
        rest = found.text[offset:]
        cut = rest[:MAX_SECTION_CHARS]
        # At the end of a line, so that no table row and no line of code is torn; a longer line has no such end.
        if len(rest) > len(cut):
            cut = cut[: cut.rfind("\n") + 1] or cut
        end = offset + len(cut)
        return cls.at(found.place, text=cut, next_offset=end if end < len(found.text) else None)

    @property
    def readable(self) -> str:
        more = f"\n\nThe section goes on: read it again with offset {self.next_offset}." if self.next_offset else ""
        return self.text + more


class ListBooksResult(ToolResult):
    """Every book with its editions, newest first; `default` marks the book that answers if none is named."""

    books: list[ListedBookModel]

    @property
    def readable(self) -> str:
        return "\n".join(map(_describe_book, self.books)) or "No book is indexed."


def _describe_book(book: ListedBookModel) -> str:
    editions = ", ".join(each.edition for each in book.editions if each.edition)
    notes = (f"book: {book.book or 'no name'}", f"editions: {editions}" * bool(editions), "default" * book.default)
    return f"- {book.title} ({'; '.join(filter(None, notes))})"


class BookTool(NamedTuple):
    """A tool: what it is for, its arguments and its result; `is_question` if it counts against the rate limits."""

    description: str
    arguments: type[ToolInput]
    result: type[ToolResult]
    is_question: bool = True


TOOLS = {
    "search_book": BookTool(
        "Find the passages of a book that are nearest to a question or keywords. Returns text with its place, without "
        "a judgement whether it answers.",
        SearchBookInput,
        SearchBookResult,
    ),
    "ask_book": BookTool(
        "Answer a question from a book, with the sources of every sentence. If the book does not answer, the result "
        "says so and names the closest passages or sections; that is a normal result.",
        AskBookInput,
        AskBookResult,
    ),
    "read_section": BookTool(
        "Read a section, page or chapter of a book as Markdown, with everything below it.",
        ReadSectionInput,
        ReadSectionResult,
        is_question=False,
    ),
    "list_books": BookTool(
        "List the books and editions that can be asked.", ToolInput, ListBooksResult, is_question=False
    ),
}
