"""Tests how each contract reports every fault of a service, with the real server and SDKs and scripted services.

Each setup has its own server process, and all setups run at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.indexing.store import qdrant_server
from tests.server.server_process import run_server_process

from bookbound import bootstrap
from bookbound.settings import Settings
from bookbound.testing.scripted_replies import VENDOR_ERRORS
from bookbound.testing.scripted_services import Fault, ScriptedServices

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the first of them waits for servers of which many run at once
    pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection"),
]
HORN = "In fog the horn sounds for four seconds in every minute."
KEEPER = "The keeper writes down in the log book at which hour the horn was started and at which hour it was stopped."
BOOK = f"# Lighthouse\n\n## The fog horn\n\n{HORN}\n{KEEPER}\n"
READER = "Melchior"
QUESTION = f"{READER} asks: for how many seconds in every minute does the horn sound in fog?"
KEY, MODEL = "sk-Zebulon-0123456789", "a-scripted-model"
MODEL_REPLY = {"answer": HORN, "missing": ""}
TWO_SENTENCES = {"answer": f"{HORN} {KEEPER}", "missing": ""}
LONG_SECONDS, SHORT_SECONDS = 20.0, 1.0
"""The deadlines for services that fail at once and for services that never answer."""

STREAM = "/v1/answers as a stream"
OWN_PATHS = ("/v1/answers", STREAM)
ERROR_FIELDS = {
    "/ask": {"error", "detail"},
    "/chat": {"error", "message", "details", "retry_after"},
    "/api/query": {"status", "answer", "refusal", "error", "metadata"},
    "/v1/answers": {"error", "request_id"},
    STREAM: {"error", "request_id"},
}
PROBLEM_KINDS = {503: "unreachable", 504: "timed_out", 429: "limit_reached"}
CHAT_CODES = {503: "service_unavailable", 504: "timeout", 429: "rate_limit_exceeded"}
WRITER = "language model"
SERVICES = {"chat": WRITER, "responses": WRITER, "embed": "cohere", "rerank": "cohere", "embeddings": "embeddings"}
QUERY_CODES = {
    WRITER: "OPENROUTER_TIMEOUT",
    "cohere": "COHERE_FAILURE",
    "embeddings": "COHERE_FAILURE",
    "qdrant": "QDRANT_TIMEOUT",
}
LATE_FAULTS = (Fault.TIMEOUT, Fault.STREAM_HANGS, Fault.SLOW)


@dataclass(frozen=True)
class Case:
    """A fault of a service, and the expected status and waits; `sentences` were written before it."""

    name: str
    service: str
    begin: Callable[[Any], None]
    status: int = 503
    waits: tuple[int, ...] = ()
    sentences: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Setup:
    """The services that a server uses and their faults; `backend` starts them."""

    name: str
    settings: Callable[[str], dict[str, Any]]
    cases: tuple[Case, ...]
    backend: Callable[[], Any] = ScriptedServices


@dataclass
class Outcome:
    """The responses without faults and in each case, and the output of the server."""

    without_fault: Mapping[str, httpx.Response]
    by_case: dict[str, Mapping[str, httpx.Response]] = field(default_factory=dict)
    log: str = ""
    hidden: tuple[str, ...] = ()


def fault_case(endpoint: str, fault: Fault, name: str = "", reply: Any = MODEL_REPLY, **expected: Any) -> Case:
    """An endpoint with a fault until the next case."""
    wait = expected.pop("retry_after", None)

    def begin(services: ScriptedServices) -> None:
        services.reply_with(reply, always=True)
        # The date counts from when the fault begins, which may be long after the cases were collected.
        at = datetime.now(UTC) + wait if isinstance(wait, timedelta) else wait
        services.fail_with(fault, endpoint=endpoint, always=True, retry_after=at)

    sentences = (HORN,) if reply is TWO_SENTENCES else ()
    return Case(name or f"{endpoint} {fault.name}", SERVICES[endpoint], begin, sentences=sentences, **expected)


def immediate_cases(endpoint: str) -> tuple[Case, ...]:
    """Each fault of an endpoint that is visible at once; rate limits without a wait, with seconds and with a date."""
    faults = [each for each in Fault if endpoint in each.endpoints and each not in (Fault.RATE_LIMITED, *LATE_FAULTS)]
    later = timedelta(minutes=30), tuple(range(1200, 1801))
    limits = {"": (None, (10,)), " for seconds": (41, (41,)), " until a date": later}
    limited = partial(fault_case, endpoint, Fault.RATE_LIMITED, status=429)
    return (
        *(fault_case(endpoint, each) for each in faults),
        *(limited(f"{endpoint} limited{name}", retry_after=at, waits=waits) for name, (at, waits) in limits.items()),
        Case(f"{endpoint} refused", SERVICES[endpoint], ScriptedServices.close),
    )


def late_cases(*endpoints: str) -> tuple[Case, ...]:
    """Each fault of some endpoints that never answers."""
    faults = [(endpoint, each) for endpoint in endpoints for each in LATE_FAULTS if endpoint in each.endpoints]
    return tuple(fault_case(endpoint, each, status=504) for endpoint, each in faults)


def model_cases(endpoint: str) -> tuple[Case, ...]:
    """Each fault of a model that is visible at once."""
    return (
        fault_case(endpoint, Fault.STREAM_STOPS, f"{endpoint} stops after a sentence", TWO_SENTENCES),
        fault_case(endpoint, Fault.CUT_SHORT, f"{endpoint} is cut short after a sentence", TWO_SENTENCES),
        *immediate_cases(endpoint),
    )


class Qdrant(ExitStack):
    """A Qdrant server with scripted faults."""

    def __init__(self) -> None:
        super().__init__()
        self.server = self.enter_context(qdrant_server.run_server(KEY))
        self.url = self.server.url

    def reply_with(self, reply: object, always: bool = False) -> None:
        """Qdrant has no scripted replies."""

    def reset(self) -> None:
        self.server.faults.clear()


def qdrant_fault(*, path: str = "", **how: Any) -> Callable[[Qdrant], None]:
    return lambda qdrant: qdrant.server.fail(qdrant_server.Fault(**how), path, times=99)


def qdrant_cases() -> tuple[Case, ...]:
    reported = json.dumps({"status": {"error": f"Wrong input at {KEY}: Sorry about that"}}).encode()
    faults = {
        **{f"status {status}": qdrant_fault(status=status, body=reported) for status in (401, 403, 500, 502, 503)},
        "hangs up": qdrant_fault(way="hang up"),
        "truncated": qdrant_fault(way="cut off"),
        "no json": qdrant_fault(body=b"<html>Sorry about that</html>"),
        "another shape": qdrant_fault(body=b'{"result": [7]}'),
    }
    limited = qdrant_fault(status=429, headers=(("Retry-After", "41"),))
    return (
        *(Case(f"qdrant {name}", "qdrant", begin) for name, begin in faults.items()),
        *(
            Case(
                f"qdrant status {status}",
                "qdrant",
                qdrant_fault(status=status, body=reported),
                kind="index_unavailable",
            )
            for status in (400, 404)
        ),
        Case("qdrant limited for seconds", "qdrant", limited, 429, (41,)),
        Case("qdrant silent", "qdrant", qdrant_fault(way="be silent"), 504),
        Case("qdrant refused", "qdrant", Qdrant.close),
    )


def model(url: str, api: str) -> dict[str, Any]:
    return {"llm_model": MODEL, "llm_url": f"{url}/v1", "llm_key": KEY, "llm_api": api}


def cohere(url: str, *parts: str) -> dict[str, Any]:
    return {"cohere_key": KEY, "cohere_url": url, **dict.fromkeys(parts, "cohere")}


def embeddings(url: str) -> dict[str, Any]:
    return {"embedder": "openai", "embedder_key": KEY, "embedder_url": f"{url}/v1"}


SETUPS = (
    Setup("chat", lambda url: model(url, "chat"), model_cases("chat")),
    Setup("responses", lambda url: model(url, "responses"), model_cases("responses")),
    Setup("cohere embed", lambda url: cohere(url, "embedder"), immediate_cases("embed")),
    Setup("cohere rerank", lambda url: cohere(url, "reranker"), immediate_cases("rerank")),
    Setup("embeddings", embeddings, immediate_cases("embeddings")),
    Setup(
        "qdrant",
        lambda url: {"qdrant_url": url, "qdrant_key": KEY, "qdrant_timeout_seconds": 8.0},
        qdrant_cases(),
        backend=Qdrant,
    ),
    Setup(
        "hurried cohere and chat",
        lambda url: (
            model(url, "chat") | cohere(url, "embedder", "reranker") | {"answer_timeout_seconds": SHORT_SECONDS}
        ),
        late_cases("embed", "rerank", "chat"),
    ),
    Setup(
        "hurried embeddings and responses",
        lambda url: model(url, "responses") | embeddings(url) | {"answer_timeout_seconds": SHORT_SECONDS},
        late_cases("embeddings", "responses"),
    ),
)
TABLE = [(setup, case) for setup in SETUPS for case in setup.cases]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Outcome]]]:
    """The outcome of each setup; all run at once."""
    folder = tmp_path_factory.mktemp("faults")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    with ThreadPoolExecutor(len(SETUPS)) as runs:
        yield {setup.name: runs.submit(run, setup, source, folder / setup.name.replace(" ", "-")) for setup in SETUPS}


def run(setup: Setup, source: Path, folder: Path) -> Outcome:
    """Index the book, serve it, and ask every contract in every case."""
    folder.mkdir()
    with setup.backend() as backend, ThreadPoolExecutor(len(ERROR_FIELDS)) as readers:
        options: dict[str, Any] = {
            "index": folder / "index",
            "answer_threshold": 0.0,
            "query_cache_size": 0,
            "max_concurrency": 16,
            "reader": "fast",  # many servers run at once
        }
        options |= {"answer_timeout_seconds": LONG_SECONDS} | setup.settings(backend.url)
        bootstrap.index_book(source, Settings(**options))
        with run_server_process(options, folder / "log") as server:
            backend.reply_with(MODEL_REPLY, always=True)
            outcome = Outcome(
                request(server.client, readers), hidden=(KEY, KEY[:8], READER, backend.url, backend.url[7:])
            )
            for case in setup.cases:
                backend.reset()
                backend.reply_with(MODEL_REPLY, always=True)
                case.begin(backend)
                outcome.by_case[case.name] = request(server.client, readers)
        outcome.log = (folder / "log").read_text()
    return outcome


def request(client: httpx.Client, readers: ThreadPoolExecutor) -> Mapping[str, httpx.Response]:
    """The responses of all contracts, which are asked at once."""

    def ask(path: str) -> httpx.Response:
        headers = {"Accept": "text/event-stream"} if path is STREAM else {}
        words = {"query" if "query" in path else "question": QUESTION}
        return client.post(path.partition(" ")[0], json=words, headers=headers)

    return dict(zip(ERROR_FIELDS, readers.map(ask, ERROR_FIELDS), strict=True))


def body(response: httpx.Response) -> Any:
    """The JSON of a response, or of the last event of a stream."""
    return json.loads(response.text.strip().rpartition("data: ")[2])


@pytest.mark.parametrize("setup", SETUPS[:6], ids=lambda setup: setup.name)
def test_without_faults_every_contract_answers(outcomes: dict[str, Future[Outcome]], setup: Setup) -> None:
    responses = outcomes[setup.name].result().without_fault
    assert {path: response.status_code for path, response in responses.items()} == dict.fromkeys(ERROR_FIELDS, 200)
    assert body(responses["/ask"])["grounded"] is True
    assert body(responses["/api/query"])["status"] == "success"
    writes = setup.cases[0].service == WRITER
    for path in OWN_PATHS:
        reply = body(responses[path])
        assert (reply["sentences"][0]["text"], reply["degraded"]) == (HORN, False)
        assert reply["trace"]["writer"] == (MODEL if writes else "quotes")
        assert reply["trace"]["usage"]["calls"] == writes


@pytest.mark.parametrize(("setup", "case"), TABLE, ids=lambda each: each.name)
def test_a_fault_has_the_status_code_and_body_of_each_contract(
    outcomes: dict[str, Future[Outcome]], setup: Setup, case: Case
) -> None:
    found = outcomes[setup.name].result().by_case[case.name]
    for path in ERROR_FIELDS.keys() - (set(OWN_PATHS) if case.service == WRITER else set()):
        response, reported = found[path], body(found[path])
        assert (path, response.status_code) == (path, case.status)
        assert reported.keys() == ERROR_FIELDS[path]
        wait = int(response.headers["Retry-After"]) if "Retry-After" in response.headers else None
        assert wait in (case.waits or (None,))
        if path != "/ask":
            assert (reported if path == "/chat" else reported["error"])["retry_after"] == wait
        code = (
            reported["error"]
            if path in ("/ask", "/chat")
            else reported["error"].get("code") or reported["error"]["type"]
        )
        assert code == {
            "/chat": CHAT_CODES[case.status],
            "/api/query": "RATE_LIMIT_EXCEEDED" if case.status == 429 else QUERY_CODES[case.service],
        }.get(path, case.kind or PROBLEM_KINDS[case.status])


@pytest.mark.parametrize(
    ("setup", "case"), [(setup, case) for setup, case in TABLE if case.service == WRITER], ids=lambda each: each.name
)
def test_if_a_model_fails_our_own_api_answers_with_quotes_and_says_so(
    outcomes: dict[str, Future[Outcome]], setup: Setup, case: Case
) -> None:
    found = outcomes[setup.name].result().by_case[case.name]
    for path in OWN_PATHS:
        reply = body(found[path])
        assert (found[path].status_code, reply["status"], reply["degraded"]) == (200, "answered", True)
        assert reply["trace"]["writer"] == (MODEL if case.sentences else "quotes")
        texts = tuple(sentence["text"] for sentence in reply["sentences"])
        assert texts == case.sentences if case.sentences else texts[0] == HORN
        assert all(sentence["citations"] for sentence in reply["sentences"])


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_no_key_address_vendor_message_or_reader_text_is_in_any_body_or_the_log(
    outcomes: dict[str, Future[Outcome]], setup: Setup
) -> None:
    outcome = outcomes[setup.name].result()
    vendors = [re.split(r"[{}`'*]", error.message)[0] for error in VENDOR_ERRORS.values()]
    vendors += ["Sorry", "sorry", "Gateway", "scripted: tell", "org-"]
    hidden = [*outcome.hidden, *(words for words in vendors if len(words) > 2)]
    responses = list(chain(outcome.without_fault.values(), *(found.values() for found in outcome.by_case.values())))
    for reported in [outcome.log, *(f"{response.headers} {response.text}" for response in responses)]:
        assert [words for words in hidden if words in reported] == []
    assert "Traceback" not in outcome.log
    assert ("The language model" in outcome.log) == any(case.service == WRITER for case in setup.cases)


def test_the_table_is_long_enough() -> None:
    assert len(TABLE) >= 30
    assert len({case.name for _, case in TABLE}) == len(TABLE)
