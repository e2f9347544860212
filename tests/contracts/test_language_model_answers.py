"""What every contract shows of a language model's answer, and of a question in another language than the book."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bookbound import bootstrap
from bookbound.contracts import agent, ask, chat, grounded_agent, query
from bookbound.contracts.chat_completions import write_content
from bookbound.contracts.mcp_tools import AskBookResult
from bookbound.contracts.query_models import QueryRequest
from bookbound.contracts.request_context import RequestContext
from bookbound.contracts.serialization import serialize_reply
from bookbound.domain.question import Question
from bookbound.domain.reply import (
    DROPPED_MESSAGE,
    NOT_IN_BOOK_MESSAGE,
    WITHHELD_MESSAGE,
    Answer,
    PipelineEvent,
    Progress,
    Refusal,
    Reply,
)
from bookbound.domain.reply_blocks import UNVERIFIED_MARK
from bookbound.library import Book
from bookbound.settings import Settings
from bookbound.testing.scripted_services import ScriptedServices

HORN = "In fog the horn sounds for four seconds in every minute."
KEEPER = "The keeper writes down at which hour the horn was started."
OIL = "The lamp burns oil that is pressed from olives."
STAIRS = "The tower has 199 stairs of granite."
PAGE = f"# The lighthouse\n\n## The fog horn\n\n{HORN} {KEEPER}\n\n## The tower\n\n{STAIRS} {OIL}\n"
QUESTION = "For how many seconds in every minute does the horn sound in fog?"
GERMAN = "Wie viele Sekunden lang ertönt das Horn in jeder Minute?"
# No network decides about these: another language cannot be read, and another script has no evidence.
UNVERIFIED = "Das horn der Station ist in fog noch lange da und wird nicht leise."
FOREIGN = "Этот рог слышен даже в Португалии."
MOSTLY_PROVED = f"{HORN} {KEEPER} {STAIRS} {OIL} {{}}"


class ScriptedModel:
    """Replies to each of the requests that the product makes for an answer."""

    def __init__(self, draft: str, revised: str = "") -> None:
        self.draft, self.revised = draft, revised

    def __call__(self, request: dict[str, Any]) -> str:
        text = str(request["messages"])
        if "You prepare readers" in text:
            return QUESTION
        if "Translate each numbered line" in text:
            return "1. Bei Nebel ertönt das Horn vier Sekunden in jeder Minute."
        return self.revised or "0. -" if "For some of its sentences" in text else self.draft


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, index = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("index")
    (source / "lighthouse.md").write_text(PAGE, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=index))
    return index


@contextmanager
def open_book(index: Path, draft: str = "", revised: str = "", **settings: Any) -> Iterator[Book]:
    """The book with a language model that writes this draft, or without any."""
    with ScriptedServices() as services, asyncio.Runner() as runner:
        services.reply_with(ScriptedModel(draft, revised), always=True)
        model: dict[str, Any] = {"llm_model": "m-1", "llm_url": services.openai_url, "llm_api": "chat"} if draft else {}
        chosen = Settings(index=index, reader="fast", answer_threshold=0.0, **model, **settings)
        pipeline = runner.run(bootstrap.open_pipeline(chosen))
        try:
            yield Book(pipeline, runner)
        finally:
            runner.run(pipeline.close())


def ask_by_http(name: str, text: str, book: Book) -> str:
    """What a contract of the server shows of the reply."""

    def reply_to(question: Question) -> Reply:
        return book._run(lambda: book.pipeline.ask(question))

    match name:
        case "ask":
            asked = ask.AskRequest(question=text).to_question()
            return ask.AskResponse.from_reply(asked, reply_to(asked)).answer
        case "chat":
            return chat.ChatResponse.from_reply(reply_to(chat.ChatRequest(question=text).to_question()), "r").answer
    workflow = query.plan_workflow(QueryRequest(query=text))
    reply = reply_to(query.build_question(workflow))
    response = query.build_response(reply, workflow, RequestContext())
    return response.answer.text if response.answer else response.refusal.reason if response.refusal else ""


def ask_by_contract(name: str, text: str, book: Book) -> str:
    if name == "agent":
        reply = agent.ask(agent.AgentQuery(text), book)
        return reply.answer if isinstance(reply, agent.AgentResponse) else reply.message
    return grounded_agent.ask(text, book).answer if name == "grounded_agent" else ask_by_http(name, text, book)


@pytest.mark.parametrize("contract", ["ask", "chat", "query", "agent"])
def test_a_published_contract_shows_the_proved_sentences_if_no_key_part_is_lost(index: Path, contract: str) -> None:
    with open_book(index, MOSTLY_PROVED.format(UNVERIFIED)) as book:
        shown = ask_by_contract(contract, QUESTION, book)
    assert all(sentence in shown for sentence in (HORN, KEEPER))
    assert "Station" not in shown
    assert UNVERIFIED_MARK not in shown


@pytest.mark.parametrize("lost", [f"{UNVERIFIED} {KEEPER} {STAIRS} {OIL}", f"{STAIRS} {UNVERIFIED} {OIL}"])
@pytest.mark.parametrize("contract", ["ask", "chat", "query", "agent"])
def test_a_published_contract_quotes_the_book_if_a_key_part_is_lost(index: Path, contract: str, lost: str) -> None:
    with open_book(index, lost) as book:
        shown = ask_by_contract(contract, QUESTION, book)
    assert HORN in shown
    assert "Station" not in shown
    assert OIL not in shown


def test_what_is_not_verified_is_shown_with_its_mark_and_the_closest_words(index: Path) -> None:
    with open_book(index, MOSTLY_PROVED.format(UNVERIFIED)) as book:
        reply = book.ask(QUESTION)
    assert isinstance(reply, Answer)
    counts = reply.trace.sentences
    assert (counts.verified, counts.unverified, counts.dropped, counts.is_withheld) == (4, 1, 0, False)
    marked = f"{UNVERIFIED} *{UNVERIFIED_MARK}*"
    assert marked in reply.text
    assert marked in write_content(reply)
    result = AskBookResult.from_reply(reply)
    assert marked in result.text
    assert (result.verification.verified, result.verification.unverified) == (4, 1)
    body = serialize_reply(reply)
    assert [each["label"] for each in body["sentences"]] == ["supported"] * 4 + ["unverified"]
    assert [bool(block["unverified"]) for block in body["blocks"]] == [False, True]
    assert HORN in body["blocks"][1]["unverified"]["closest"]
    assert body["verification"] == {"verified": 4, "unverified": 1, "dropped": 0, "withheld": False}


@pytest.mark.parametrize("is_setting", [True, False])
def test_unverified_sentences_can_be_hidden_and_are_counted_as_left_out(index: Path, is_setting: bool) -> None:
    chosen = {"unverified": "hide"} if is_setting else {}
    with open_book(index, MOSTLY_PROVED.format(UNVERIFIED), **chosen) as book:
        reply = book.ask(QUESTION, hides_unverified=not is_setting)
    assert isinstance(reply, Answer)
    assert reply.words == f"{HORN} {KEEPER} {STAIRS} {OIL}"
    assert (reply.trace.sentences.unverified, reply.trace.sentences.dropped) == (0, 1)


def test_what_is_left_out_is_said(index: Path) -> None:
    with open_book(index, MOSTLY_PROVED.format(FOREIGN)) as book:
        reply = book.ask(QUESTION)
    assert isinstance(reply, Answer)
    note = DROPPED_MESSAGE.format(1)
    assert (reply.words, reply.verification_note) == (f"{HORN} {KEEPER} {STAIRS} {OIL}", note)
    assert write_content(reply).endswith(note)
    assert AskBookResult.from_reply(reply).text.endswith(note)


def test_a_withheld_answer_is_said_and_the_book_is_quoted(index: Path) -> None:
    with open_book(index, f"{FOREIGN} {OIL} {STAIRS} {KEEPER}") as book:
        reply = book.ask(QUESTION)
    assert isinstance(reply, Answer)
    assert reply.trace.sentences.is_withheld
    assert reply.verification_note == WITHHELD_MESSAGE
    assert WITHHELD_MESSAGE in write_content(reply)
    assert serialize_reply(reply)["verification"]["withheld"] is True
    assert HORN in reply.words
    assert OIL not in reply.words


LINES = {
    GERMAN: "Dieses Buch ist auf Englisch. Fragen Sie auf Englisch, oder richten Sie ein Sprachmodell ein.",
    "¿Cuántos segundos suena la bocina en cada minuto?": "Este libro está en inglés. Haz la pregunta en inglés o "
    "configura un modelo de lenguaje.",
    "Pendant combien de secondes la corne sonne-t-elle dans le brouillard ?": "Ce livre est en anglais. Posez la "
    "question en anglais, ou configurez un modèle de langage.",
}


@pytest.mark.parametrize("question", LINES)
def test_without_a_model_a_question_in_another_language_gets_one_true_line(index: Path, question: str) -> None:
    with open_book(index) as book:
        reply = book.ask(question)
        shown = [ask_by_contract(name, question, book) for name in ("chat", "agent", "grounded_agent")]
    assert isinstance(reply, Refusal)
    line = LINES[question]
    body = serialize_reply(reply)
    assert {reply.text, body["note"], body["refusal"]["message"], AskBookResult.from_reply(reply).text} == {line}
    assert {*shown} == {line}
    assert write_content(reply).replace("\\", "") == line
    assert NOT_IN_BOOK_MESSAGE not in str(body)


def test_a_contract_with_a_fixed_refusal_keeps_it_for_another_language(index: Path) -> None:
    with open_book(index) as book:
        assert ask_by_contract("ask", GERMAN, book) == NOT_IN_BOOK_MESSAGE
        assert "does not contain sufficient information" in ask_by_contract("query", GERMAN, book)


def test_with_a_model_the_question_and_the_answer_are_translated(index: Path) -> None:
    events = list[PipelineEvent]()
    with open_book(index, HORN) as book:
        reply = book.ask(GERMAN, on_event=events.append)
    assert isinstance(reply, Answer)
    assert reply.words == "Bei Nebel ertönt das Horn vier Sekunden in jeder Minute."
    assert (reply.trace.completed_question, reply.citations[0].text) == (QUESTION, HORN)
    steps = [event for event in events if isinstance(event, Progress)]
    assert steps == [Progress.UNDERSTANDING, Progress.WRITING, Progress.TRANSLATING]
