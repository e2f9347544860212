"""Defines the requests and responses of the chat completions API of OpenAI, as far as a book can answer them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from time import time
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from bookbound.contracts.chat import parse_history
from bookbound.contracts.serialization import build_highlight_link
from bookbound.contracts.v1_models import VerificationModel
from bookbound.domain.book_ref import ALL_BOOKS, BookRef, sort_newest_first
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply, Source, Unsure, group_by_section
from bookbound.domain.trace import TokenUsage

DEFAULT_MODEL = "bookbound"
"""The model that means the book of the path or the headers, else the default book of the server."""
QUESTION_ROLE, ANSWER_ROLE = "user", "assistant"
NOT_TEXT = 'Only text can be asked. Send each part as {"type": "text", "text": ...}.'
LAST_MESSAGE = "The last message must be a question of the user."
UNSUPPORTED: dict[str, tuple[tuple[Any, ...], str]] = {
    "n": ((1,), "A question has one answer."),
    "tools": ((), "A book calls no tools."),
    "functions": ((), "A book calls no functions."),
    "audio": ((), "A book answers in text."),
    "modalities": ((["text"],), "A book answers in text."),
    "response_format": (({"type": "text"},), "A book answers in Markdown."),
    "logprobs": ((), "A book has no log probabilities."),
    "web_search_options": ((), "Answers come from the book and nothing else."),
}
"""Parameters that change what a client gets, with the values that are accepted besides empty ones, and the reason."""


class ContentPart(BaseModel):
    """A part of a message; a client may send back the refusal of another model."""

    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """A message of the conversation; only those of the user and the assistant are read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _is_text(cls, content: Any) -> Any:
        parts = content if isinstance(content, list) else []
        if any(isinstance(part, dict) and part.get("type") not in ("text", "refusal") for part in parts):
            raise ValueError(NOT_TEXT)
        return content

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


EmptyList = Annotated[list[Any], Field(max_length=0)]


class StreamOptions(BaseModel):
    include_usage: bool = False


class TextFormat(BaseModel):
    type: Literal["text"]


class ChatCompletionRequest(BaseModel):
    """A conversation whose last message is the question; the earlier ones complete it.

    Parameters of language models, such as `temperature` and `max_tokens`, are accepted and have no effect.
    """

    model: str = Field(description="A book: an id of `GET /v1/models`.", examples=["bookbound"])
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    tools: EmptyList | None = None
    functions: EmptyList | None = None
    audio: None = None
    modalities: list[Literal["text"]] | None = None
    response_format: TextFormat | None = None
    logprobs: Literal[False] | None = None
    web_search_options: None = None

    @field_validator(*UNSUPPORTED, mode="before")
    @classmethod
    def _is_supported(cls, value: Any, info: ValidationInfo) -> Any:
        accepted, reason = UNSUPPORTED[info.field_name or ""]
        if value and value not in accepted:
            raise ValueError(f"{reason} Leave it out.")
        return value

    @field_validator("messages")
    @classmethod
    def _ends_with_question(cls, messages: list[ChatMessage]) -> list[ChatMessage]:
        if messages[-1].role != QUESTION_ROLE:
            raise ValueError(LAST_MESSAGE)
        return messages

    def to_question(self) -> Question:
        *earlier, last = [each for each in self.messages if each.role in (QUESTION_ROLE, ANSWER_ROLE)]
        history = [{"role": each.role, "content": each.text} for each in earlier]
        return Question(last.text, allow_fallback=True, conversation=parse_history(history, last.text.strip()))


class CitedSectionModel(BaseModel):
    """A cited section and the words that are quoted from it; `url` opens the page with the first ones highlighted."""

    number: int
    title: str
    url: str
    chapter: str
    section: str
    file: str
    page: int | None
    book: str
    quotes: list[str]

    @classmethod
    def from_source(cls, source: Source) -> Self:
        place, quotes = source.place, [quote.text for quote in source.quotes]
        return cls(
            number=source.number,
            title=" › ".join(place.heading_path),
            url=build_highlight_link(place, quotes[0]),
            quotes=quotes,
            **{name: getattr(place, name) for name in ("chapter", "section", "file", "page", "book")},
        )


def list_citations(reply: Reply) -> list[CitedSectionModel]:
    """The sources of an answer, or the closest sections of an unsure reply."""
    quotes = reply.closest if isinstance(reply, Unsure) else reply.citations
    return [CitedSectionModel.from_source(source) for source in group_by_section(quotes)]


class CompletionUsage(BaseModel):
    """The tokens of a language model, if one wrote the answer; else nothing."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int

    @classmethod
    def from_usage(cls, usage: TokenUsage) -> Self:
        read, written = usage.input_tokens, usage.output_tokens
        return cls(prompt_tokens=read, completion_tokens=written, total_tokens=read + written)


class AssistantMessage(BaseModel):
    """The reply as Markdown with links to its sources; what the book does not say is an ordinary message too."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(BaseModel):
    index: Literal[0] = 0
    message: AssistantMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class ChatCompletion(BaseModel):
    """The reply; `citations`, `verification` and `status` are our own fields."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int = Field(default_factory=lambda: int(time()))
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    citations: list[CitedSectionModel]
    verification: VerificationModel
    status: Literal["answered", "unsure", "refused"]


class BookAsModel(BaseModel):
    """A book as a model; `name` is its title."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: Literal["bookbound"] = "bookbound"
    name: str

    @classmethod
    def from_manifest(cls, id: str, manifest: Manifest, name: str = "") -> Self:  # noqa: A002
        created = int(datetime.fromisoformat(manifest.created).timestamp())
        return cls(id=id, created=created, name=name or manifest.title)


class BookModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[BookAsModel]


def list_models(published: Mapping[BookRef, Manifest], default: BookRef) -> list[BookAsModel]:
    """The default book, each book by its name and by its editions, and all books together if there are several."""
    books: dict[str, list[BookRef]] = {}
    for ref in sort_newest_first(published):
        books.setdefault(ref.book, []).append(ref)
    names = {book: refs[0] for book, refs in sorted(books.items())} | {str(ref): ref for ref in sorted(published)}
    names.pop("", None)
    models = [BookAsModel.from_manifest(name, published[ref]) for name, ref in names.items()]
    if len(books) > 1:
        newest = max(published.values(), key=lambda manifest: manifest.created)
        models.append(BookAsModel.from_manifest(ALL_BOOKS, newest, "All books"))
    meant = default if default.edition else next(iter(books.get(default.book, [])), default)
    if manifest := published.get(meant):
        models.insert(0, BookAsModel.from_manifest(DEFAULT_MODEL, manifest))
    elif default.book == ALL_BOOKS and models:
        models.insert(0, models[-1].model_copy(update={"id": DEFAULT_MODEL}))
    return models


class OpenAIProblem(BaseModel):
    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(BaseModel):
    """What went wrong and what to do."""

    error: OpenAIProblem
