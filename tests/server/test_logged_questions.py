"""Tests that real servers log each question once and nothing else, whatever happens to the log.

Each situation has its own server process, and all run at once.
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
from tests.server.query_log.conftest import run_postgres
from tests.server.server_process import read_files, run_server_process

from bookbound import bootstrap
from bookbound.domain.book_ref import BookRef
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import make_address_hasher
from bookbound.settings import Settings

# The first of them asks a server on every way there is.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
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
    """The responses of a server, the rows of its log after it ended, and all that it wrote."""

    responses: list[httpx.Response]
    asked: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    files: bytes = b""
    names: set[str] = field(default_factory=set)
    book_refs: dict[str, BookRef] = field(default_factory=dict)

    @property
    def logged(self) -> Counter[str]:
        return Counter(row["query_text"] for row in self.rows)


def make_question(path: str, turn: int = 1, question: str = IN_FOG) -> str:
    """A question that is asked once, at one path."""
    return f"Reader {turn} at {path}: {question}"


def ask(client: httpx.Client, path: str, question: str, selection: str | None = None) -> httpx.Response:
    headers = {"Accept": "text/event-stream"} if path == STREAM else {}
    named = "query" if "query" in path else "question"
    body = {named: question, "selection" if path.startswith("/v1/answers") else "selected_text": selection}
    body |= {"session_id": SESSION} if "query" in path else {}
    return client.post(path.partition(" ")[0], json=body, headers=headers)


def ask_everywhere(client: httpx.Client, turn: int = 1) -> Outcome:
    """Ask one question at each path, two to a selection and one that the book does not answer."""
    questions: list[tuple[str, str, str | None]] = [(path, make_question(path, turn), None) for path in PATHS]
    questions += [(path, make_question(path, turn, AT_NOON), BELL) for path in ("/ask", "/api/query")]
    questions += [("/v1/query", make_question("/v1/query", turn, ELSEWHERE), None)]
    return Outcome([ask(client, *each) for each in questions], [question for _, question, _ in questions])


def send_other_requests(client: httpx.Client) -> list[httpx.Response]:
    """Send requests that are not logged: invalid ones, and those that are not questions."""
    json = {"Content-Type": "application/json"}
    rejected = [
        client.post(path.partition(" ")[0], json={name: value})
        for path in PATHS
        for name in ("question", "query")
        for value in (" ", [INVALID], f"{INVALID} " * 300)
    ]
    rejected += [
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
    assert {response.status_code // 100 for response in rejected} == {4}
    return [client.post("/v1/search", json={"query": INVALID}), client.get("/health/ready"), client.get("/v1/book")]


class ServerFolder:
    """A folder with a copy of an index, the settings to serve it, and the output of the server."""

    def __init__(self, index: Path, folder: Path, **settings: Any) -> None:
        folder.mkdir()
        self.folder, self.index = folder, shutil.copytree(index, folder / "index")
        self.settings = {"index": self.index, "answer_threshold": 0.0, "reader": "fast", **settings}
        self.output = folder / "output"

    def read(self, outcome: Outcome, url: str | None = None) -> Outcome:
        """The outcome with the content of the log and the output."""
        database = QueryLogDatabase(url, log_folder(self.index))
        try:
            with database.read() as connection:
                found = (connection.execute(text(f"SELECT * FROM {name}")) for name in ("queries", "query_sessions"))
                outcome.rows, outcome.sessions = ([dict(row) for row in rows.mappings()] for rows in found)
                named = connection.execute(
                    text("SELECT query_text, book, edition FROM queries NATURAL JOIN query_volumes")
                )
                outcome.book_refs = {question: BookRef(*ref) for question, *ref in named}
        finally:
            database.close()
        return self.add_output(outcome)

    def add_output(self, outcome: Outcome) -> Outcome:
        outcome.output = self.output.read_text()
        outcome.names = {file.name for file in self.folder.iterdir()} - {"index", "output"}
        return outcome


def sqlite_log(index: Path, folder: Path) -> Outcome:
    """A SQLite file in its default place."""
    server_folder = ServerFolder(index, folder)
    with run_server_process(server_folder.settings, server_folder.output, address=ADDRESS) as server:
        outcome = ask_everywhere(server.client)
        assert {response.status_code for response in send_other_requests(server.client)} == {200}
    outcome.files = read_files(log_folder(server_folder.index))
    return server_folder.read(outcome)


def postgres_log(index: Path, folder: Path) -> Outcome:
    """PostgreSQL that crashes and is down while questions are asked."""
    with run_postgres() as postgres:
        url = postgres.database()
        server_folder = ServerFolder(index, folder, query_log_url=url, query_log_key=KEY)
        with run_server_process(server_folder.settings, server_folder.output, address=ADDRESS) as server:
            outcome = ask_everywhere(server.client)
            send_other_requests(server.client)
            postgres.crash()
            meanwhile = ask_everywhere(server.client, turn=2)
            postgres.start()
        outcome.responses += meanwhile.responses
        outcome.asked += meanwhile.asked
        postgres.sql("CHECKPOINT")
        outcome.files = read_files(postgres.folder)
        return server_folder.read(outcome, url)


def two_workers(index: Path, folder: Path) -> Outcome:
    """Two processes that write one file."""
    server_folder = ServerFolder(index, folder)
    asked = [make_question("/v1/answers", turn) for turn in range(24)]
    with (
        run_server_process(server_folder.settings, server_folder.output, "--workers", "2") as server,
        ThreadPoolExecutor(8) as readers,
    ):
        url = server.client.base_url

        def one(question: str) -> httpx.Response:
            with httpx.Client(base_url=url, timeout=60) as client:
                return ask(client, "/v1/answers", question)

        responses = list(readers.map(one, asked))
    return server_folder.read(Outcome(responses, asked))


def terminated(index: Path, folder: Path) -> Outcome:
    """A server that gets a signal as soon as it has answered the first of many questions."""
    server_folder = ServerFolder(index, folder, max_concurrency=1)
    connected, answered = Barrier(8), Event()
    with run_server_process(server_folder.settings, server_folder.output) as server, ThreadPoolExecutor(8) as readers:

        def one(turn: int) -> httpx.Response | None:
            with httpx.Client(base_url=server.client.base_url, timeout=60) as client:
                client.get("/health")
                connected.wait()
                try:
                    return ask(client, PATHS[turn % len(PATHS)], make_question("any", turn))
                except httpx.TransportError:
                    return None
                finally:
                    answered.set()

        asking = {make_question("any", turn): readers.submit(one, turn) for turn in range(8)}
        answered.wait()
        server.process.terminate()
        answered_questions = {question: response for question, each in asking.items() if (response := each.result())}
    return server_folder.read(Outcome(list(answered_questions.values()), list(answered_questions)))


def unreachable_log(index: Path, folder: Path) -> Outcome:
    """A database that was never there."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"postgresql://keeper:{PASSWORD}@127.0.0.1:{silent.getsockname()[1]}/log"
        server_folder = ServerFolder(index, folder, query_log_url=url)
        with run_server_process(server_folder.settings, server_folder.output) as server:
            outcome = ask_everywhere(server.client)
    return server_folder.add_output(outcome)


def unwritable_log(index: Path, folder: Path) -> Outcome:
    """A folder for the log that cannot be written."""
    server_folder = ServerFolder(index, folder)
    log_folder(server_folder.index).write_text("in the way")
    with run_server_process(server_folder.settings, server_folder.output) as server:
        outcome = ask_everywhere(server.client)
    return server_folder.add_output(outcome)


def disabled_log(index: Path, folder: Path) -> Outcome:
    """No log."""
    server_folder = ServerFolder(index, folder, query_log="off")
    with run_server_process(server_folder.settings, server_folder.output) as server:
        outcome = ask_everywhere(server.client)
    return server_folder.add_output(outcome)


BOOKS = {
    "/ask": None,
    "/books/coast/ask": BookRef("coast", "2.0"),
    "/books/coast/chat": BookRef("coast", "2.0"),
    "/books/coast@1.0/api/query": BookRef("coast", "1.0"),
    "/books/all/ask": BookRef("all"),
}


def books(index: Path, folder: Path) -> Outcome:
    """A book without a name, two editions of another, and all of them."""
    server_folder = ServerFolder(index, folder)
    for edition in ("1.0", "2.0"):
        shutil.copytree(index, server_folder.index / "books" / f"coast@{edition}")
    with run_server_process(server_folder.settings, server_folder.output) as server:
        asked = [make_question(path) for path in BOOKS]
        responses = [ask(server.client, path, question) for path, question in zip(BOOKS, asked, strict=True)]
        assert ask(server.client, "/books/nowhere/ask", make_question("nowhere")).status_code == 404
        metrics = server.client.get("/metrics").text
    outcome = server_folder.read(Outcome(responses, asked))
    outcome.files = metrics.encode()
    return outcome


Situation = Callable[[Path, Path], Outcome]
Outcomes = dict[Situation, Future[Outcome]]
SITUATIONS: tuple[Situation, ...] = (
    sqlite_log,
    postgres_log,
    two_workers,
    terminated,
    unreachable_log,
    unwritable_log,
    disabled_log,
    books,
)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """The outcome of each situation; all run at once."""
    folder = tmp_path_factory.mktemp("log")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    with ThreadPoolExecutor(len(SITUATIONS)) as runs:
        yield {each: runs.submit(each, folder / "index", folder / each.__name__) for each in SITUATIONS}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.__name__)
def test_every_question_is_answered_whatever_happens_to_the_log(outcomes: Outcomes, situation: Situation) -> None:
    outcome = outcomes[situation].result()
    assert {response.status_code for response in outcome.responses} == {200}
    assert "Quorrelwick" in outcome.responses[0].text
    assert "Traceback" not in outcome.output


@pytest.mark.parametrize(
    "situation", [sqlite_log, postgres_log, two_workers, terminated, books], ids=lambda each: each.__name__
)
def test_exactly_the_questions_are_logged_each_once(outcomes: Outcomes, situation: Situation) -> None:
    outcome = outcomes[situation].result()
    assert outcome.logged == Counter(dict.fromkeys(outcome.asked, 1))
    assert "could not be logged" not in outcome.output


def test_a_question_is_logged_with_the_book_and_the_edition_that_answered(outcomes: Outcomes) -> None:
    outcome = outcomes[books].result()
    assert outcome.book_refs == {make_question(path): ref for path, ref in BOOKS.items() if ref}
    open_ = re.findall(r'bookbound_index_info\{book="([^"]*)".*\} 1.0', outcome.files.decode())
    assert sorted(open_) == ["", "all", "coast@1.0", "coast@2.0"]


def test_questions_that_run_at_shutdown_are_answered_and_logged(outcomes: Outcomes) -> None:
    assert len(outcomes[terminated].result().rows) > 1


@pytest.mark.parametrize("situation", [sqlite_log, postgres_log], ids=lambda each: each.__name__)
def test_a_row_has_the_outcome_of_a_question_and_a_session_its_count(outcomes: Outcomes, situation: Situation) -> None:
    outcome = outcomes[situation].result()
    rows = {row["query_text"]: row for row in outcome.rows}
    found = {question: (row["mode"], row["status"], row["selected_text_length"]) for question, row in rows.items()}
    for path in PATHS:
        assert found[make_question(path)] == ("standard_rag", "success", None)
    assert found[make_question("/ask", 1, AT_NOON)] == ("selected_text_only", "success", len(BELL))
    assert rows[make_question("/v1/query", 1, ELSEWHERE)]["refusal_reason"] == "low_relevance"
    (session,) = outcome.sessions
    assert session["query_count"] == sum(row["session_id"] is not None for row in rows.values())
    assert session["query_count"] == sum("query" in question for question in outcome.asked)


@pytest.mark.parametrize("situation", [sqlite_log, postgres_log], ids=lambda each: each.__name__)
def test_no_answer_passage_selection_address_or_key_is_in_the_files_or_the_output(
    outcomes: Outcomes, situation: Situation
) -> None:
    outcome = outcomes[situation].result()
    assert "Zwickelmoor" in outcome.responses[len(PATHS)].text
    assert "Vantongeren" in outcome.responses[PATHS.index("/v1/answers")].text
    assert IN_FOG.encode() in outcome.files
    assert [secret for secret in SECRETS if secret.encode() in outcome.files] == []
    assert [secret for secret in (*SECRETS, "Reader 1", SESSION) if secret in outcome.output] == []


def test_an_address_is_stored_as_a_hash(outcomes: Outcomes) -> None:
    (session,) = outcomes[postgres_log].result().sessions
    assert session["user_ip"] == make_address_hasher(KEY.encode())(ADDRESS)
    assert len(outcomes[sqlite_log].result().sessions[0]["user_ip"]) == 43


@pytest.mark.parametrize("situation", [unreachable_log, unwritable_log], ids=lambda each: each.__name__)
def test_unlogged_questions_are_warned_about_at_startup_and_counted_at_the_end(
    outcomes: Outcomes, situation: Situation
) -> None:
    outcome = outcomes[situation].result()
    count = len(outcome.asked)
    assert "Warning: Questions are answered but cannot be logged yet." in " ".join(outcome.output.split())
    assert f"{count} of {count} questions could not be logged" in outcome.output
    assert [secret for secret in (*SECRETS, "Reader 1") if secret in outcome.output] == []


def test_without_a_log_nothing_is_written_and_nothing_reported(outcomes: Outcomes) -> None:
    outcome = outcomes[disabled_log].result()
    assert outcome.names == set()
    assert "Serving " in outcome.output
    assert "log" not in outcome.output


def test_the_log_is_next_to_the_index(outcomes: Outcomes) -> None:
    assert outcomes[sqlite_log].result().names == {"index-log"}
    assert outcomes[postgres_log].result().names == set()
