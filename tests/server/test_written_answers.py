"""A real server with a language model: when each sentence arrives, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest
from tests.server.server_process import ServerProcess, run_server_process

from bookbound import bootstrap
from bookbound.settings import Settings
from bookbound.testing.scripted_services import ScriptedServices, StreamedReply

HORN = "In fog the horn sounds for four seconds in every minute."
KEEPER = "The keeper writes down at which hour the horn was started."
QUESTION = "For how many seconds in every minute does the horn sound in fog?"


@pytest.fixture(scope="module")
def services() -> Iterator[ScriptedServices]:
    with ScriptedServices() as services:
        yield services


@pytest.fixture(scope="module")
def server(services: ScriptedServices, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("written")
    (source := folder / "source").mkdir()
    (source / "horn.md").write_text(f"# The fog horn\n\n{HORN} {KEEPER}\n", encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    settings = {"index": folder / "index", "answer_threshold": 0.0}
    settings |= {"llm_model": "m-1", "llm_url": services.openai_url, "llm_api": "chat"}
    with run_server_process(settings, folder / "log") as server:
        yield server


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/answers", {"question": QUESTION}),
        (
            "/v1/chat/completions",
            {"model": "bookbound", "messages": [{"role": "user", "content": QUESTION}], "stream": True},
        ),
    ],
)
def test_a_verified_sentence_arrives_before_the_model_ends(
    server: ServerProcess, services: ScriptedServices, path: str, body: dict[str, Any]
) -> None:
    may_go_on = Event()
    services.reply_with(StreamedReply(f"{HORN} {KEEPER[:12]}", may_go_on, KEEPER[12:]))
    headers = {"Accept": "text/event-stream"}
    with server.client.stream("POST", path, json=body, headers=headers, timeout=60) as response:
        lines = response.iter_lines()
        before = list[str]()
        for line in lines:
            before.append(line)
            if HORN in line and ("sentence" in before[-2] or "content" in line):
                break
        else:
            raise AssertionError("the sentence did not arrive")
        may_go_on.set()  # only now may the model go on
        rest = "\n".join(lines)
    assert '"writing"' in "\n".join(before)
    assert KEEPER not in before[-1]
    assert KEEPER in rest


def test_each_step_of_a_language_model_is_an_event(server: ServerProcess, services: ScriptedServices) -> None:
    def reply(request: dict[str, Any]) -> str:
        text = str(request["messages"])
        if "You prepare readers" in text:
            return QUESTION
        return "1. Vier Sekunden." if "Translate each numbered line" in text else HORN

    services.reply_with(reply, reply, reply)
    body = {"question": "Wie viele Sekunden lang ertönt das Horn in jeder Minute?"}
    response = server.client.post("/v1/answers", json=body, headers={"Accept": "text/event-stream"}, timeout=60)
    events = [event.split("\n") for event in response.text.strip().split("\n\n")]
    names = [name.removeprefix("event: ") for name, _ in events]
    steps = [json.loads(data.removeprefix("data: "))["step"] for name, data in events if name == "event: progress"]
    assert steps == ["understanding", "writing", "translating"]
    assert names[:2] == ["progress", "question"]
    assert names[-2:] == ["sentence", "reply"]
    assert json.loads(events[-2][1].removeprefix("data: "))["text"] == "Vier Sekunden."


def test_a_model_that_fails_while_it_translates_leaves_the_answer_in_the_language_of_the_book(
    server: ServerProcess, services: ScriptedServices
) -> None:
    services.reply_with(lambda _: QUESTION, lambda _: HORN, lambda _: "I cannot do that.")
    body = {"question": "Wie viele Sekunden lang ertönt das Horn in jeder Minute?"}
    reply = server.client.post("/v1/answers", json=body, timeout=60).json()
    assert (reply["status"], reply["answer"]) == ("answered", HORN)
