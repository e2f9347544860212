"""Tests that no private data of readers is in the files, logs or metrics of a server.

Each situation has its own server process, and both run at once.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.query_log.conftest import run_postgres
from tests.server.server_process import ServerProcess, read_files, run_server_process
from tests.servers.backend_servers import wait_until

from bookbound import bootstrap
from bookbound.server import api_keys
from bookbound.server.api_keys import ApiKey, KeyKind
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings

# The first of them asks a server on every way there is.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
HORN = "In fog the horn of Quorrelwick sounds for four seconds in every minute."
KEEPER = "The keeper Vantongeren writes down in the log book at which hour the horn was started."
BOOK = f"# Lighthouse\n\n## The fog horn\n\n{HORN}\n{KEEPER}\n"
BELL = "At noon the bell of Zwickelmoor rings twelve times."
ASKED = "for how many seconds in every minute does the horn sound in fog?"
AT_NOON = "how often does the bell ring at noon?"
PEER, FORWARDED, SESSION = "127.83.19.7", "198.51.100.147", "550e8400-e29b-41d4-a716-446655440000"
INVALID, WRONG_KEY, MODEL_KEY = "Ummenschlag", "bookbound_admin_Fensterkitt", "Kettensprenger"
AGENT, PAGE, COOKIE = "Wanderfalke/1.0", "https://book.example/Nebelbank", "Rosinenbrot"
STREAM = "/v1/answers as a stream"
PATHS = ("/ask", "/chat", "/api/v1/chat", "/api/query", "/v1/query", "/v1/answers", STREAM)


@dataclass
class StoredData:
    """The replies of a server, and every byte that it wrote, by place."""

    key: str
    replies: list[httpx.Response] = field(default_factory=list)
    bytes: dict[str, bytes] = field(default_factory=dict)

    @property
    def secrets(self) -> dict[str, str]:
        book = {"answer": "Quorrelwick", "passage": "Vantongeren", "selection": "Zwickelmoor"}
        keys = {"key": self.key, "wrong key": WRONG_KEY, "key of the model": MODEL_KEY}
        sent = {"agent": AGENT, "page": PAGE, "cookie": COOKIE, "invalid": INVALID}
        return book | keys | sent | {"peer": PEER, "forwarded": FORWARDED}


def ask(client: httpx.Client, path: str, question: str, selection: str | None = None) -> httpx.Response:
    headers = {"Accept": "text/event-stream"} if path == STREAM else {}
    body: dict[str, Any] = {"query" if "query" in path else "question": question}
    if selection:
        body["selection" if path.startswith("/v1/answers") else "selected_text"] = selection
    if "query" in path:
        body["session_id"] = SESSION
    return client.post(path.partition(" ")[0], json=body, headers=headers)


def ask_everywhere(client: httpx.Client) -> list[httpx.Response]:
    """Ask one question to the book and one to a selection over each path."""
    questions = [((path, f"{path}: {ASKED}"), (path, f"{path}: {AT_NOON}", BELL)) for path in PATHS]
    return [ask(client, *question) for pair in questions for question in pair]


def send_invalid_requests(client: httpx.Client) -> list[httpx.Response]:
    """Send requests that are rejected, each with words that must not be stored."""
    json = {"Content-Type": "application/json"}
    rejected = [
        *(ask(client, path, INVALID * 500) for path in PATHS),
        *(ask(client, path, " ", INVALID) for path in PATHS),
        client.post("/ask", content=f'{{"question": "{INVALID}', headers=json),
        client.post("/ask", content=INVALID, headers={"Content-Type": "text/plain"}),
        client.post("/ask", json={"question": INVALID * 20_000}),
        client.get("/ask", params={"question": INVALID}),
        client.post(f"/{INVALID}", json={"question": INVALID}),
        client.post("/ask", json={"question": INVALID}, headers={"X-API-Key": WRONG_KEY}),
        client.post("/ask", json={"question": INVALID}, headers={"Authorization": f"Bearer {WRONG_KEY}"}),
    ]
    assert {response.status_code // 100 for response in rejected} == {4}
    return rejected


class KeyedServerFolder:
    """A copy of an index with a key, and the settings to serve it."""

    def __init__(self, index: Path, folder: Path, **settings: Any) -> None:
        folder.mkdir()
        self.index = shutil.copytree(index, folder / "index")
        self.output, self.keys = folder / "output", folder / "keys.json"
        key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", ["*"])
        api_keys.add_key(self.keys, key)
        self.settings = {
            "index": self.index,
            "key_file": self.keys,
            "access_mode": "keys",
            "answer_threshold": 0.0,
            **settings,
        }
        self.stored = StoredData(secret)

    def ask(self, server: ServerProcess, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Ask over every path, with valid and invalid requests, and read the metrics."""
        sent = {"X-Forwarded-For": FORWARDED, "User-Agent": AGENT, "Referer": PAGE, "Cookie": f"a={COOKIE}"}
        server.client.headers.update(sent | {"Authorization": f"Bearer {self.stored.key}"})
        send_invalid_requests(server.client)
        self.stored.replies += ask_everywhere(server.client)
        meanwhile()
        self.stored.replies.append(ask(server.client, "/v1/answers", ASKED))
        metrics = server.client.get("/metrics")
        assert metrics.status_code == 200
        self.stored.bytes["metrics"] = metrics.content

    def collect(self, database: Path) -> StoredData:
        self.stored.bytes["logs"] = self.output.read_bytes()
        self.stored.bytes["database"] = read_files(database)
        self.stored.bytes["next to the index"] = read_files(log_folder(self.index))
        return self.stored


def sqlite_log(index: Path, folder: Path) -> StoredData:
    """SQLite, readable logs and two workers behind a trusted proxy."""
    place = KeyedServerFolder(index, folder, log_format="pretty", trusted_proxies="127.0.0.0/8")
    with run_server_process(place.settings, place.output, "--workers", "2", address=PEER) as server:
        place.ask(server, lambda: wait_until(lambda: b"seconds" in read_files(log_folder(place.index))))
        place.stored.bytes["while it runs"] = read_files(log_folder(place.index))
    return place.collect(log_folder(place.index))


def postgres_log(index: Path, folder: Path) -> StoredData:
    """PostgreSQL that crashes, JSON logs and an unreachable language model."""
    with run_postgres() as postgres, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        model = {"llm_model": "x", "llm_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "llm_key": MODEL_KEY}
        place = KeyedServerFolder(index, folder, log_format="json", query_log_url=postgres.database(), **model)
        with run_server_process(place.settings, place.output, address=PEER) as server:
            place.ask(server, postgres.crash)
            postgres.start()
        postgres.sql("CHECKPOINT")
        return place.collect(postgres.folder)


Situation = Callable[[Path, Path], StoredData]
SITUATIONS: tuple[Situation, ...] = (sqlite_log, postgres_log)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Situation, Future[StoredData]]]:
    """The outcome of each situation; both run at once."""
    folder = tmp_path_factory.mktemp("privacy")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    with ThreadPoolExecutor(len(SITUATIONS)) as runs:
        yield {each: runs.submit(each, folder / "index", folder / each.__name__) for each in SITUATIONS}


@pytest.fixture(params=SITUATIONS, ids=lambda each: each.__name__)
def stored(request: pytest.FixtureRequest, outcomes: dict[Situation, Future[StoredData]]) -> StoredData:
    return outcomes[request.param].result()


def test_replies_contain_the_words_that_must_not_be_stored(stored: StoredData) -> None:
    ours = [response for response in stored.replies if response.request.url.path == "/v1/answers"]
    assert {response.status_code for response in ours} == {200}
    assert ["Quorrelwick" in response.text for response in ours] == [True, False, True, False, True]
    assert ["Zwickelmoor" in response.text for response in ours] == [False, True, False, True, False]
    assert "Vantongeren" in ours[0].text


def test_every_path_answers_and_the_contracts_fail_without_their_model(
    outcomes: dict[Situation, Future[StoredData]],
) -> None:
    sqlite_statuses, postgres_statuses = (
        {reply.status_code for reply in outcomes[each].result().replies} for each in SITUATIONS
    )
    assert (sqlite_statuses, postgres_statuses) == ({200}, {200, 503})


def test_no_secret_of_a_reader_is_stored_anywhere(stored: StoredData) -> None:
    found = [
        f"{name} in {location}"
        for location, content in stored.bytes.items()
        for name, secret in stored.secrets.items()
        if secret.encode() in content
    ]
    assert found == []


def test_a_question_is_in_the_database_and_nowhere_else(stored: StoredData) -> None:
    assert {location for location, content in stored.bytes.items() if ASKED.encode() in content} >= {"database"}
    other_locations = {"logs", "metrics"}
    assert [location for location in other_locations if b"horn sound" in stored.bytes[location]] == []


def test_every_place_that_was_searched_had_content(stored: StoredData) -> None:
    assert all(stored.bytes[location] for location in ("logs", "metrics", "database"))
    assert b"bookbound_questions_total" in stored.bytes["metrics"]
    assert stored.bytes["logs"].count(b"\n") > len(stored.replies)
