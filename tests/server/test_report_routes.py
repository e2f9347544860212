"""Tests the endpoint of the report, and what its page says before anybody has signed in."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.query_log.factories import make_entry, make_refused_entry, make_repository
from tests.server.test_index_routes import add_key

from bookbound import bootstrap
from bookbound.bootstrap.web_app import create_web_app
from bookbound.domain.trace import Requester
from bookbound.server.api_keys import KeyKind
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import Vote
from bookbound.server.query_log.votes import VoteStore
from bookbound.settings import Settings

UNANSWERED = ("How much does a humanoid robot cost?", "What is the price of a humanoid robot?")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The settings of a server whose log has three questions of today and one of a month ago."""
    (source := tmp_path / "book").mkdir()
    (source / "horn.md").write_text("# Horn\n\nThe horn sounds once.\n")
    (source / "gong.md").write_text("# Gong\n\nThe gong sounds twice.\n")
    settings = Settings(index=tmp_path / "index", rate_limits="off")
    bootstrap.index_book(source, settings)
    with closing(make_repository(None, log_folder(settings.index))) as repository:
        repository.write(
            [
                make_entry("How often does it sound?", chapters=("Horn",), requester=Requester(request_id="r1")),
                *map(make_refused_entry, UNANSWERED),
                make_entry("Long ago?", timedelta(days=35)),
            ]
        )
    with closing(VoteStore(QueryLogDatabase(None, log_folder(settings.index)))) as votes:
        assert asyncio.run(votes.store("r1", Vote.DOWN))
    return settings


def make_client(settings: Settings) -> TestClient:
    client = TestClient(create_web_app(settings))
    client.headers["X-API-Key"] = add_key(settings, KeyKind.ADMIN)[1]
    return client


def without_times(report: Any) -> Any:
    return {name: value for name, value in report.items() if name not in ("since", "until")}


def test_the_report_is_that_of_the_command_line(settings: Settings) -> None:
    found = make_client(settings).get("/v1/report", params={"days": 7}).json()
    assert (found["questions"]["asked"], found["questions"]["answered"], found["questions"]["refused"]) == (3, 1, 2)
    assert [(group["asked"], sorted(group["wordings"])) for group in found["unanswered"]["groups"]] == [
        (2, sorted(UNANSWERED))
    ]
    assert (found["chapters"]["answered"][0]["chapter"], found["chapters"]["uncited"]) == ("Horn", ["Gong"])
    assert found["votes"] == {"up": 0, "down": 1, "unhelpful": [{"question": "How often does it sound?", "votes": 1}]}
    command = [sys.executable, "-m", "bookbound", "report", "--index", str(settings.index), "--since", "7d"]
    printed = subprocess.run([*command, "--format", "json"], capture_output=True, check=True)
    assert without_times(found) == without_times(json.loads(printed.stdout))


def test_the_period_is_a_number_of_days(settings: Settings) -> None:
    client = make_client(settings)
    asked = [client.get("/v1/report", params=days).json()["questions"]["asked"] for days in ({}, {"days": 60})]
    assert asked == [3, 4]
    for days in (0, -1, 3651, "x"):
        response = client.get("/v1/report", params={"days": days})
        assert (response.status_code, response.json()["error"]["type"]) == (422, "invalid_input")


def test_a_report_is_about_the_named_book(settings: Settings) -> None:
    client = make_client(settings)
    assert client.get("/books/all/v1/report").json()["book_ref"] == "all"
    assert client.get("/books/unknown/v1/report").status_code == 404


def test_neither_the_key_nor_a_question_is_in_the_server_log(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client(settings)
    with caplog.at_level(logging.DEBUG):
        assert client.get("/v1/report").status_code == 200
    assert any("read the report" in message for message in caplog.messages)
    assert client.headers["X-API-Key"] not in caplog.text
    assert "humanoid" not in caplog.text


@pytest.mark.parametrize("access", ["public", "keys"])
def test_everybody_sees_the_page_but_nothing_of_the_log_or_the_book(settings: Settings, access: str) -> None:
    add_key(settings, KeyKind.ADMIN)
    page = TestClient(create_web_app(replace(settings, access_mode=access))).get("/report")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
    assert "unsafe" not in policy
    assert 'id="bb-key"' in page.text
    assert not any(words in page.text for words in ("Horn", "Gong", "humanoid", str(settings.index)))


def test_without_an_admin_key_the_page_says_how_to_make_one(settings: Settings) -> None:
    add_key(settings, KeyKind.PUBLISHABLE)
    page = TestClient(create_web_app(settings)).get("/report").text
    assert "bookbound key new --admin" in page
    assert "<code>key_file</code>" in page
    assert 'id="bb-key"' not in page


def test_without_a_log_the_page_and_the_endpoint_name_the_setting(settings: Settings) -> None:
    client = make_client(replace(settings, query_log="off"))
    assert "set <code>query_log</code> to <code>on</code>" in client.get("/report").text
    response = client.get("/v1/report")
    assert (response.status_code, "`query_log`" in response.json()["error"]["message"]) == (409, True)


def test_a_log_that_cannot_be_read_is_a_503_that_says_so(settings: Settings) -> None:
    (log_folder(settings.index) / "questions.db").write_bytes(b"this is not a database" * 100)
    response = make_client(settings).get("/v1/report")
    assert (response.status_code, response.json()["error"]["type"]) == (503, "unreachable")
    assert "query log" in response.json()["error"]["message"]
