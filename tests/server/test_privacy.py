"""What readers trust a server with is nowhere but where it must be: not in its files, its lines or its figures.

Each situation is a server in a process of its own, asked while the other is asked in its own.
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
from tests.server.process import Served, served
from tests.server.query_log.conftest import running
from tests.server.query_log.entries import until

from bookbound import bootstrap
from bookbound.server import api_keys
from bookbound.server.api_keys import ApiKey, KeyKind
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings

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
class Left:
    """What a server replied, and every byte that it left anywhere, by where that was."""

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


def every_way(client: httpx.Client) -> list[httpx.Response]:
    """One question to the book and one to a selection by each way."""
    return [
        ask(client, path, *asked) for path in PATHS for asked in ((f"{path}: {ASKED}",), (f"{path}: {AT_NOON}", BELL))
    ]


def wrong_ways(client: httpx.Client) -> list[httpx.Response]:
    """What is turned away, each time with words that nobody should keep."""
    json = {"Content-Type": "application/json"}
    sent = [
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
    assert {response.status_code // 100 for response in sent} == {4}
    return sent


class Place:
    """An index by itself with a key to it, and the settings to serve it with."""

    def __init__(self, index: Path, folder: Path, **chosen: Any) -> None:
        folder.mkdir()
        self.index = shutil.copytree(index, folder / "index")
        self.output, self.keys = folder / "output", folder / "keys.json"
        key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", ["*"])
        api_keys.add_key(self.keys, key)
        self.chosen = {"index": self.index, "keys": self.keys, "access": "keys", "answered": 0.0, **chosen}
        self.left = Left(secret)

    def ask(self, server: Served, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Ask in every way, right and wrong, and look at the figures and at what waits to be written."""
        sent = {"X-Forwarded-For": FORWARDED, "User-Agent": AGENT, "Referer": PAGE, "Cookie": f"a={COOKIE}"}
        server.client.headers.update(sent | {"Authorization": f"Bearer {self.left.key}"})
        wrong_ways(server.client)
        self.left.replies += every_way(server.client)
        meanwhile()
        self.left.replies.append(ask(server.client, "/v1/answers", ASKED))
        waiting = log_folder(self.index).glob("outstanding-*")
        self.left.bytes["outstanding"] = b"".join(file.read_bytes() for file in waiting)
        figures = server.client.get("/metrics")
        assert figures.status_code == 200
        self.left.bytes["figures"] = figures.content

    def ended(self, database: Path) -> Left:
        self.left.bytes["lines"] = self.output.read_bytes()
        self.left.bytes["database"] = held(database)
        self.left.bytes["beside the index"] = held(log_folder(self.index))
        return self.left


def held(folder: Path) -> bytes:
    """Every byte of the files in a folder."""
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def in_a_file(index: Path, folder: Path) -> Left:
    """SQLite, lines for people, and two processes; the address is whom a trusted proxy saw."""
    place = Place(index, folder, logging="pretty", proxies="127.0.0.0/8")
    with served(place.chosen, place.output, "--workers", "2", address=PEER) as server:
        place.ask(server, lambda: until(lambda: b"seconds" in held(log_folder(place.index))))
        place.left.bytes["while it runs"] = held(log_folder(place.index))
    return place.ended(log_folder(place.index))


def on_a_server(index: Path, folder: Path) -> Left:
    """PostgreSQL, which crashes, lines of JSON, and a language model that cannot be reached."""
    with running() as postgres, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        model = {"model": "x", "model_url": f"http://127.0.0.1:{deaf.getsockname()[1]}/v1", "model_key": MODEL_KEY}
        place = Place(index, folder, logging="json", log_url=postgres.database(), **model)
        with served(place.chosen, place.output, address=PEER) as server:
            place.ask(server, postgres.crash)
            postgres.start()
        postgres.sql("CHECKPOINT")
        return place.ended(postgres.folder)


Situation = Callable[[Path, Path], Left]
SITUATIONS: tuple[Situation, ...] = (in_a_file, on_a_server)


@pytest.fixture(scope="module")
def lefts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Situation, Future[Left]]]:
    """What came of each situation; both are under way at once."""
    folder = tmp_path_factory.mktemp("privacy")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    with ThreadPoolExecutor(len(SITUATIONS)) as runs:
        yield {each: runs.submit(each, folder / "index", folder / each.__name__) for each in SITUATIONS}


@pytest.fixture(params=SITUATIONS, ids=lambda each: each.__name__)
def left(request: pytest.FixtureRequest, lefts: dict[Situation, Future[Left]]) -> Left:
    return lefts[request.param].result()


def test_replies_hold_the_words_that_must_not_be_kept(left: Left) -> None:
    ours = [response for response in left.replies if response.request.url.path == "/v1/answers"]
    assert {response.status_code for response in ours} == {200}
    assert ["Quorrelwick" in response.text for response in ours] == [True, False, True, False, True]
    assert ["Zwickelmoor" in response.text for response in ours] == [False, True, False, True, False]
    assert "Vantongeren" in ours[0].text


def test_every_way_is_answered_where_all_is_well_and_the_contracts_fail_without_their_model(
    lefts: dict[Situation, Future[Left]],
) -> None:
    well, ill = ({reply.status_code for reply in lefts[each].result().replies} for each in SITUATIONS)
    assert (well, ill) == ({200}, {200, 503})


def test_nothing_that_a_reader_trusts_us_with_is_left_anywhere(left: Left) -> None:
    found = [
        f"{name} in {where}"
        for where, words in left.bytes.items()
        for name, secret in left.secrets.items()
        if secret.encode() in words
    ]
    assert found == []


def test_a_question_is_in_the_database_and_nowhere_else(left: Left) -> None:
    assert {where for where, words in left.bytes.items() if ASKED.encode() in words} >= {"database"}
    elsewhere = {"lines", "figures", "outstanding"}
    assert [where for where in elsewhere if b"horn sound" in left.bytes[where]] == []


def test_each_place_was_looked_at_while_it_held_something(left: Left) -> None:
    assert all(left.bytes[where] for where in ("lines", "figures", "outstanding", "database"))
    assert b"bookbound_questions_total" in left.bytes["figures"]
    assert left.bytes["lines"].count(b"\n") > len(left.replies)
