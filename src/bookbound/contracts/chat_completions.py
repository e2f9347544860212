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
from bookbound.contracts.source_url import build_markdown_link, build_source_url
from bookbound.contracts.v1 import EVENT_STREAM_TYPE
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.chunk import Place
from bookbound.domain.errors import BookboundError, BookNotFoundError, InvalidInputError
from bookbound.domain.judgement import Judgement
from bookbound.domain.question import QuestionKind
from bookbound.domain.reply import Answer, AnswerSentence, PipelineEvent, Refusal, Reply, Unsure, join_sentences
from bookbound.domain.reply_blocks import escape_markdown

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
        citations=list_citations(reply),
        status=reply.status.value,
    )


def write_content(reply: Reply) -> str:
    """The reply as Markdown with links to its sources, or to what comes close."""
    if isinstance(reply, Answer):
        pieces = add_links(reply.sentences)
        if reply.trace.question_kind is QuestionKind.ABOUT_BOOK:  # the titles of chapters stay one list
            pieces = [*reply.sentences, " ".join(each for each in pieces if isinstance(each, str))]
        return join_sentences(pieces, reply.trace.note, reply.reservation)
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
                if isinstance(part, str):
                    yield send({"content": part})
                    continue
                citations = [each.model_dump(mode="json") for each in list_citations(part)]
                yield send({}, "stop", citations=citations, status=part.status.value)
                if wants_usage:
                    usage = CompletionUsage.from_usage(part.trace.usage).model_dump()
                    yield format_event(shared | {"choices": [], "usage": usage})
            yield "data: [DONE]\n\n"
        except BookboundError as error:
            problem = http_contract.problem_from_error(error, INVALID_STATUS)
            yield format_event(build_error_body(problem, context).model_dump())


async def split_content(first: PipelineEvent, rest: AsyncGenerator[PipelineEvent]) -> AsyncIterator[str | Reply]:
    """The content in parts, as soon as no later sentence can change them, and then the reply."""
    sentences, sent, may_begin_with_note = list[AnswerSentence](), "", False
    async for event in _prepend(first, rest):
        match event:
            case Judgement():
                # What the book says about itself is certain, and begins with a note that only the reply has.
                may_begin_with_note = event.probability == 1
            case AnswerSentence() if not may_begin_with_note:
                if sentences and find_links(sentences[-1]) != find_links(event):
                    content = join_sentences(add_links(sentences))
                    yield content.removeprefix(sent)
                    sent = content
                sentences.append(event)
            case Answer() | Unsure() | Refusal() as reply:
                yield write_content(reply).removeprefix(sent)
                yield reply


async def _prepend(first: PipelineEvent, rest: AsyncGenerator[PipelineEvent]) -> AsyncIterator[PipelineEvent]:
    yield first
    async for event in rest:
        yield event


def format_event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
