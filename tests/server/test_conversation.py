"""Follow-ups over HTTP, with a real server: they are completed, and nothing of the conversation is stored."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import Scripted
from tests.server.server_process import read_files, run_server_process

from bookbound.server.query_log import log_folder
from bookbound.testing import make_refusal

ASKED, FOLLOW_UP = "What is a strain wave gear?", "What are its three parts?"
COMPLETED = "What are a strain wave gear's three parts?"
EARLIER_ANSWER = "Quorrelwick told me about gears."
CONVERSATION = [{"question": "Who is Vantongeren?"}, {"question": ASKED, "answer": EARLIER_ANSWER}]
MESSAGES = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": EARLIER_ANSWER}]


@dataclass
class Outcome:
    """The replies to the follow-up, and every byte that the server wrote."""

    replies: dict[str, httpx.Response]
    stored: bytes


@pytest.fixture(scope="module")
def outcome(example_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("conversation")
    index = shutil.copytree(example_index, folder / "index")
    with run_server_process({"index": index}, folder / "output") as server:
        ours = {"question": FOLLOW_UP, "conversation": CONVERSATION}
        stream = {"Accept": "text/event-stream"}
        replies = {
            "v1": server.client.post("/v1/answers", json=ours),
            "stream": server.client.post("/v1/answers", json=ours, headers=stream),
            "alone": server.client.post("/v1/answers", json={"question": ASKED, "conversation": CONVERSATION}),
            "messages": server.client.post("/chat", json={"question": FOLLOW_UP, "history": MESSAGES}),
            "turns": server.client.post("/chat", json={"question": FOLLOW_UP, "history": CONVERSATION}),
            "no history": server.client.post("/chat", json={"question": ASKED}),
        }
    return Outcome(replies, (folder / "output").read_bytes() + read_files(log_folder(index)))


def test_a_follow_up_is_completed_and_answered(outcome: Outcome) -> None:
    reply = outcome.replies["v1"].json()
    assert (reply["status"], reply["completed_question"]) == ("answered", COMPLETED)
    assert "flexspline" in reply["answer"]


def test_a_question_that_stands_alone_is_not_changed(outcome: Outcome) -> None:
    assert outcome.replies["alone"].json()["completed_question"] is None


def test_a_stream_begins_with_the_completed_question(outcome: Outcome) -> None:
    first, *_, last = (event.split("\n") for event in outcome.replies["stream"].text.strip().split("\n\n"))
    assert first[0] == "event: question"
    assert json.loads(first[1].removeprefix("data: ")) == {"completed_question": COMPLETED}
    assert json.loads(last[1].removeprefix("data: "))["completed_question"] == COMPLETED


@pytest.mark.parametrize("shape", ["messages", "turns"])
def test_chat_completes_a_follow_up_from_its_history(outcome: Outcome, shape: str) -> None:
    reply = outcome.replies[shape].json()
    assert reply["metadata"]["completed_question"] == COMPLETED
    assert "flexspline" in reply["answer"]


def test_chat_without_history_replies_as_its_contract_says(outcome: Outcome) -> None:
    metadata: dict[str, Any] = outcome.replies["no history"].json()["metadata"]
    assert metadata.keys() == {"request_id", "processing_time_ms", "retrieval_count", "model_used"}


def test_the_log_keeps_the_question_as_it_was_typed_and_nothing_of_the_conversation(outcome: Outcome) -> None:
    assert FOLLOW_UP.encode() in outcome.stored
    for words in (COMPLETED, EARLIER_ANSWER, "Vantongeren"):
        assert words.encode() not in outcome.stored


@pytest.mark.parametrize(
    ("conversation", "field"),
    [
        ([{"question": "What?"}] * 11, "conversation"),
        ([{"question": " "}], "conversation.0.question"),
        ([{"question": "x" * 2001}], "conversation.0.question"),
        ([{"question": "What?", "answer": "x" * 10_001}], "conversation.0.answer"),
        ([{"question": "What?", "role": "user"}], "conversation.0.role"),
        ("What?", "conversation"),
    ],
)
def test_a_conversation_that_breaks_a_rule_is_invalid(scripted: Scripted, conversation: Any, field: str) -> None:
    response = scripted(make_refusal()).post("/v1/answers", json={"question": "Why?", "conversation": conversation})
    assert response.status_code == 422
    assert [problem["field"] for problem in response.json()["error"]["fields"]] == [field]
