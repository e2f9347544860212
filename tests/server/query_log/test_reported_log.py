"""The server reports on a log in either database."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from starlette.testclient import TestClient
from tests.server.query_log.factories import make_entry, make_refused_entry, make_repository, make_unsure_entry
from tests.server.test_index_routes import add_key

from bookbound.bootstrap.web_app import create_web_app
from bookbound.domain.trace import Requester
from bookbound.server.api_keys import KeyKind
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import Vote
from bookbound.server.query_log.votes import VoteStore
from bookbound.settings import Settings


def test_the_server_reports_on_a_log_in_either_database(url: str, tmp_path: Path) -> None:
    with closing(make_repository(url, tmp_path)) as repository:
        repository.ensure_tables()
        entries = [make_entry("How?", requester=Requester(request_id="r1"), chapters=("Gaits",)), make_refused_entry()]
        repository.write([*entries, make_unsure_entry("Where?")])
    with closing(VoteStore(QueryLogDatabase(url, tmp_path))) as votes:
        assert asyncio.run(votes.store("r1", Vote.UP))
    settings = Settings(index=tmp_path / "index", query_log_url=url)
    secret = add_key(settings, KeyKind.ADMIN)[1]
    report = TestClient(create_web_app(settings)).get("/v1/report", headers={"X-API-Key": secret}).json()
    (day,) = report["by_day"]
    assert [day[name] for name in ("asked", "answered", "unsure", "refused", "up", "down")] == [3, 1, 1, 1, 1, 0]
    assert sorted(group["typical"] for group in report["unanswered"]["groups"]) == ["Where?", "Who won the cup?"]
    assert report["chapters"]["answered"] == [{"book": "", "chapter": "Gaits", "answers": 1}]
