"""What readers trust us with is nowhere in the files of the log."""

from __future__ import annotations

from pathlib import Path

from evals.load.services import Postgres
from tests.server.query_log.entries import KEEP, closed, of

from bookbound import testing
from bookbound.domain.query_log_entry import QueryLogEntry
from bookbound.domain.question import AnswerScope, Question
from bookbound.server.query_log.address_hash import (
    ADDRESS_KEY_FILE,
    load_or_create_key,
    make_address_hasher,
    normalize_address,
)
from bookbound.server.query_log.background_writer import BackgroundQueryLog
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import QueryLogRepository

ADDRESS = "198.51.100.147"
SECRETS = ("ANSWERMARK", "PASSAGEMARK", "SELECTIONMARK", "ERRORMARK", ADDRESS)


def note(url: str | None, folder: Path, *, in_the_open: bool = False) -> None:
    """Note an answer, an answer to a selection and an error, each full of what must not be kept."""
    passage = testing.make_passage("PASSAGEMARK is what the book says.", chapter="Gaits")
    answer = testing.make_answer([("ANSWERMARK is what we say.", passage)])
    selection = Question("QUESTIONMARK?", "SELECTIONMARK and more", AnswerScope.SELECTION)
    worded = normalize_address if in_the_open else make_address_hasher(load_or_create_key(folder))
    journal = BackgroundQueryLog(QueryLogRepository(QueryLogDatabase(url, folder), worded, KEEP), folder)
    for question, outcome in (
        (Question("QUESTIONMARK?"), answer),
        (selection, answer),
        (selection, testing.make_refusal(retrieved=[passage])),
        (Question("QUESTIONMARK?"), ValueError("ERRORMARK")),
    ):
        journal.note(QueryLogEntry.of(question, outcome, 1, of(address=ADDRESS)))
    assert closed(journal) == (4, 4, 0)


def held(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_file_holds_the_question_and_no_secret(tmp_path: Path) -> None:
    note(None, tmp_path)
    assert b"QUESTIONMARK" in held(tmp_path)
    assert [secret for secret in SECRETS if secret.encode() in held(tmp_path)] == []
    key = (tmp_path / ADDRESS_KEY_FILE).read_bytes()
    assert make_address_hasher(key)(ADDRESS).encode() in held(tmp_path)
    assert all(key not in file.read_bytes() for file in tmp_path.iterdir() if file.name != ADDRESS_KEY_FILE)


def test_a_server_holds_the_question_and_no_secret(server: Postgres, tmp_path: Path) -> None:
    url = server.database()
    note(url, tmp_path)
    server.sql("CHECKPOINT")
    kept = held(server.folder)
    assert b"QUESTIONMARK" in kept
    assert [secret for secret in SECRETS if secret.encode() in kept] == []


def test_an_address_is_kept_in_the_open_only_where_that_is_asked_for(tmp_path: Path) -> None:
    note(None, tmp_path, in_the_open=True)
    assert [secret for secret in SECRETS if secret.encode() in held(tmp_path)] == [ADDRESS]
