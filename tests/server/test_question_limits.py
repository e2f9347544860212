"""Tests the rate limits of sessions, addresses and keys over all contracts, and their headers."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.test_app import ANSWER, ASKED, error_fields

from bookbound.domain.rate import RateLimit, RateLimitBucket
from bookbound.domain.trace import Requester
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.rate_limit import RATE_LIMIT_HEADERS, MemoryLimiter, RateLimitPolicies
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend

SEARCH = {"/v1/search": {"query": "walking"}}


def make_service(**options: Any) -> tuple[ScriptedBackend, Callable[[str], TestClient]]:
    """A backend, and a function that makes a client with an address."""
    backend = ScriptedBackend(ANSWER)
    app = create_app(backend, Settings(**options), limiter=MemoryLimiter())
    return backend, lambda address: TestClient(app, client=(address, 4711))


def ask(client: TestClient, session: uuid.UUID | None = None, **more: Any) -> int:
    body = ASKED["/api/query"] | ({"session_id": str(session)} if session else {})
    return client.post("/api/query", json=body, **more).status_code


@pytest.mark.parametrize("path", [*ASKED, *SEARCH])
def test_a_question_over_the_limit_is_429_with_the_body_of_the_contract(path: str) -> None:
    backend, client_at = make_service(address_rate_limit="2/minute")
    body = (ASKED | SEARCH)[path]
    responses = [client_at("192.0.2.1").post(path, json=body) for _ in range(4)]
    assert [response.status_code for response in responses] == [200, 200, 429, 429]
    rejected = responses[-1]
    assert set(rejected.json()) == error_fields(path)
    assert 1 <= int(rejected.headers["Retry-After"]) <= 60
    assert len(backend.questions) == 2


def test_the_query_contract_reports_code_wait_and_session() -> None:
    _, client_at = make_service(query_session_rate_limit="1/minute")
    session = uuid.uuid4()
    ask(client_at("192.0.2.1"), session)
    rejected = client_at("192.0.2.1").post("/v1/query", json=ASKED["/v1/query"] | {"session_id": str(session)})
    error = rejected.json()["error"]
    assert (rejected.status_code, error["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert error["retry_after"] == int(rejected.headers["Retry-After"])
    assert rejected.json()["metadata"]["session_id"] == str(session)


def test_all_contracts_share_the_limit_of_an_address() -> None:
    _, client_at = make_service(address_rate_limit="3/minute")
    statuses = [client_at("192.0.2.1").post(path, json=body).status_code for path, body in (ASKED | SEARCH).items()]
    assert statuses == [200] * 3 + [429] * 4


def test_by_default_a_session_has_10_a_minute_and_an_address_20() -> None:
    _, client_at = make_service()
    first, second = uuid.uuid4(), uuid.uuid4()
    assert [ask(client_at("192.0.2.1"), first) for _ in range(11)] == [200] * 10 + [429]
    assert [ask(client_at("192.0.2.1"), second) for _ in range(11)] == [200] * 10 + [429]
    assert ask(client_at("192.0.2.2"), second) == 429
    assert ask(client_at("192.0.2.2")) == 200


def test_new_sessions_do_not_bypass_the_limit_of_the_address() -> None:
    _, client_at = make_service(query_address_rate_limit="3/minute")
    assert [ask(client_at("192.0.2.1"), uuid.uuid4()) for _ in range(5)] == [200] * 3 + [429] * 2


def test_a_question_over_the_session_limit_does_not_count_for_the_address() -> None:
    _, client_at = make_service(query_session_rate_limit="1/minute", query_address_rate_limit="2/minute")
    session = uuid.uuid4()
    assert [ask(client_at("192.0.2.1"), session) for _ in range(9)] == [200] + [429] * 8
    assert ask(client_at("192.0.2.1")) == 200


def test_invalid_questions_count_but_reach_no_backend() -> None:
    backend, client_at = make_service(address_rate_limit="3/minute")
    bodies: list[Any] = [{}, {"question": ""}, {"question": 3}, ASKED["/ask"]]
    assert [client_at("192.0.2.1").post("/ask", json=body).status_code for body in bodies] == [400, 400, 400, 429]
    assert backend.questions == []


def test_requests_that_are_not_questions_have_no_limit() -> None:
    _, client_at = make_service(address_rate_limit="1/minute")
    client = client_at("192.0.2.1")
    for path in ("/health", "/openapi.json", "/v1/book", "/health/ready"):
        for _ in range(3):
            response = client.get(path)
            assert response.status_code == 200
            assert not set(RATE_LIMIT_HEADERS) & set(response.headers)
    assert client.post("/ask", json=ASKED["/ask"]).status_code == 200


def test_the_headers_of_an_answer_have_the_rest_of_every_limit() -> None:
    _, client_at = make_service()
    headers = (
        client_at("192.0.2.1").post("/api/query", json=ASKED["/api/query"] | {"session_id": str(uuid.uuid4())}).headers
    )
    assert headers["RateLimit-Policy"] == '"session";q=10;w=60, "address";q=20;w=60, "question";q=120;w=60'
    assert headers["RateLimit"] == '"session";r=9;t=60, "address";r=19;t=60, "question";r=119;t=60'
    assert [headers[name] for name in RATE_LIMIT_HEADERS[2:]] == ["10", "9", "60"]


def test_the_headers_of_a_429_have_the_limit_that_was_reached() -> None:
    _, client_at = make_service(address_rate_limit="1/hour")
    client_at("192.0.2.1").post("/ask", json=ASKED["/ask"])
    headers = client_at("192.0.2.1").post("/ask", json=ASKED["/ask"]).headers
    assert headers["RateLimit"] == f'"question";r=0;t={headers["Retry-After"]}'
    assert [headers[name] for name in RATE_LIMIT_HEADERS[2:]] == ["1", "0", headers["Retry-After"]]


def test_a_stream_has_the_headers_and_is_rejected_before_it_begins() -> None:
    _, client_at = make_service(address_rate_limit="1/minute")
    accept_stream = {"Accept": "text/event-stream"}
    first = client_at("192.0.2.1").post("/v1/answers", json=ASKED["/v1/answers"], headers=accept_stream)
    second = client_at("192.0.2.1").post("/v1/answers", json=ASKED["/v1/answers"], headers=accept_stream)
    assert (first.headers["RateLimit-Remaining"], second.status_code) == ("0", 429)


def test_a_page_of_another_origin_may_read_the_headers() -> None:
    _, client_at = make_service(allowed_origins=("https://book.example",))
    headers = (
        client_at("192.0.2.1").post("/ask", json=ASKED["/ask"], headers={"Origin": "https://book.example"}).headers
    )
    exposed = set(headers["Access-Control-Expose-Headers"].split(", "))
    assert {*RATE_LIMIT_HEADERS, "Retry-After"} <= exposed


def test_addresses_are_counted_apart_and_those_of_one_ipv6_site_together() -> None:
    _, client_at = make_service(address_rate_limit="1/minute")

    def request(address: str) -> int:
        return client_at(address).post("/ask", json=ASKED["/ask"]).status_code

    assert [request("192.0.2.1"), request("192.0.2.2"), request("::ffff:192.0.2.2")] == [200, 200, 429]
    assert [request("2001:db8::1"), request("2001:db8::ffff:2"), request("2001:db8:0:1::1")] == [200, 429, 200]


def test_a_forged_header_changes_nothing_and_that_of_a_trusted_proxy_counts() -> None:
    _, client_at = make_service(address_rate_limit="1/minute", trusted_proxies=("10.0.0.0/8",))

    def request(peer: str, forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded, "Forwarded": "for=198.51.100.200", "X-Real-IP": "198.51.100.201"}
        return client_at(peer).post("/ask", json=ASKED["/ask"], headers=headers).status_code

    assert [request("192.0.2.1", f"198.51.100.{n}") for n in range(3)] == [200, 429, 429]
    assert [request("10.0.0.1", f"198.51.100.{n}") for n in range(3)] == [200, 200, 200]
    assert [request("10.0.0.2", f"198.51.100.{n}, 192.0.2.9") for n in range(3)] == [200, 429, 429]


def test_without_a_limiter_there_is_no_limit() -> None:
    app = create_app(ScriptedBackend(ANSWER), Settings(address_rate_limit="1/minute"))
    assert [TestClient(app).post("/ask", json=ASKED["/ask"]).status_code for _ in range(3)] == [200] * 3


def test_a_key_has_its_own_limit_in_addition_to_the_address() -> None:
    policies = RateLimitPolicies.from_settings(Settings())
    requester = Requester(uuid.uuid4(), "192.0.2.1")
    assert [each.policy for each in policies.buckets(requester, None, has_sessions=False)] == ["question"]
    assert [each.policy for each in policies.buckets(requester, None, has_sessions=True)] == [
        "session",
        "address",
        "question",
    ]
    key, address = policies.buckets(requester, "k1", has_sessions=False)
    assert (key, address.policy) == (RateLimitBucket("key", "k1", RateLimit(600, 60)), "question")
    both = ["session", "address", "key", "question"]
    assert [each.policy for each in policies.buckets(requester, "k1", has_sessions=True)] == both


def test_a_key_is_counted_over_all_addresses(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "site", [ANY_ORIGIN])
    api_keys.add_key(file, key)
    _, client_at = make_service(key_file=file, key_rate_limit="3/minute", address_rate_limit="2/minute")

    def request(address: str, headers: dict[str, str]) -> int:
        return client_at(address).post("/ask", json=ASKED["/ask"], headers=headers).status_code

    assert [request(f"192.0.2.{n}", {"X-API-Key": secret}) for n in (1, 2, 3, 4)] == [200, 200, 200, 429]
    assert [request("192.0.2.1", {}), request("192.0.2.1", {})] == [200, 429]


def test_one_reader_cannot_exhaust_the_key_of_a_site(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "site", ["https://book.example"])
    api_keys.add_key(file, key)
    _, client_at = make_service(key_file=file, key_rate_limit="4/minute", address_rate_limit="2/minute")
    headers = {"X-API-Key": secret, "Origin": "https://book.example"}

    def request(address: str) -> int:
        return client_at(address).post("/ask", json=ASKED["/ask"], headers=headers).status_code

    assert [request("192.0.2.1") for _ in range(9)] == [200] * 2 + [429] * 7
    assert [request("192.0.2.2"), request("192.0.2.3")] == [200, 200]


def test_the_message_of_a_limit_per_hour_says_hour() -> None:
    _, client_at = make_service(address_rate_limit="1/hour")
    client_at("192.0.2.1").post("/ask", json=ASKED["/ask"])
    assert "1 per hour are allowed" in client_at("192.0.2.1").post("/ask", json=ASKED["/ask"]).json()["detail"]


@pytest.mark.parametrize("proxies", [(), ("192.0.2.9",)])
def test_an_untrusted_forwarding_header_is_logged_once_without_an_address(
    proxies: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    _, client_at = make_service(trusted_proxies=proxies)
    for n in range(3):
        client_at("10.0.0.1").post("/ask", json=ASKED["/ask"], headers={"X-Forwarded-For": f"198.51.100.{n}"})
    (message,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert "`trusted_proxies`" in message
    assert not re.search(r"\d+\.\d+", message)


def test_the_header_of_a_trusted_proxy_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    _, client_at = make_service(trusted_proxies=("10.0.0.0/8",))
    client_at("10.0.0.1").post("/ask", json=ASKED["/ask"], headers={"X-Forwarded-For": "198.51.100.1"})
    client_at("192.0.2.1").post("/ask", json=ASKED["/ask"])
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []
