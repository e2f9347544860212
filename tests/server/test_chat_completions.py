"""The chat completions API of OpenAI with the real `openai` package: replies, streams, models, errors and limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from tests.server.thread_server import run_in_thread

from bookbound.contracts.chat_completions import WITHDRAWN_MESSAGE
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookNotFoundError, ServiceTimeoutError
from bookbound.domain.judgement import SupportLabel
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Question, QuestionKind, Turn
from bookbound.domain.reply import (
    DROPPED_MESSAGE,
    NOT_IN_BOOK_MESSAGE,
    UNSURE_MESSAGE,
    WITHHELD_MESSAGE,
    Answer,
    AnswerSentence,
    PipelineEvent,
    Progress,
    Reply,
    SentenceForm,
)
from bookbound.domain.trace import SentenceCounts
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.rate_limit import MemoryLimiter
from bookbound.settings import Settings
from bookbound.testing import SCRIPTED_MANIFEST, ScriptedBackend, make_answer, make_passage, make_refusal, make_unsure

WALKS = make_passage("It walks.", "c1", section="Walking", url="https://book.example/walk", anchor="walking")
FALLS = make_passage("It falls.", "c2", section="Fall_ing [hard]", url="https://book.example/fall(ing)")
ANSWER = make_answer([("It can walk.", WALKS), ("It has legs.", WALKS), ("It falls.", FALLS), ("It walks.", WALKS)])
WALKS_LINK = "[Walking](https://book.example/walk#walking)"
FALLS_LINK = r"[Fall\_ing \[hard\]](https://book.example/fall%28ing%29)"
CONTENT = f"It can walk. It has legs. {WALKS_LINK}\n\nIt falls. {FALLS_LINK}\n\nIt walks. {WALKS_LINK}"
PUBLISHED = {
    BookRef(): SCRIPTED_MANIFEST,
    BookRef("ants", "1.9"): replace(SCRIPTED_MANIFEST, title="Ants", created="2025-01-01"),
    BookRef("ants", "1.10"): replace(SCRIPTED_MANIFEST, title="More ants"),
}
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Does it walk?"}]


class FailingBackend(ScriptedBackend):
    """Answers from a script; a stream fails before the sentence with this number."""

    def __init__(self, script: Reply | Exception, fails_before: int | None = None) -> None:
        super().__init__(script)
        self._fails_before = fails_before
        self.contexts: list[RequestContext] = []

    async def ask(self, question: Question, context: RequestContext) -> Reply:
        self.contexts.append(context)
        return await super().ask(question, context)

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        self.contexts.append(context)
        count = 0
        async for event in super().stream(question, context):
            if isinstance(event, AnswerSentence):
                if count == self._fails_before:
                    raise ServiceTimeoutError("The language model did not answer in time.", service="language model")
                count += 1
            yield event


@contextmanager
def connect(
    backend: ScriptedBackend, settings: Settings | None = None, key: str = "none", path: str = "", **parts: Any
) -> Iterator[openai.OpenAI]:
    async def list_books() -> dict[BookRef, Manifest]:
        return PUBLISHED

    app = create_app(backend, settings or Settings(), list_books=list_books, **parts)
    with (
        run_in_thread(app) as server,
        openai.OpenAI(base_url=f"{server.url}{path}/v1", api_key=key, max_retries=0, timeout=60) as client,
    ):
        yield client


def ask(client: openai.OpenAI, **changes: Any) -> ChatCompletion:
    completion: ChatCompletion = client.chat.completions.create(
        **({"model": "bookbound", "messages": QUESTION} | changes)
    )
    return completion


def stream(client: openai.OpenAI, **changes: Any) -> list[Any]:
    return list(client.chat.completions.create(model="bookbound", messages=QUESTION, stream=True, **changes))


def join(chunks: list[Any]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def test_an_answer_has_links_in_its_text_and_citations_as_a_field() -> None:
    with connect(ScriptedBackend(ANSWER)) as client:
        completion = ask(client)
    (choice,) = completion.choices
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert choice.message.content == CONTENT
    assert completion.id.startswith("chatcmpl-")
    assert completion.model == "bookbound"
    assert completion.usage == openai.types.CompletionUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
    assert completion.model_extra
    assert completion.model_extra["status"] == "answered"
    citations = completion.model_extra["citations"]
    assert [(each["number"], each["section"]) for each in citations] == [(1, "Walking"), (2, "Fall_ing [hard]")]
    assert citations[0]["quotes"] == ["It walks."]
    assert citations[0]["url"] == "https://book.example/walk#walking:~:text=It%20walks."


def test_a_stream_has_the_same_content_and_ends_with_the_citations() -> None:
    with connect(ScriptedBackend(ANSWER)) as client:
        completion = ask(client)
        chunks = stream(client, stream_options={"include_usage": True})
    *middle, last, usage = chunks
    assert join(chunks) == CONTENT
    assert chunks[0].choices[0].delta.role == "assistant"
    assert len({chunk.id for chunk in chunks}) == 1
    assert [choice.finish_reason for chunk in middle for choice in chunk.choices] == [None] * len(middle)
    assert last.choices[0].finish_reason == "stop"
    assert last.model_extra["citations"] == (completion.model_extra or {})["citations"]
    assert last.model_extra["status"] == "answered"
    assert usage.choices == []
    assert usage.usage.total_tokens == 0


def test_a_stream_without_options_has_no_usage_and_ends_with_done() -> None:
    with connect(ScriptedBackend(ANSWER)) as client:
        body = {"model": "bookbound", "messages": QUESTION, "stream": True}
        response = httpx.post(f"{client.base_url}chat/completions", json=body, timeout=60)
    assert response.headers["content-type"].startswith("text/event-stream")
    *events, done, rest = response.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    assert all("usage" not in json.loads(event.removeprefix("data: ")) for event in events)


def test_a_sentence_is_sent_before_the_next_one_is_written() -> None:
    with connect(FailingBackend(ANSWER, fails_before=3)) as client:
        chunks = list[Any]()
        with pytest.raises(openai.APIError, match="did not answer in time") as failure:
            chunks.extend(client.chat.completions.create(model="bookbound", messages=QUESTION, stream=True))
    assert join(chunks) == f"It can walk. It has legs. {WALKS_LINK}\n\nIt falls."
    assert failure.value.code == "timed_out"


def make_written_answer(**counts: Any) -> Answer:
    """An answer of a language model, whose second sentence is not verified."""
    walks, legs, falls, again = (replace(each, form=SentenceForm()) for each in ANSWER.sentences)
    sentences = (walks, replace(legs, label=SupportLabel.UNVERIFIED), falls, again)
    return replace(ANSWER, sentences=sentences, trace=replace(ANSWER.trace, sentences=SentenceCounts(**counts)))


def test_what_is_not_verified_is_marked_and_counted() -> None:
    with connect(ScriptedBackend(make_written_answer(verified=3, unverified=1))) as client:
        completion, chunks = ask(client), stream(client)
    content = f"It can walk.\n\nIt has legs. *(not verified)* {WALKS_LINK}\n\nIt falls. {FALLS_LINK}"
    assert completion.choices[0].message.content == join(chunks) == f"{content}\n\nIt walks. {WALKS_LINK}"
    counts = {"verified": 3, "unverified": 1, "dropped": 0, "withheld": False}
    assert (completion.model_extra or {})["verification"] == chunks[-1].model_extra["verification"] == counts


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        (SentenceCounts(3, 1, 2), DROPPED_MESSAGE.format(2)),
        (SentenceCounts(1, 0, 3, is_withheld=True), WITHHELD_MESSAGE),
    ],
)
def test_what_is_left_out_or_withheld_is_said_at_the_end(counts: SentenceCounts, note: str) -> None:
    with connect(ScriptedBackend(make_written_answer(**counts._asdict()))) as client:
        completion, chunks = ask(client), stream(client)
    assert completion.choices[0].message.content == join(chunks)
    assert join(chunks).endswith(note)


class WithdrawingBackend(ScriptedBackend):
    """Sends certain sentences of a language model before what follows shows that they would mislead."""

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        yield Progress.WRITING
        for sentence in make_answer([("It can fly.", WALKS), ("It flies.", FALLS)]).sentences:
            yield sentence
        yield ANSWER


def test_an_answer_that_is_withheld_after_its_first_sentences_begins_again() -> None:
    with connect(WithdrawingBackend(ANSWER)) as client:
        chunks = stream(client)
    assert join(chunks) == f"It can fly. {WALKS_LINK}\n\nIt flies.\n\n{WITHDRAWN_MESSAGE}\n\n{CONTENT}"
    assert [chunk.model_extra.get("progress") for chunk in chunks[1:2]] == ["writing"]


FORMED: list[tuple[str, SentenceForm]] = [
    ("Legs", SentenceForm("heading")),
    ("It can do this:", SentenceForm()),
    ("walk", SentenceForm("item")),
    ("fall", SentenceForm("item")),
    ("part | speed", SentenceForm("row", cells=("part", "speed"), is_header=True)),
    ("leg | 2 m/s", SentenceForm("row", cells=("leg", "2 m/s"))),
    ("robot.walk()", SentenceForm("code")),
    ("It stops", SentenceForm()),
    ("It walks.", SentenceForm()),
]


@pytest.mark.parametrize("count", range(1, len(FORMED) + 1))
def test_nothing_of_any_form_has_to_be_said_again(count: int) -> None:
    walks = ANSWER.sentences[0]
    sentences = tuple(replace(walks, text=text, form=form) for text, form in FORMED[:count])
    reply = replace(ANSWER, sentences=sentences)
    with connect(ScriptedBackend(reply)) as client:
        assert join(stream(client)) == ask(client).choices[0].message.content


@pytest.mark.parametrize(
    ("reply", "status", "content"),
    [
        (make_refusal(), "refused", NOT_IN_BOOK_MESSAGE),
        (make_refusal(retrieved=[WALKS]), "refused", f"{NOT_IN_BOOK_MESSAGE} The closest sections: {WALKS_LINK}"),
        (make_unsure([WALKS]), "unsure", f"{UNSURE_MESSAGE}\n\n> It walks. {WALKS_LINK}"),
    ],
)
def test_a_reply_that_is_no_answer_is_a_normal_message(reply: Reply, status: str, content: str) -> None:
    with connect(ScriptedBackend(reply)) as client:
        completion, chunks = ask(client), stream(client)
    assert completion.choices[0].message.content == join(chunks) == content
    assert completion.choices[0].message.refusal is None
    assert completion.choices[0].finish_reason == chunks[-1].choices[0].finish_reason == "stop"
    assert (completion.model_extra or {})["status"] == chunks[-1].model_extra["status"] == status


def test_an_answer_about_the_book_keeps_its_note_and_its_list() -> None:
    about_book = replace(ANSWER.trace, note="From the book:", question_kind=QuestionKind.ABOUT_BOOK)
    noted = replace(ANSWER, trace=about_book)
    noted = replace(noted, judgement=replace(noted.judgement, is_about_book=True))
    with connect(ScriptedBackend(noted)) as client:
        completion, chunks = ask(client), stream(client)
    content = completion.choices[0].message.content or ""
    assert content.startswith("From the book:")
    assert content.endswith(f"{WALKS_LINK} {FALLS_LINK} {WALKS_LINK}")
    assert join(chunks) == content


def test_an_answer_from_the_pages_is_sent_in_parts_however_sure_it_is() -> None:
    sure = replace(ANSWER, judgement=replace(ANSWER.judgement, probability=1.0))
    with connect(ScriptedBackend(sure)) as client:
        chunks = stream(client)
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
    assert join(chunks) == CONTENT


def test_earlier_messages_are_the_conversation_and_instructions_are_ignored() -> None:
    backend = ScriptedBackend(ANSWER)
    messages = [
        {"role": "system", "content": "Answer like a pirate."},
        {"role": "assistant", "content": "Hello, what do you want to know?"},
        {"role": "user", "content": [{"type": "text", "text": "What is a"}, {"type": "text", "text": "humanoid?"}]},
        {"role": "assistant", "content": "A robot."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Does it walk?"},
    ]
    with connect(backend) as client:
        ask(client, messages=messages, temperature=0.3, max_tokens=10, user="somebody", seed=1, stop=["."])
    (asked,) = backend.questions
    assert asked.text == "Does it walk?"
    assert asked.conversation == (Turn("What is a\nhumanoid?", "A robot."),)


def test_a_long_conversation_keeps_its_last_turns() -> None:
    backend = ScriptedBackend(ANSWER)
    turns = [{"role": role, "content": f"{role} {n}"} for n in range(30) for role in ("user", "assistant")]
    with connect(backend) as client:
        ask(client, messages=[*turns, *QUESTION])
    assert backend.questions[0].conversation[-1] == Turn("user 29", "assistant 29")
    assert len(backend.questions[0].conversation) == 10


def test_a_model_is_a_book() -> None:
    with connect(ScriptedBackend(ANSWER)) as client:
        models = {model.id: model for model in client.models.list()}
        assert list(models) == ["bookbound", "ants", "ants@1.10", "ants@1.9", "all"]
        assert client.models.retrieve("ants@1.9") == models["ants@1.9"]
        assert models["ants"].model_extra == {"name": "More ants"}
        assert models["ants@1.9"].created == 1735689600
        with pytest.raises(openai.NotFoundError, match="Choose one of: bookbound, ants,") as failure:
            client.models.retrieve("wasps")
    assert failure.value.code == "model_not_found"


def test_a_server_of_one_named_book_has_it_as_the_default_model() -> None:
    with connect(ScriptedBackend(ANSWER), Settings(book="ants", edition="1.9")) as client:
        assert client.models.retrieve("bookbound").model_extra == {"name": "Ants"}
    with connect(ScriptedBackend(ANSWER), Settings(book="all")) as client:
        assert client.models.retrieve("bookbound").model_extra == {"name": "All books"}


@pytest.mark.parametrize(
    ("path", "model", "book"),
    [
        ("", "bookbound", None),
        ("", "ants", BookRef("ants")),
        ("", "ants@1.9", BookRef("ants", "1.9")),
        ("/books/ants@1.9", "bookbound", BookRef("ants", "1.9")),
    ],
)
def test_the_model_or_the_path_chooses_the_book(path: str, model: str, book: BookRef | None) -> None:
    backend = FailingBackend(ANSWER)
    with connect(backend, path=path) as client:
        ask(client, model=model)
        list(client.chat.completions.create(model=model, messages=QUESTION, stream=True))
    assert [context.book for context in backend.contexts] == [book, book]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("model", ["gpt-5", "vendor/model", ""])
def test_an_unknown_model_is_not_found(streams: bool, model: str) -> None:
    with (
        connect(ScriptedBackend(BookNotFoundError("", ["ants"]))) as client,
        pytest.raises(openai.NotFoundError, match="To see all of them: GET /v1/models") as failure,
    ):
        ask(client, model=model, stream=streams)
    assert (failure.value.code, failure.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize(
    ("change", "param", "advice"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools", "A book calls no tools"),
        ({"functions": [{"name": "f"}]}, "functions", "A book calls no functions"),
        ({"n": 2}, "n", "A question has one answer"),
        ({"modalities": ["text", "audio"]}, "modalities", "A book answers in text"),
        ({"audio": {"voice": "a", "format": "mp3"}}, "audio", "A book answers in text"),
        ({"response_format": {"type": "json_object"}}, "response_format", "A book answers in Markdown"),
        ({"logprobs": True}, "logprobs", "no log probabilities"),
        (
            {"web_search_options": {"search_context_size": "low"}},
            "web_search_options",
            "from the book and nothing else",
        ),
        ({"messages": []}, "messages", "at least 1 item"),
        ({"messages": [*QUESTION, {"role": "assistant", "content": "It"}]}, "messages", "The last message must be"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a"}}]}]},
            "messages.0.content",
            "Only text can be asked",
        ),
        ({"messages": [{"role": "user", "content": " "}]}, None, "must have 1 to 2000 characters"),
        ({"messages": [{"role": "user", "content": "x" * 2001}]}, None, "must have 1 to 2000 characters"),
    ],
)
def test_what_a_book_cannot_do_is_a_clear_error(change: dict[str, Any], param: str | None, advice: str) -> None:
    with connect(ScriptedBackend(ANSWER)) as client, pytest.raises(openai.BadRequestError, match=advice) as failure:
        ask(client, **change)
    assert (failure.value.type, failure.value.param) == ("invalid_request_error", param)


def test_empty_values_of_these_parameters_are_accepted() -> None:
    empty = {"tools": [], "n": 1, "modalities": ["text"], "response_format": {"type": "text"}, "logprobs": False}
    with connect(ScriptedBackend(ANSWER)) as client:
        assert ask(client, **empty, tool_choice="none").choices


def test_a_key_is_a_bearer_token(tmp_path: Path) -> None:
    settings = Settings(access_mode="keys", key_file=tmp_path / "keys.json")
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", [ANY_ORIGIN])
    api_keys.add_key(tmp_path / "keys.json", key)
    with connect(ScriptedBackend(ANSWER), settings, secret) as client:
        assert ask(client).choices
        for path in ("models/ants", "models"):
            with pytest.raises(openai.AuthenticationError, match="Authorization: Bearer KEY") as failure:
                client.with_options(api_key="sk-wrong").get(path, cast_to=object)
            assert failure.value.code == "invalid_api_key"


def test_questions_count_against_the_rate_limit_and_models_do_not() -> None:
    settings = Settings(rate_limits="on", address_rate_limit="1/hour")
    with connect(ScriptedBackend(ANSWER), settings, limiter=MemoryLimiter()) as client:
        ask(client)
        with pytest.raises(openai.RateLimitError, match="1 per hour are allowed") as failure:
            ask(client)
        assert client.models.list().data
    assert failure.value.code == "rate_limit_exceeded"
    assert int(failure.value.response.headers["Retry-After"]) > 0


def test_a_body_has_the_bounds_of_other_routes() -> None:
    settings = Settings(max_body_bytes=1024)
    with connect(ScriptedBackend(ANSWER), settings) as client:
        with pytest.raises(openai.APIStatusError) as failure:
            ask(client, messages=[{"role": "user", "content": "x" * 1024}])
        assert (failure.value.status_code, failure.value.code) == (413, "too_large")
        malformed = httpx.post(
            f"{client.base_url}chat/completions", content="{", headers={"Content-Type": "application/json"}
        )
    assert (malformed.status_code, malformed.json()["error"]["type"]) == (400, "invalid_request_error")


def test_an_asynchronous_client_works_too() -> None:
    async def use(url: str) -> str:
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            chunks = await client.chat.completions.create(model="bookbound", messages=QUESTION, stream=True)
            return join([chunk async for chunk in chunks])

    with connect(ScriptedBackend(ANSWER)) as client:
        assert asyncio.run(use(str(client.base_url))) == CONTENT
