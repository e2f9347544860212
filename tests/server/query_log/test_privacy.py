"""The files of the log contain questions and nothing else that readers trust us with."""

from __future__ import annotations

from pathlib import Path

from tests.server.query_log.factories import RETENTION, close_and_count, make_requester
from tests.servers.backend_servers import Postgres

from bookbound import testing
from bookbound.domain.question import AnswerScope, Question
from bookbound.domain.trace import QueryLogEntry
from bookbound.server.query_log import BackgroundQueryLog
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import (
    ADDRESS_KEY_FILE,
    QueryLogRepository,
    load_or_create_key,
    make_address_hasher,
    normalize_address,
)

ADDRESS = "198.51.100.147"
SECRETS = ("ANSWERMARK", "PASSAGEMARK", "SELECTIONMARK", "ERRORMARK", ADDRESS)


def log_secrets(url: str | None, folder: Path, *, plain_addresses: bool = False) -> None:
    """Logs answers, a refusal and an error that are full of secrets."""
    passage = testing.make_passage("PASSAGEMARK is what the book says.", chapter="Gaits")
    answer = testing.make_answer([("ANSWERMARK is what we say.", passage)])
    selection = Question("QUESTIONMARK?", "SELECTIONMARK and more", AnswerScope.SELECTION)
    format_address = normalize_address if plain_addresses else make_address_hasher(load_or_create_key(folder))
    query_log = BackgroundQueryLog(QueryLogRepository(QueryLogDatabase(url, folder), format_address, RETENTION))
    for question, outcome in (
        (Question("QUESTIONMARK?"), answer),
        (selection, answer),
        (selection, testing.make_refusal(retrieved=[passage])),
        (Question("QUESTIONMARK?"), ValueError("ERRORMARK")),
    ):
        query_log.add(QueryLogEntry.of(question, outcome, 1, make_requester(address=ADDRESS)))
    assert close_and_count(query_log) == (4, 4, 0)


def read_files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def find_secrets(content: bytes) -> list[str]:
    return [secret for secret in SECRETS if secret.encode() in content]


def test_a_file_contains_the_question_and_no_secret(tmp_path: Path) -> None:
    log_secrets(None, tmp_path)
    content = read_files(tmp_path)
    assert b"QUESTIONMARK" in content
    assert find_secrets(content) == []
    key = (tmp_path / ADDRESS_KEY_FILE).read_bytes()
    assert make_address_hasher(key)(ADDRESS).encode() in content
    assert all(key not in file.read_bytes() for file in tmp_path.iterdir() if file.name != ADDRESS_KEY_FILE)


def test_a_server_contains_the_question_and_no_secret(crashable_server: Postgres, tmp_path: Path) -> None:
    log_secrets(crashable_server.database(), tmp_path)
    crashable_server.sql("CHECKPOINT")
    content = read_files(crashable_server.folder)
    assert b"QUESTIONMARK" in content
    assert find_secrets(content) == []


def test_addresses_are_plain_only_if_the_setting_says_so(tmp_path: Path) -> None:
    log_secrets(None, tmp_path, plain_addresses=True)
    assert find_secrets(read_files(tmp_path)) == [ADDRESS]
