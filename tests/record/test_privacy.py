"""What readers trust us with is nowhere in the files of the log."""

from __future__ import annotations

from pathlib import Path

from evals.load.services import Postgres
from tests.record.entries import KEEP, closed, of

from bookbound import testing
from bookbound.dialogue import Question, Scope
from bookbound.entry import Entry
from bookbound.record.address import FILE, hashed, kept_key, plain
from bookbound.record.database import Database
from bookbound.record.journal import QueuedJournal
from bookbound.record.ledger import Ledger

ADDRESS = "198.51.100.147"
SECRETS = ("ANSWERMARK", "PASSAGEMARK", "SELECTIONMARK", "ERRORMARK", ADDRESS)


def note(url: str | None, folder: Path, *, in_the_open: bool = False) -> None:
    """Note an answer, an answer to a selection and an error, each full of what must not be kept."""
    passage = testing.passage("PASSAGEMARK is what the book says.", chapter="Gaits")
    answer = testing.answer([("ANSWERMARK is what we say.", passage)])
    selection = Question("QUESTIONMARK?", "SELECTIONMARK and more", Scope.SELECTION)
    worded = plain if in_the_open else hashed(kept_key(folder))
    journal = QueuedJournal(Ledger(Database(url, folder), worded, KEEP), folder)
    for question, outcome in (
        (Question("QUESTIONMARK?"), answer),
        (selection, answer),
        (selection, testing.refusal(retrieved=[passage])),
        (Question("QUESTIONMARK?"), ValueError("ERRORMARK")),
    ):
        journal.note(Entry.of(question, outcome, 1, of(address=ADDRESS)))
    assert closed(journal) == (4, 4, 0)


def held(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_a_file_holds_the_question_and_no_secret(tmp_path: Path) -> None:
    note(None, tmp_path)
    assert b"QUESTIONMARK" in held(tmp_path)
    assert [secret for secret in SECRETS if secret.encode() in held(tmp_path)] == []
    key = (tmp_path / FILE).read_bytes()
    assert hashed(key)(ADDRESS).encode() in held(tmp_path)
    assert all(key not in file.read_bytes() for file in tmp_path.iterdir() if file.name != FILE)


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
