"""What one session, address or key may ask, over every face, and what a client is told of it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.test_app import ANSWER, ASKED, shape

from bookbound.domain.query_log_entry import Requester
from bookbound.domain.rate_limit import RateLimit, RateLimitBucket
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.rate_limit import RATE_LIMIT_HEADERS, RateLimitPolicies
from bookbound.server.rate_limit.memory import MemoryLimiter
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend

SEARCH = {"/v1/search": {"query": "walking"}}


def service(**chosen: Any) -> tuple[ScriptedBackend, Callable[[str], TestClient]]:
    """A desk, and what makes a client of it at an address."""
    desk = ScriptedBackend(ANSWER)
    app = create_app(desk, Settings(**chosen), limiter=MemoryLimiter())
    return desk, lambda address: TestClient(app, client=(address, 4711))


def ask(client: TestClient, session: uuid.UUID | None = None, **more: Any) -> int:
    body = ASKED["/api/query"] | ({"session_id": str(session)} if session else {})
    return client.post("/api/query", json=body, **more).status_code


@pytest.mark.parametrize("path", [*ASKED, *SEARCH])
def test_beyond_the_limit_every_face_says_429_in_its_own_words(path: str) -> None:
    desk, at = service(question_limit="2/minute")
    body = (ASKED | SEARCH)[path]
    responses = [at("192.0.2.1").post(path, json=body) for _ in range(4)]
    assert [response.status_code for response in responses] == [200, 200, 429, 429]
    refused = responses[-1]
    assert set(refused.json()) == shape(path)
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert len(desk.asked) == 2


def test_the_query_contract_tells_its_code_the_wait_and_the_session() -> None:
    _, at = service(session_limit="1/minute")
    session = uuid.uuid4()
    ask(at("192.0.2.1"), session)
    refused = at("192.0.2.1").post("/v1/query", json=ASKED["/v1/query"] | {"session_id": str(session)})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert error["retry_after"] == int(refused.headers["Retry-After"])
    assert refused.json()["metadata"]["session_id"] == str(session)


def test_nobody_escapes_by_another_face() -> None:
    _, at = service(question_limit="3/minute")
    statuses = [at("192.0.2.1").post(path, json=body).status_code for path, body in (ASKED | SEARCH).items()]
    assert statuses == [200] * 3 + [429] * 4


def test_a_session_has_ten_a_minute_and_an_address_twenty_if_nothing_else_is_set() -> None:
    _, at = service()
    first, second = uuid.uuid4(), uuid.uuid4()
    assert [ask(at("192.0.2.1"), first) for _ in range(11)] == [200] * 10 + [429]
    assert [ask(at("192.0.2.1"), second) for _ in range(11)] == [200] * 10 + [429]
    assert ask(at("192.0.2.2"), second) == 429
    assert ask(at("192.0.2.2")) == 200


def test_a_new_session_for_each_question_does_not_escape_the_limit_of_the_address() -> None:
    _, at = service(address_limit="3/minute")
    assert [ask(at("192.0.2.1"), uuid.uuid4()) for _ in range(5)] == [200] * 3 + [429] * 2


def test_what_a_session_is_refused_costs_its_address_nothing() -> None:
    _, at = service(session_limit="1/minute", address_limit="2/minute")
    session = uuid.uuid4()
    assert [ask(at("192.0.2.1"), session) for _ in range(9)] == [200] + [429] * 8
    assert ask(at("192.0.2.1")) == 200


def test_invalid_questions_count_and_reach_nobody() -> None:
    desk, at = service(question_limit="3/minute")
    bodies: list[Any] = [{}, {"question": ""}, {"question": 3}, ASKED["/ask"]]
    assert [at("192.0.2.1").post("/ask", json=body).status_code for body in bodies] == [400, 400, 400, 429]
    assert desk.asked == []


def test_what_asks_nothing_is_never_limited() -> None:
    _, at = service(question_limit="1/minute")
    client = at("192.0.2.1")
    for path in ("/health", "/openapi.json", "/v1/book", "/health/ready"):
        for _ in range(3):
            response = client.get(path)
            assert response.status_code == 200
            assert not set(RATE_LIMIT_HEADERS) & set(response.headers)
    assert client.post("/ask", json=ASKED["/ask"]).status_code == 200


def test_answers_tell_what_is_left_of_every_limit() -> None:
    _, at = service()
    told = at("192.0.2.1").post("/api/query", json=ASKED["/api/query"] | {"session_id": str(uuid.uuid4())}).headers
    assert told["RateLimit-Policy"] == '"session";q=10;w=60, "address";q=20;w=60, "question";q=120;w=60'
    assert told["RateLimit"] == '"session";r=9;t=60, "address";r=19;t=60, "question";r=119;t=60'
    assert [told[name] for name in RATE_LIMIT_HEADERS[2:]] == ["10", "9", "60"]


def test_a_refusal_tells_the_limit_that_was_reached() -> None:
    _, at = service(question_limit="1/hour")
    at("192.0.2.1").post("/ask", json=ASKED["/ask"])
    told = at("192.0.2.1").post("/ask", json=ASKED["/ask"]).headers
    assert told["RateLimit"] == f'"question";r=0;t={told["Retry-After"]}'
    assert [told[name] for name in RATE_LIMIT_HEADERS[2:]] == ["1", "0", told["Retry-After"]]


def test_a_stream_tells_it_too_and_is_refused_before_it_begins() -> None:
    _, at = service(question_limit="1/minute")
    streamed = {"Accept": "text/event-stream"}
    first = at("192.0.2.1").post("/v1/answers", json=ASKED["/v1/answers"], headers=streamed)
    second = at("192.0.2.1").post("/v1/answers", json=ASKED["/v1/answers"], headers=streamed)
    assert (first.headers["RateLimit-Remaining"], second.status_code) == ("0", 429)


def test_a_page_of_another_origin_may_read_the_headers() -> None:
    _, at = service(origins=("https://book.example",))
    told = at("192.0.2.1").post("/ask", json=ASKED["/ask"], headers={"Origin": "https://book.example"}).headers
    exposed = set(told["Access-Control-Expose-Headers"].split(", "))
    assert {*RATE_LIMIT_HEADERS, "Retry-After"} <= exposed


def test_addresses_are_counted_apart_and_those_of_one_ipv6_site_together() -> None:
    _, at = service(question_limit="1/minute")

    def asked(address: str) -> int:
        return at(address).post("/ask", json=ASKED["/ask"]).status_code

    assert [asked("192.0.2.1"), asked("192.0.2.2"), asked("::ffff:192.0.2.2")] == [200, 200, 429]
    assert [asked("2001:db8::1"), asked("2001:db8::ffff:2"), asked("2001:db8:0:1::1")] == [200, 429, 200]


def test_a_forged_header_changes_nothing_and_that_of_a_trusted_proxy_counts() -> None:
    _, at = service(question_limit="1/minute", proxies=("10.0.0.0/8",))

    def asked(peer: str, forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded, "Forwarded": "for=198.51.100.200", "X-Real-IP": "198.51.100.201"}
        return at(peer).post("/ask", json=ASKED["/ask"], headers=headers).status_code

    assert [asked("192.0.2.1", f"198.51.100.{n}") for n in range(3)] == [200, 429, 429]
    assert [asked("10.0.0.1", f"198.51.100.{n}") for n in range(3)] == [200, 200, 200]
    assert [asked("10.0.0.2", f"198.51.100.{n}, 192.0.2.9") for n in range(3)] == [200, 429, 429]


def test_without_a_limiter_nothing_is_counted() -> None:
    app = create_app(ScriptedBackend(ANSWER), Settings(question_limit="1/minute"))
    assert [TestClient(app).post("/ask", json=ASKED["/ask"]).status_code for _ in range(3)] == [200] * 3


def test_a_key_has_a_limit_of_its_own_beside_that_of_the_address() -> None:
    policies = RateLimitPolicies.of(Settings())
    asker = Requester(uuid.uuid4(), "192.0.2.1")
    assert [each.policy for each in policies.buckets(asker, None, sessions=False)] == ["question"]
    assert [each.policy for each in policies.buckets(asker, None, sessions=True)] == ["session", "address", "question"]
    key, address = policies.buckets(asker, "k1", sessions=False)
    assert (key, address.policy) == (RateLimitBucket("key", "k1", RateLimit(600, 60)), "question")
    both = ["session", "address", "key", "question"]
    assert [each.policy for each in policies.buckets(asker, "k1", sessions=True)] == both


def test_a_key_that_is_sent_is_counted_from_every_address_together(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "site", [ANY_ORIGIN])
    api_keys.add_key(file, key)
    _, at = service(keys=file, key_limit="3/minute", question_limit="2/minute")

    def asked(address: str, headers: dict[str, str]) -> int:
        return at(address).post("/ask", json=ASKED["/ask"], headers=headers).status_code

    assert [asked(f"192.0.2.{n}", {"X-API-Key": secret}) for n in (1, 2, 3, 4)] == [200, 200, 200, 429]
    assert [asked("192.0.2.1", {}), asked("192.0.2.1", {})] == [200, 429]


def test_one_reader_cannot_use_up_the_key_of_a_site_for_all_others(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "site", ["https://book.example"])
    api_keys.add_key(file, key)
    _, at = service(keys=file, key_limit="4/minute", question_limit="2/minute")
    headers = {"X-API-Key": secret, "Origin": "https://book.example"}

    def asked(address: str) -> int:
        return at(address).post("/ask", json=ASKED["/ask"], headers=headers).status_code

    assert [asked("192.0.2.1") for _ in range(9)] == [200] * 2 + [429] * 7
    assert [asked("192.0.2.2"), asked("192.0.2.3")] == [200, 200]


def test_an_hour_is_told_as_one() -> None:
    _, at = service(question_limit="1/hour")
    at("192.0.2.1").post("/ask", json=ASKED["/ask"])
    assert "1 in an hour are allowed" in at("192.0.2.1").post("/ask", json=ASKED["/ask"]).json()["detail"]


@pytest.mark.parametrize("proxies", [(), ("192.0.2.9",)])
def test_a_header_of_a_proxy_that_nobody_named_is_told_once_and_without_an_address(
    proxies: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    _, at = service(proxies=proxies)
    for n in range(3):
        at("10.0.0.1").post("/ask", json=ASKED["/ask"], headers={"X-Forwarded-For": f"198.51.100.{n}"})
    (told,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert "`proxies`" in told
    assert not re.search(r"\d+\.\d+", told)


def test_the_header_of_a_proxy_that_is_named_is_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    _, at = service(proxies=("10.0.0.0/8",))
    at("10.0.0.1").post("/ask", json=ASKED["/ask"], headers={"X-Forwarded-For": "198.51.100.1"})
    at("192.0.2.1").post("/ask", json=ASKED["/ask"])
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []
