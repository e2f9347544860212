"""Each question that the real server is asked is logged once, whatever becomes of the log, and nothing else is.

Each situation is a server in a process of its own, asked while the others are asked in theirs.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import httpx
import pytest
from sqlalchemy import text
from tests.server.process import served
from tests.server.query_log.conftest import running

from bookbound import bootstrap
from bookbound.domain.book_ref import BookRef
from bookbound.filesystem.private_files import user_temp_folder
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.address_hash import make_address_hasher
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.unflushed import parse_unflushed
from bookbound.settings import Settings

HORN = "In fog the horn of Quorrelwick sounds for four seconds in every minute."
KEEPER = "The keeper Vantongeren writes down in the log book at which hour the horn was started."
BOOK = f"# Lighthouse\n\n## The fog horn\n\n{HORN}\n{KEEPER}\n"
BELL = "At noon the bell of Zwickelmoor rings twelve times."
ADDRESS, SESSION = "127.83.19.7", "550e8400-e29b-41d4-a716-446655440000"
INVALID, KEY, PASSWORD = "Ummenschlag", "Kettensprenger-0123456789", "Obsidianschluessel"
SECRETS = ("Quorrelwick", "Vantongeren", "Zwickelmoor", ADDRESS, INVALID, KEY, PASSWORD)

STREAM = "/v1/answers as a stream"
PATHS = ("/ask", "/chat", "/api/v1/chat", "/api/query", "/v1/query", "/v1/answers", STREAM)
IN_FOG = "for how many seconds in every minute does the horn sound in fog?"
AT_NOON = "how often does the bell ring at noon?"
ELSEWHERE = "which composer wrote the opera about a flying Dutchman?"


@dataclass
class Outcome:
    """What a server answered, what is in the log once it has ended, and everything that it wrote anywhere."""

    responses: list[httpx.Response]
    asked: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    files: bytes = b""
    names: set[str] = field(default_factory=set)
    volumes: dict[str, BookRef] = field(default_factory=dict)

    @property
    def logged(self) -> Counter[str]:
        return Counter(row["query_text"] for row in self.rows)


def words(path: str, turn: int = 1, question: str = IN_FOG) -> str:
    """A question that is asked once, by one way."""
    return f"Reader {turn} at {path}: {question}"


def ask(client: httpx.Client, path: str, question: str, selection: str | None = None) -> httpx.Response:
    headers = {"Accept": "text/event-stream"} if path == STREAM else {}
    named = "query" if "query" in path else "question"
    body = {named: question, "selection" if path.startswith("/v1/answers") else "selected_text": selection}
    body |= {"session_id": SESSION} if "query" in path else {}
    return client.post(path.partition(" ")[0], json=body, headers=headers)


def every_way(client: httpx.Client, turn: int = 1) -> Outcome:
    """One question by each way, two to a selection and one that the book does not answer."""
    questions: list[tuple[str, str, str | None]] = [(path, words(path, turn), None) for path in PATHS]
    questions += [(path, words(path, turn, AT_NOON), BELL) for path in ("/ask", "/api/query")]
    questions += [("/v1/query", words("/v1/query", turn, ELSEWHERE), None)]
    return Outcome([ask(client, *each) for each in questions], [question for _, question, _ in questions])


def no_questions(client: httpx.Client) -> list[httpx.Response]:
    """What is no question to the book: requests that are refused, and those for something else."""
    json = {"Content-Type": "application/json"}
    wrong = [
        client.post(path.partition(" ")[0], json={name: value})
        for path in PATHS
        for name in ("question", "query")
        for value in (" ", [INVALID], f"{INVALID} " * 300)
    ]
    wrong += [
        client.post("/ask", content=f'{{"question": "{INVALID}', headers=json),
        client.post("/ask", content=INVALID, headers={"Content-Type": "text/plain"}),
        client.post("/ask", json={"question": INVALID * 20_000}),
        client.post("/v1/answers", json={"question": INVALID, "k": 0}),
        client.post(
            "/v1/answers", json={"question": INVALID, "threshold": 2.0}, headers={"Accept": "text/event-stream"}
        ),
        client.get("/ask", params={"question": INVALID}),
        client.post(f"/{INVALID}", json={"question": INVALID}),
    ]
    assert {response.status_code // 100 for response in wrong} == {4}
    return [client.post("/v1/search", json={"query": INVALID}), client.get("/health/ready"), client.get("/v1/book")]


class Place:
    """An index by itself, the settings to serve it with, and what the server left there."""

    def __init__(self, index: Path, folder: Path, **chosen: Any) -> None:
        folder.mkdir()
        self.folder, self.index = folder, shutil.copytree(index, folder / "index")
        self.chosen = {"index": self.index, "answered": 0.0, **chosen}
        self.output = folder / "output"

    def read(self, outcome: Outcome, url: str | None = None) -> Outcome:
        """The outcome with what is in the log and in the files beside the index."""
        database = QueryLogDatabase(url, log_folder(self.index))
        try:
            with database.read() as connection:
                found = (connection.execute(text(f"SELECT * FROM {name}")) for name in ("queries", "query_sessions"))
                outcome.rows, outcome.sessions = ([dict(row) for row in rows.mappings()] for rows in found)
                named = connection.execute(
                    text("SELECT query_text, book, edition FROM queries NATURAL JOIN query_volumes")
                )
                outcome.volumes = {question: BookRef(*volume) for question, *volume in named}
        finally:
            database.close()
        return self.told(outcome)

    def told(self, outcome: Outcome) -> Outcome:
        outcome.output = self.output.read_text()
        outcome.names = {file.name for file in self.folder.iterdir()} - {"index", "output"}
        return outcome


def usual(index: Path, folder: Path) -> Outcome:
    """A SQLite file in its usual place."""
    place = Place(index, folder)
    with served(place.chosen, place.output, address=ADDRESS) as server:
        outcome = every_way(server.client)
        assert {response.status_code for response in no_questions(server.client)} == {200}
    outcome.files = held(log_folder(place.index))
    return place.read(outcome)


def on_a_server(index: Path, folder: Path) -> Outcome:
    """PostgreSQL, which crashes and is away while questions are asked."""
    with running() as postgres:
        url = postgres.database()
        place = Place(index, folder, log_url=url, log_key=KEY)
        with served(place.chosen, place.output, address=ADDRESS) as server:
            outcome = every_way(server.client)
            no_questions(server.client)
            postgres.crash()
            meanwhile = every_way(server.client, turn=2)
            postgres.start()
        outcome.responses += meanwhile.responses
        outcome.asked += meanwhile.asked
        postgres.sql("CHECKPOINT")
        outcome.files = held(postgres.folder)
        return place.read(outcome, url)


def several(index: Path, folder: Path) -> Outcome:
    """Two processes that write one file."""
    place = Place(index, folder)
    asked = [words("/v1/answers", turn) for turn in range(24)]
    with served(place.chosen, place.output, "--workers", "2") as server, ThreadPoolExecutor(8) as readers:
        url = server.client.base_url

        def one(question: str) -> httpx.Response:
            with httpx.Client(base_url=url, timeout=60) as client:
                return ask(client, "/v1/answers", question)

        responses = list(readers.map(one, asked))
    return place.read(Outcome(responses, asked))


def interrupted(index: Path, folder: Path) -> Outcome:
    """A server that is told to end as soon as it has answered the first of many who ask at once."""
    place = Place(index, folder, at_once=1)
    connected, answered = Barrier(8), Event()
    with served(place.chosen, place.output) as server, ThreadPoolExecutor(8) as readers:

        def one(turn: int) -> httpx.Response | None:
            with httpx.Client(base_url=server.client.base_url, timeout=60) as client:
                client.get("/health")
                connected.wait()
                try:
                    return ask(client, PATHS[turn % len(PATHS)], words("any", turn))
                except httpx.TransportError:
                    return None
                finally:
                    answered.set()

        asking = {words("any", turn): readers.submit(one, turn) for turn in range(8)}
        answered.wait()
        server.process.terminate()
        came = {question: response for question, each in asking.items() if (response := each.result())}
    return place.read(Outcome(list(came.values()), list(came)))


def dead(index: Path, folder: Path) -> Outcome:
    """A database that was never there."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        url = f"postgresql://keeper:{PASSWORD}@127.0.0.1:{deaf.getsockname()[1]}/log"
        place = Place(index, folder, log_url=url)
        with served(place.chosen, place.output) as server:
            outcome = every_way(server.client)
    return place.told(outcome)


def unwritable(index: Path, folder: Path) -> Outcome:
    """A place for the log that cannot be written."""
    place = Place(index, folder)
    log_folder(place.index).write_text("in the way")
    with served(place.chosen, place.output) as server:
        outcome = every_way(server.client)
    (left,) = user_temp_folder().glob(f"outstanding-{QueryLogDatabase(None, log_folder(place.index)).name}-*")
    outcome.files = left.read_bytes()
    left.unlink()
    return place.told(outcome)


def off(index: Path, folder: Path) -> Outcome:
    """No log."""
    place = Place(index, folder, log="off")
    with served(place.chosen, place.output) as server:
        outcome = every_way(server.client)
    return place.told(outcome)


BOOKS = {
    "/ask": None,
    "/books/coast/ask": BookRef("coast", "2.0"),
    "/books/coast/chat": BookRef("coast", "2.0"),
    "/books/coast@1.0/api/query": BookRef("coast", "1.0"),
    "/books/all/ask": BookRef("all"),
}


def books(index: Path, folder: Path) -> Outcome:
    """A book without a name, two editions of another, and all of them."""
    place = Place(index, folder)
    for edition in ("1.0", "2.0"):
        shutil.copytree(index, place.index / "books" / f"coast@{edition}")
    with served(place.chosen, place.output) as server:
        asked = [words(path) for path in BOOKS]
        responses = [ask(server.client, path, question) for path, question in zip(BOOKS, asked, strict=True)]
        assert ask(server.client, "/books/nowhere/ask", words("nowhere")).status_code == 404
        figures = server.client.get("/metrics").text
    outcome = place.read(Outcome(responses, asked))
    outcome.files = figures.encode()
    return outcome


Situation = Callable[[Path, Path], Outcome]
Outcomes = dict[Situation, Future[Outcome]]
SITUATIONS: tuple[Situation, ...] = (usual, on_a_server, several, interrupted, dead, unwritable, off, books)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """What came of each situation; all of them are under way at once."""
    folder = tmp_path_factory.mktemp("log")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    with ThreadPoolExecutor(len(SITUATIONS)) as runs:
        yield {each: runs.submit(each, folder / "index", folder / each.__name__) for each in SITUATIONS}


def held(folder: Path) -> bytes:
    """Every byte of the files in a folder."""
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.__name__)
def test_every_question_is_answered_whatever_becomes_of_the_log(outcomes: Outcomes, situation: Situation) -> None:
    outcome = outcomes[situation].result()
    assert {response.status_code for response in outcome.responses} == {200}
    assert "Quorrelwick" in outcome.responses[0].text
    assert "Traceback" not in outcome.output


@pytest.mark.parametrize("situation", [usual, on_a_server, several, interrupted, books], ids=lambda each: each.__name__)
def test_every_question_is_logged_once_and_nothing_else_is(outcomes: Outcomes, situation: Situation) -> None:
    outcome = outcomes[situation].result()
    assert outcome.logged == Counter(dict.fromkeys(outcome.asked, 1))
    assert "could not be logged" not in outcome.output


def test_a_question_is_logged_with_the_book_and_the_edition_that_answered(outcomes: Outcomes) -> None:
    outcome = outcomes[books].result()
    assert outcome.volumes == {words(path): volume for path, volume in BOOKS.items() if volume}
    open_ = re.findall(r'bookbound_index_info\{.*volume="([^"]*)".*\} 1.0', outcome.files.decode())
    assert sorted(open_) == ["", "all", "coast@1.0", "coast@2.0"]


def test_what_was_under_way_when_the_server_was_told_to_end_is_answered_and_logged(outcomes: Outcomes) -> None:
    assert len(outcomes[interrupted].result().rows) > 1


@pytest.mark.parametrize("situation", [usual, on_a_server], ids=lambda each: each.__name__)
def test_a_row_says_what_became_of_a_question_and_a_session_how_often_it_asked(
    outcomes: Outcomes, situation: Situation
) -> None:
    outcome = outcomes[situation].result()
    rows = {row["query_text"]: row for row in outcome.rows}
    found = {question: (row["mode"], row["status"], row["selected_text_length"]) for question, row in rows.items()}
    for path in PATHS:
        assert found[words(path)] == ("standard_rag", "success", None)
    assert found[words("/ask", 1, AT_NOON)] == ("selected_text_only", "success", len(BELL))
    assert rows[words("/v1/query", 1, ELSEWHERE)]["refusal_reason"] == "low_relevance"
    (session,) = outcome.sessions
    assert session["query_count"] == sum(row["session_id"] is not None for row in rows.values())
    assert session["query_count"] == sum("query" in question for question in outcome.asked)


@pytest.mark.parametrize("situation", [usual, on_a_server], ids=lambda each: each.__name__)
def test_no_answer_passage_selection_address_or_key_is_in_the_files_or_in_what_the_server_says(
    outcomes: Outcomes, situation: Situation
) -> None:
    outcome = outcomes[situation].result()
    assert "Zwickelmoor" in outcome.responses[len(PATHS)].text
    assert "Vantongeren" in outcome.responses[PATHS.index("/v1/answers")].text
    assert IN_FOG.encode() in outcome.files
    assert [secret for secret in SECRETS if secret.encode() in outcome.files] == []
    assert [secret for secret in (*SECRETS, "Reader 1", SESSION) if secret in outcome.output] == []


def test_an_address_is_kept_under_its_hash(outcomes: Outcomes) -> None:
    (session,) = outcomes[on_a_server].result().sessions
    assert session["user_ip"] == make_address_hasher(KEY.encode())(ADDRESS)
    assert len(outcomes[usual].result().sessions[0]["user_ip"]) == 43


@pytest.mark.parametrize("situation", [dead, unwritable], ids=lambda each: each.__name__)
def test_what_cannot_be_logged_is_told_at_the_start_and_counted_at_the_end(
    outcomes: Outcomes, situation: Situation
) -> None:
    outcome = outcomes[situation].result()
    count = len(outcome.asked)
    assert "Warning: Questions are answered, but cannot be logged yet." in " ".join(outcome.output.split())
    assert f"{count} of {count} questions could not be logged" in outcome.output
    assert [secret for secret in (*SECRETS, "Reader 1") if secret in outcome.output] == []


def test_where_nothing_can_be_logged_the_count_is_left_for_the_day_it_can(outcomes: Outcomes) -> None:
    outcome = outcomes[unwritable].result()
    assert parse_unflushed(outcome.files).most == len(outcome.asked)


def test_where_the_log_is_off_nothing_is_written_and_nothing_said(outcomes: Outcomes) -> None:
    outcome = outcomes[off].result()
    assert outcome.names == set()
    assert "Serving " in outcome.output
    assert "log" not in outcome.output


def test_the_log_stands_beside_the_index(outcomes: Outcomes) -> None:
    assert outcomes[usual].result().names == {"index-log"}
    assert outcomes[on_a_server].result().names == {"index-log"}  # for what is outstanding
