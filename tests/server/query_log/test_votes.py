"""Votes are stored with the question that they are about, in both databases."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from tests.server.query_log.conftest import Rows
from tests.server.query_log.factories import make_entry, make_repository

from bookbound.domain.errors import ServiceError
from bookbound.domain.trace import Requester
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import Vote
from bookbound.server.query_log.votes import VoteStore


def cast(database: QueryLogDatabase, request_id: str, vote: Vote) -> bool:
    return asyncio.run(VoteStore(database, delay_seconds=0).store(request_id, vote))


def test_the_last_vote_on_a_reply_counts_and_only_its_question_is_stored(
    url: str, database: QueryLogDatabase, rows: Rows, tmp_path: Path
) -> None:
    entries = [make_entry(requester=Requester(request_id=each)) for each in ("r1", "r2")]
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write(entries)
        assert cast(database, "r1", Vote.UP)
        assert cast(database, "r1", Vote.DOWN)
        repository.write(entries)  # a retried batch keeps the vote
    votes = rows("SELECT * FROM query_votes ORDER BY vote DESC")
    assert {row["vote"] for row in votes} == {None, "down"}
    assert set(votes[0]) == {"query_id", "request_hash", "vote"}
    assert "r1" not in str(votes)


def test_a_vote_on_an_unknown_reply_is_not_stored(
    url: str, database: QueryLogDatabase, rows: Rows, tmp_path: Path
) -> None:
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write([make_entry(requester=Requester(request_id="r1")), make_entry()])
    assert not cast(database, "r2", Vote.UP)
    assert not cast(database, "", Vote.UP)
    assert [row["vote"] for row in rows("SELECT vote FROM query_votes")] == [None]


def test_a_vote_without_a_log_is_unknown_and_one_without_a_database_is_an_error(tmp_path: Path) -> None:
    with closing(QueryLogDatabase(None, tmp_path / "none")) as database:
        assert not cast(database, "r1", Vote.UP)
    broken = QueryLogDatabase("postgresql://nobody@127.0.0.1:1/none", tmp_path)
    with closing(broken), pytest.raises(ServiceError):
        cast(broken, "r1", Vote.UP)
