"""Implements the chat completions API of OpenAI: `POST /v1/chat/completions`, with the books as `GET /v1/models`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from itertools import groupby
from time import time
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from bookbound.contracts import http_contract
from bookbound.contracts.book_list import BookLister
from bookbound.contracts.chat_completion_models import (
    DEFAULT_MODEL,
    AssistantMessage,
    BookAsModel,
    BookModelList,
    ChatCompletion,
    ChatCompletionRequest,
    CompletionChoice,
    CompletionUsage,
    OpenAIError,
    OpenAIProblem,
    list_citations,
    list_models,
)
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.serialization import serialize_counts
from bookbound.contracts.source_url import build_markdown_link, build_source_url
from bookbound.contracts.v1 import EVENT_STREAM_TYPE
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.chunk import Place
from bookbound.domain.errors import BookboundError, BookNotFoundError, InvalidInputError
from bookbound.domain.judgement import Judgement
from bookbound.domain.question import QuestionKind
from bookbound.domain.reply import (
    Answer,
    AnswerSentence,
    PipelineEvent,
    Progress,
    Refusal,
    Reply,
    Unsure,
    join_sentences,
)
from bookbound.domain.reply_blocks import MAX_TITLE_CHARS
from bookbound.domain.reply_markdown import escape_markdown

PATHS = ("/v1/chat/completions", "/v1/models", "/v1/models/{model}")
INVALID_STATUS = 400
ERROR_KINDS: Mapping[http_contract.ProblemKind, tuple[str, str | None]] = {
    http_contract.ProblemKind.INVALID: ("invalid_request_error", None),
    http_contract.ProblemKind.UNAUTHORIZED: ("authentication_error", "invalid_api_key"),
    http_contract.ProblemKind.FORBIDDEN: ("permission_error", "forbidden"),
    http_contract.ProblemKind.NOT_FOUND: ("invalid_request_error", "model_not_found"),
    http_contract.ProblemKind.WRONG_METHOD: ("invalid_request_error", None),
    http_contract.ProblemKind.TOO_LARGE: ("invalid_request_error", "too_large"),
    http_contract.ProblemKind.WRONG_TYPE: ("invalid_request_error", None),
    http_contract.ProblemKind.LIMIT: ("rate_limit_error", "rate_limit_exceeded"),
}
"""The type and the code of each error; all others are errors of the server."""
UNKNOWN_MODEL = "There is no such model: a model is a book.{} To see all of them: GET /v1/models"
MAX_LISTED_MODELS = 10
WITHDRAWN_MESSAGE = "**Please ignore the above.**"


def build_error_body(problem: http_contract.Problem, context: RequestContext) -> OpenAIError:
    kind, code = ERROR_KINDS.get(problem.kind, ("server_error", problem.kind.value))
    param = (
        "model"
        if problem.kind is http_contract.ProblemKind.NOT_FOUND
        else next((each.field for each in problem.fields), None)
    )
    return OpenAIError(error=OpenAIProblem(message=problem.message, type=kind, param=param, code=code))


def build_contract(list_books: BookLister, default: BookRef) -> http_contract.HttpContract:
    """The contract over the published books; `default` is the book that answers requests that name none."""

    def build_router(backend: http_contract.AnswerBackend) -> APIRouter:
        router = APIRouter(prefix="/v1", tags=["openai"], route_class=http_contract.QuestionRoute)
        errors = http_contract.error_responses(OpenAIError, 400, 404)
        stream: dict[int | str, Any] = {200: {"content": {EVENT_STREAM_TYPE: {"schema": {"type": "string"}}}}}

        @router.post("/chat/completions", response_model=ChatCompletion, responses=errors | stream)
        async def chat_completions(body: ChatCompletionRequest, context: http_contract.Context) -> Any:
            """Answer the last message of a conversation from a book, as the API of OpenAI does.

            `stream` sends the answer in chunks as server-sent events.
            """
            with reject_unknown_model():
                context, question = choose_book(context, body.model), body.to_question()
                if not body.stream:
                    return complete(await backend.ask(question, context), body, context)
                events = backend.stream(question, context)
                # An error before the first event still becomes a response with its own status.
                first = await anext(events)
            return StreamingResponse(stream_chunks(first, events, body, context), media_type=EVENT_STREAM_TYPE)

        @router.get("/models", responses={status: {"model": OpenAIError} for status in (401, 403, 500, 503, 504)})
        async def models() -> BookModelList:
            """List the books as models."""
            return BookModelList(data=list_models(await list_books(), default))

        @router.get("/models/{model}", responses=errors)
        async def model(model: str) -> BookAsModel:
            """Describe one book as a model."""
            listed = list_models(await list_books(), default)
            if found := next((each for each in listed if each.id == model), None):
                return found
            raise build_unknown_model_problem([each.id for each in listed])

        return router

    return http_contract.HttpContract(PATHS, build_router, build_error_body, INVALID_STATUS)


@contextmanager
def reject_unknown_model() -> Iterator[None]:
    try:
        yield
    except BookNotFoundError as error:
        raise build_unknown_model_problem(error.books) from None


def build_unknown_model_problem(names: Sequence[str]) -> http_contract.ProblemError:
    listed = f" Choose one of: {', '.join(names[:MAX_LISTED_MODELS])}." if names else ""
    return http_contract.ProblemError(
        http_contract.Problem(http_contract.ProblemKind.NOT_FOUND, 404, UNKNOWN_MODEL.format(listed))
    )


def choose_book(context: RequestContext, model: str) -> RequestContext:
    """The context with the book that a model means."""
    if model == DEFAULT_MODEL:
        return context
    try:
        ref = BookRef.parse(model)
    except InvalidInputError:
        ref = UNNAMED_BOOK
    if ref == UNNAMED_BOOK:
        raise BookNotFoundError("No book can have this name.")
    return replace(context, book=ref)


def complete(reply: Reply, body: ChatCompletionRequest, context: RequestContext) -> ChatCompletion:
    return ChatCompletion(
        id=f"chatcmpl-{context.record.request_id}",
        model=body.model,
        choices=[CompletionChoice(message=AssistantMessage(content=write_content(reply)))],
        usage=CompletionUsage.from_usage(reply.trace.usage),
        **_list_own_fields(reply),
    )


def write_content(reply: Reply) -> str:
    """The reply as Markdown with links to its sources, or to what comes close."""
    if isinstance(reply, Answer):
        pieces = add_links(reply.sentences)
        if reply.trace.question_kind is QuestionKind.ABOUT_BOOK:  # the titles of chapters stay one list
            pieces = [*reply.sentences, " ".join(each for each in pieces if isinstance(each, str))]
        return join_sentences(pieces, reply.trace.note, reply.notes)
    text = escape_markdown(reply.trace.note) or reply.text
    if isinstance(reply, Unsure):
        quotes = (
            f"> {escape_markdown(' '.join(each.text.split()))} {link_section(each.place)}" for each in reply.closest
        )
        return "\n\n".join((text, *quotes))
    sections = ", ".join(map(link_section, reply.closest))
    return f"{text} The closest sections: {sections}" if sections else text


def add_links(sentences: Sequence[AnswerSentence]) -> list[AnswerSentence | str]:
    """The sentences, each group that cites the same sections followed by links to them."""
    pieces: list[AnswerSentence | str] = []
    for links, group in groupby(sentences, find_links):
        pieces += [*group, " ".join(links)]
    return pieces


def find_links(sentence: AnswerSentence) -> tuple[str, ...]:
    return tuple(dict.fromkeys(link_section(evidence.place) for evidence in sentence.evidence))


def link_section(place: Place) -> str:
    return build_markdown_link(" ".join(place.section.split()) or place.file, build_source_url(place))


async def stream_chunks(
    first: PipelineEvent, rest: AsyncGenerator[PipelineEvent], body: ChatCompletionRequest, context: RequestContext
) -> AsyncIterator[str]:
    """The chunks as server-sent events; if something fails on the way, the last one is an error."""
    wants_usage = bool(body.stream_options and body.stream_options.include_usage)
    shared = {"id": f"chatcmpl-{context.record.request_id}", "object": "chat.completion.chunk", "created": int(time())}
    shared |= {"model": body.model} | ({"usage": None} if wants_usage else {})

    def send(delta: dict[str, str], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return format_event(shared | {"choices": [choice]} | more)

    async with aclosing(rest):
        try:
            yield send({"role": "assistant", "content": ""})
            async for part in split_content(first, rest):
                if isinstance(part, Progress):
                    yield send({}, progress=part.value)
                    continue
                if isinstance(part, str):
                    yield send({"content": part})
                    continue
                yield send({}, "stop", **_list_own_fields(part))
                if wants_usage:
                    usage = CompletionUsage.from_usage(part.trace.usage).model_dump()
                    yield format_event(shared | {"choices": [], "usage": usage})
            yield "data: [DONE]\n\n"
        except BookboundError as error:
            problem = http_contract.problem_from_error(error, INVALID_STATUS)
            yield format_event(build_error_body(problem, context).model_dump())


def _list_own_fields(reply: Reply) -> dict[str, Any]:
    """The fields of a reply that the API of OpenAI does not have."""
    return {
        "citations": [each.model_dump(mode="json") for each in list_citations(reply)],
        "verification": serialize_counts(reply.trace.sentences),
        "status": reply.status.value,
    }


async def split_content(
    first: PipelineEvent, rest: AsyncGenerator[PipelineEvent]
) -> AsyncIterator[str | Progress | Reply]:
    """The content in parts, as soon as no later sentence can change them, and then the reply."""
    sentences, sent, is_about_book = list[AnswerSentence](), "", False
    async for event in _prepend(first, rest):
        match event:
            case Progress():
                yield event
            case Judgement():
                is_about_book = event.is_about_book  # it begins with a note that only the reply has
            case AnswerSentence() if not is_about_book:
                sentences.append(event)
                content = _write_certain_content(sentences)
                if content != sent and content.startswith(sent):
                    yield content.removeprefix(sent)
                    sent = content
            case Answer() | Unsure() | Refusal() as reply:
                content = write_content(reply)
                # What followed showed that the answer would mislead, so the reply begins again.
                yield (
                    content.removeprefix(sent) if content.startswith(sent) else f"\n\n{WITHDRAWN_MESSAGE}\n\n{content}"
                )
                yield reply


def _write_certain_content(sentences: Sequence[AnswerSentence]) -> str:
    """The Markdown of the first sentences of an answer, up to where the next one may change its form."""
    pieces = add_links(sentences)[:-1]  # the next sentence may have the same links
    while pieces and not isinstance(pieces[-1], str) and _may_change(pieces[-1]):
        pieces.pop()
    return join_sentences(pieces)


def _may_change(sentence: AnswerSentence) -> bool:
    """Whether what follows decides about the form: a row of a table, or a short line that may be a heading."""
    may_be_title = len(sentence.text) <= MAX_TITLE_CHARS and sentence.text[-1:].isalnum()
    return sentence.kind == "row" or (may_be_title and sentence.kind not in ("item", "code"))


async def _prepend(first: PipelineEvent, rest: AsyncGenerator[PipelineEvent]) -> AsyncIterator[PipelineEvent]:
    yield first
    async for event in rest:
        yield event


def format_event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
