"""Tests the real server in its own process on a real port."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

Served = Callable[..., AbstractContextManager[str]]
OPENAI_GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "use-openai-clients.md"
QUESTION = "What are the three parts of a strain wave gear?"


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with served(BOOKBOUND_READER="strong") as address, httpx.Client(base_url=address, timeout=30) as client:
        yield client


def test_all_contracts_use_the_same_passages(client: httpx.Client) -> None:
    ours = client.post("/v1/answers", json={"question": QUESTION}).json()
    ask = client.post("/ask", json={"question": QUESTION}).json()
    chat = client.post("/chat", json={"question": QUESTION}).json()
    query = client.post("/api/query", json={"query": QUESTION}).json()
    used = list(dict.fromkeys(citation["chunk_id"] for citation in ours["citations"]))
    assert set(ask["sources"]) == {citation["chunk_id"] for citation in chat["citations"]} == set(used)
    assert ask["answer"] == query["answer"]["text"] == ours["answer"]
    assert re.sub(r"\s*\[Source: .*?\]\(.*?\)", "", chat["answer"]).split() == ours["answer"].split()
    sections = {citation["section"] for citation in ours["citations"]}
    assert {citation["section"] for citation in query["answer"]["citations"]} == sections


def test_the_python_and_the_request_of_the_openai_guide_work(client: httpx.Client, tmp_path: Path) -> None:
    address, page = "http://127.0.0.1:8000", OPENAI_GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for code in blocks:
        command = [
            sys.executable,
            "-W",
            "error",
            "-c",
            code.replace(address, f"http://{client.base_url.netloc.decode()}"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), code
        assert "](https://bookbound.example/docs/" in done.stdout, code
    (path,) = re.findall(rf"^curl -s {address}(\S+)$", page, re.MULTILINE)
    assert [model["id"] for model in client.get(path).json()["data"]] == ["bookbound"]


@pytest.mark.parametrize("question", [QUESTION, "What is this book about?", "What is a topic, and what is a service?"])
def test_a_stream_of_openai_has_the_content_of_the_whole_reply(client: httpx.Client, question: str) -> None:
    with openai.OpenAI(base_url=f"{client.base_url}/v1", api_key="none", timeout=60) as openai_client:
        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
        whole = openai_client.chat.completions.create(model="bookbound", messages=messages)
        chunks = openai_client.chat.completions.create(model="bookbound", messages=messages, stream=True)
        content = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert content == whole.choices[0].message.content
    assert (whole.model_extra or {})["status"] == "answered"


def test_every_contract_refuses_what_the_book_does_not_answer(client: httpx.Client) -> None:
    request = "Who won the 2022 football world cup?"
    assert client.post("/ask", json={"question": request}).json()["grounded"] is False
    assert client.post("/chat", json={"question": request}).json()["citations"] == []
    assert client.post("/api/query", json={"query": request}).json()["status"] == "refused"
    assert client.post("/v1/answers", json={"question": request}).json()["status"] == "refused"


def test_citations_link_to_their_quotes(client: httpx.Client, example_book: Path) -> None:
    for citation in client.post("/v1/answers", json={"question": QUESTION}).json()["citations"]:
        assert citation["url"].startswith("https://bookbound.example/docs/")
        assert citation["link"].startswith(citation["url"] + ":~:text=")
        source = (example_book / citation["file"]).read_text()[citation["start"] : citation["end"]]
        assert source.split()[0] == citation["quote"].split()[0]


def test_a_stream_has_passages_then_sentences_then_the_reply(client: httpx.Client) -> None:
    headers = {"Accept": "text/event-stream"}
    response = client.post("/v1/answers", json={"question": QUESTION}, headers=headers)
    assert response.headers["content-type"].startswith("text/event-stream")
    events = re.findall(r"event: (\w+)\ndata: (.*)\n\n", response.text)
    names = [name for name, _ in events]
    assert names[:2] == ["retrieval", "judgement"]
    assert names[2:] == ["sentence"] * (len(names) - 3) + ["reply"]
    reply = json.loads(events[-1][1])
    assert [json.loads(data) for name, data in events if name == "sentence"] == reply["sentences"]


def test_a_stream_of_an_invalid_question_is_an_error_with_its_status(client: httpx.Client) -> None:
    response = client.post("/v1/answers", json={"question": " "}, headers={"Accept": "text/event-stream"})
    assert response.status_code == 422


def test_search_book_and_health_describe_the_served_book(client: httpx.Client) -> None:
    book = client.get("/v1/book").json()
    assert book["title"] == "Physical AI: A Field Guide to Humanoid Robots"
    assert sum(chapter["chunks"] for chapter in book["chapters"]) == book["chunks"]
    found = client.post("/v1/search", json={"query": "gear", "k": 3}).json()
    assert [passage["rank"] for passage in found["passages"]] == [1, 2, 3]
    assert found["generation"] == book["generation"]
    ready = client.get("/health/ready").json()
    assert ready["status"] == "ready"
    assert set(ready["parts"]) == {"embedder", "index"}


def test_a_selection_is_answered_from_the_selection_with_its_place(client: httpx.Client) -> None:
    passage = client.post("/v1/search", json={"query": QUESTION, "k": 1}).json()["passages"][0]
    selection = passage["text"][:400]
    ask = client.post("/ask", json={"question": "What does this mean?", "selected_text": selection}).json()
    assert (ask["sources"], ask["retrieval_quality"]) == (["selected_text"], None)
    query = client.post("/api/query", json={"query": "What does this mean?", "selected_text": selection}).json()
    assert query["answer"]["mode"] == "selected_text_only"
    assert query["answer"]["citations"][0]["section"] == passage["section"]


@pytest.mark.slow
def test_several_workers_serve_one_index_to_many_clients(served: Served) -> None:
    with served("--workers", "2") as address, httpx.Client(base_url=address, timeout=60) as client:

        def ask(_: int) -> tuple[int, str]:
            response = client.post("/v1/answers", json={"question": QUESTION})
            return response.status_code, response.json()["answer"]

        with ThreadPoolExecutor(8) as clients:
            assert len(set(clients.map(ask, range(24)))) == 1


@pytest.mark.slow
def test_a_full_queue_is_503_at_once_with_retry_after(served: Served) -> None:
    with served(BOOKBOUND_MAX_CONCURRENCY="1", BOOKBOUND_MAX_QUEUE="0") as address:

        def ask(_: int) -> httpx.Response:
            return httpx.post(f"{address}/v1/answers", json={"question": QUESTION}, timeout=60)

        with ThreadPoolExecutor(16) as clients:
            responses = list(clients.map(ask, range(48)))
    assert {response.status_code for response in responses} == {200, 503}
    assert all(r.headers["Retry-After"] == "1" for r in responses if r.status_code == 503)


@pytest.mark.slow
def test_a_used_port_and_a_missing_index_end_the_command_before_serving(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for options, words in ((["--port", port], f"Port {port}"), (["--port", "0"], "bookbound index")):
            command = [sys.executable, "-m", "bookbound", "serve", "--index", str(tmp_path / "none"), *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout) == (2, "")
            assert words in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_the_server_quietly(example_index: Path) -> None:
    command = [sys.executable, "-u", "-m", "bookbound", "serve", "--index", str(example_index), "--port", "0"]
    environment = os.environ | {"BOOKBOUND_READER": "fast"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    address = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
    assert address
    assert httpx.get(f"{address[0]}/health", timeout=30).status_code == 200
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert "Traceback" not in error
    assert process.returncode == 0
