"""Every way in which a service can fail, as each face tells it: the real server and SDKs, and scripted services.

Each setup is a server in a process of its own, asked in all its cases while the other setups are asked in theirs.
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
from tests.server.process import served

from bookbound import bootstrap
from bookbound.settings import Settings
from bookbound.testing.scripted_replies import VENDOR_ERRORS
from bookbound.testing.scripted_services import Fault, ScriptedServices

pytestmark = pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
HORN = "In fog the horn sounds for four seconds in every minute."
KEEPER = "The keeper writes down in the log book at which hour the horn was started and at which hour it was stopped."
BOOK = f"# Lighthouse\n\n## The fog horn\n\n{HORN}\n{KEEPER}\n"
READER = "Melchior"
QUESTION = f"{READER} asks: for how many seconds in every minute does the horn sound in fog?"
KEY, MODEL = "sk-Zebulon-0123456789", "a-scripted-model"
SAID = {"sentences": [{"text": HORN, "passages": [1]}], "missing": ""}
TWICE = {"sentences": [{"text": HORN, "passages": [1]}, {"text": KEEPER, "passages": [1]}], "missing": ""}
FRENCH = "Par temps de brouillard, la corne retentit pendant quatre secondes à chaque minute de la nuit."
IN_FRENCH = {"sentences": [{"text": FRENCH, "passages": [1]}], "missing": ""}
PATIENT, HURRIED = 20.0, 1.0
"""The deadline where a service says at once that it fails, and where it keeps all waiting."""

STREAM = "/v1/answers as a stream"
OURS = ("/v1/answers", STREAM)
BODIES = {
    "/ask": {"error", "detail"},
    "/chat": {"error", "message", "details", "retry_after"},
    "/api/query": {"status", "answer", "refusal", "error", "metadata"},
    "/v1/answers": {"error", "request_id"},
    STREAM: {"error", "request_id"},
}
KINDS = {503: "unreachable", 504: "timed_out", 429: "limit_reached"}
CHAT = {503: "service_unavailable", 504: "timeout", 429: "rate_limit_exceeded"}
WRITER = "language model"
SERVICES = {"chat": WRITER, "responses": WRITER, "embed": "cohere", "rerank": "cohere", "embeddings": "embeddings"}
QUERY = {
    WRITER: "OPENROUTER_TIMEOUT",
    "cohere": "COHERE_FAILURE",
    "embeddings": "COHERE_FAILURE",
    "qdrant": "QDRANT_TIMEOUT",
}
LATE = (Fault.TIMEOUT, Fault.STREAM_HANGS, Fault.SLOW)


@dataclass(frozen=True)
class Case:
    """How which service fails, and the status and the seconds to wait that follow; `said` is what held before it."""

    name: str
    service: str
    begin: Callable[[Any], None]
    status: int = 503
    waits: tuple[int, ...] = ()
    said: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Setup:
    """What a server is told to use, and how that fails; `backend` is where it is."""

    name: str
    settings: Callable[[str], dict[str, Any]]
    cases: tuple[Case, ...]
    backend: Callable[[], Any] = ScriptedServices


@dataclass
class Outcome:
    """What the faces answered where nothing failed and in each case, and what the server wrote down meanwhile."""

    well: Mapping[str, httpx.Response]
    of: dict[str, Mapping[str, httpx.Response]] = field(default_factory=dict)
    log: str = ""
    hidden: tuple[str, ...] = ()


def failing(endpoint: str, fault: Fault, name: str = "", said: Any = SAID, **expected: Any) -> Case:
    """An endpoint that fails so until the next case."""
    wait = expected.pop("retry_after", None)

    def begin(services: ScriptedServices) -> None:
        services.says(said, always=True)
        services.fails(fault, path=endpoint, always=True, retry_after=wait)

    held = (HORN,) if said is TWICE else ()
    return Case(name or f"{endpoint} {fault.name}", SERVICES[endpoint], begin, said=held, **expected)


def saying(endpoint: str, name: str, said: Any) -> Case:
    """A model that says what is no answer."""
    return Case(f"{endpoint} {name}", SERVICES[endpoint], lambda services: services.says(said, always=True))


def at_once(endpoint: str) -> tuple[Case, ...]:
    """Each fault of an endpoint that shows at once; of limits those with no word on how long, with seconds, a date."""
    faults = [each for each in Fault if endpoint in each.endpoints and each not in (Fault.RATE_LIMITED, *LATE)]
    date = datetime.now(UTC) + timedelta(minutes=30)
    limits = {"": (None, (10,)), " for seconds": (41, (41,)), " until a date": (date, tuple(range(1200, 1801)))}
    limited = partial(failing, endpoint, Fault.RATE_LIMITED, status=429)
    return (
        *(failing(endpoint, each) for each in faults),
        *(limited(f"{endpoint} limited{name}", retry_after=at, waits=waits) for name, (at, waits) in limits.items()),
        Case(f"{endpoint} refused", SERVICES[endpoint], ScriptedServices.close),
    )


def late(*endpoints: str) -> tuple[Case, ...]:
    """Each fault of some endpoints that keeps all waiting."""
    faults = [(endpoint, each) for endpoint in endpoints for each in LATE if endpoint in each.endpoints]
    return tuple(failing(endpoint, each, status=504) for endpoint, each in faults)


def spoken(endpoint: str) -> tuple[Case, ...]:
    """How a model fails, in all that shows at once."""
    return (
        saying(endpoint, "prose", "The horn sounds for four seconds."),
        saying(endpoint, "another language", IN_FRENCH),
        failing(endpoint, Fault.STREAM_STOPS, f"{endpoint} stops after a sentence", TWICE),
        failing(endpoint, Fault.CUT_SHORT, f"{endpoint} is cut short after a sentence", TWICE),
        *at_once(endpoint),
    )


class Qdrant(ExitStack):
    """A Qdrant server that can be told to fail, as the scripted services can."""

    def __init__(self) -> None:
        super().__init__()
        self.server = self.enter_context(qdrant_server.serving(KEY))
        self.url = self.server.url

    def says(self, reply: object, always: bool = False) -> None:
        """Qdrant says nothing of itself."""

    def forget(self) -> None:
        self.server.faults.clear()


def broken(*, path: str = "", **how: Any) -> Callable[[Qdrant], None]:
    return lambda qdrant: qdrant.server.fail(qdrant_server.Fault(**how), path, times=99)


def qdrant_cases() -> tuple[Case, ...]:
    told = json.dumps({"status": {"error": f"Wrong input at {KEY}: Sorry about that"}}).encode()
    failing = {
        **{f"status {status}": broken(status=status, body=told) for status in (401, 403, 500, 502, 503)},
        "hangs up": broken(way="hang up"),
        "truncated": broken(way="cut off"),
        "no json": broken(body=b"<html>Sorry about that</html>"),
        "another shape": broken(body=b'{"result": [7]}'),
    }
    limited = broken(status=429, headers=(("Retry-After", "41"),))
    return (
        *(Case(f"qdrant {name}", "qdrant", begin) for name, begin in failing.items()),
        *(
            Case(f"qdrant status {status}", "qdrant", broken(status=status, body=told), kind="index_unavailable")
            for status in (400, 404)
        ),
        Case("qdrant limited for seconds", "qdrant", limited, 429, (41,)),
        Case("qdrant silent", "qdrant", broken(way="be silent"), 504),
        Case("qdrant refused", "qdrant", Qdrant.close),
    )


def model(url: str, api: str) -> dict[str, Any]:
    return {"model": MODEL, "model_url": f"{url}/v1", "model_key": KEY, "model_api": api}


def cohere(url: str, *parts: str) -> dict[str, Any]:
    return {"cohere_key": KEY, "cohere_url": url, **dict.fromkeys(parts, "cohere")}


def embeddings(url: str) -> dict[str, Any]:
    return {"embedder": "openai", "embed_key": KEY, "embed_url": f"{url}/v1"}


SETUPS = (
    Setup("chat", lambda url: model(url, "chat"), spoken("chat")),
    Setup("responses", lambda url: model(url, "responses"), spoken("responses")),
    Setup("cohere embed", lambda url: cohere(url, "embedder"), at_once("embed")),
    Setup("cohere rerank", lambda url: cohere(url, "examiner"), at_once("rerank")),
    Setup("embeddings", embeddings, at_once("embeddings")),
    Setup(
        "qdrant",
        lambda url: {"qdrant_url": url, "qdrant_key": KEY, "qdrant_timeout": 5.0},
        qdrant_cases(),
        backend=Qdrant,
    ),
    Setup(
        "hurried cohere and chat",
        lambda url: model(url, "chat") | cohere(url, "embedder", "examiner") | {"deadline": HURRIED},
        late("embed", "rerank", "chat"),
    ),
    Setup(
        "hurried embeddings and responses",
        lambda url: model(url, "responses") | embeddings(url) | {"deadline": HURRIED},
        late("embeddings", "responses"),
    ),
)
TABLE = [(setup, case) for setup in SETUPS for case in setup.cases]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Outcome]]]:
    """What came of each setup; all of them are under way at once."""
    folder = tmp_path_factory.mktemp("faults")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    with ThreadPoolExecutor(len(SETUPS)) as runs:
        yield {setup.name: runs.submit(run, setup, source, folder / setup.name.replace(" ", "-")) for setup in SETUPS}


def run(setup: Setup, source: Path, folder: Path) -> Outcome:
    """Index the book, serve it, and ask every face in every case."""
    folder.mkdir()
    with setup.backend() as backend, ThreadPoolExecutor(len(BODIES)) as readers:
        chosen: dict[str, Any] = {"index": folder / "index", "answered": 0.0, "remembered": 0, "at_once": 16}
        chosen |= {"deadline": PATIENT} | setup.settings(backend.url)
        bootstrap.index_book(source, Settings(**chosen))
        with served(chosen, folder / "log") as server:
            backend.says(SAID, always=True)
            outcome = Outcome(
                asked(server.client, readers), hidden=(KEY, KEY[:8], READER, backend.url, backend.url[7:])
            )
            for case in setup.cases:
                backend.forget()
                backend.says(SAID, always=True)
                case.begin(backend)
                outcome.of[case.name] = asked(server.client, readers)
        outcome.log = (folder / "log").read_text()
    return outcome


def asked(client: httpx.Client, readers: ThreadPoolExecutor) -> Mapping[str, httpx.Response]:
    """What each face answers; they are asked at once."""

    def ask(path: str) -> httpx.Response:
        headers = {"Accept": "text/event-stream"} if path is STREAM else {}
        words = {"query" if "query" in path else "question": QUESTION}
        return client.post(path.partition(" ")[0], json=words, headers=headers)

    return dict(zip(BODIES, readers.map(ask, BODIES), strict=True))


def body(response: httpx.Response) -> Any:
    """The JSON of a response; of a stream, the last event."""
    return json.loads(response.text.strip().rpartition("data: ")[2])


@pytest.mark.parametrize("setup", SETUPS[:6], ids=lambda setup: setup.name)
def test_where_nothing_fails_every_face_answers(outcomes: dict[str, Future[Outcome]], setup: Setup) -> None:
    well = outcomes[setup.name].result().well
    assert {path: response.status_code for path, response in well.items()} == dict.fromkeys(BODIES, 200)
    assert body(well["/ask"])["grounded"] is True
    assert body(well["/api/query"])["status"] == "success"
    writes = setup.cases[0].service == WRITER
    for path in OURS:
        ours = body(well[path])
        assert (ours["sentences"][0]["text"], ours["degraded"]) == (HORN, False)
        assert ours["trace"]["writer"] == (MODEL if writes else "quotes")
        assert ours["trace"]["usage"]["calls"] == writes


@pytest.mark.parametrize(("setup", "case"), TABLE, ids=lambda each: each.name)
def test_a_fault_has_the_status_code_and_body_of_each_contract(
    outcomes: dict[str, Future[Outcome]], setup: Setup, case: Case
) -> None:
    found = outcomes[setup.name].result().of[case.name]
    for path in BODIES.keys() - (set(OURS) if case.service == WRITER else set()):
        response, told = found[path], body(found[path])
        assert (path, response.status_code) == (path, case.status)
        assert told.keys() == BODIES[path]
        wait = int(response.headers["Retry-After"]) if "Retry-After" in response.headers else None
        assert wait in (case.waits or (None,))
        if path != "/ask":
            assert (told if path == "/chat" else told["error"])["retry_after"] == wait
        code = told["error"] if path in ("/ask", "/chat") else told["error"].get("code") or told["error"]["type"]
        assert code == {
            "/chat": CHAT[case.status],
            "/api/query": "RATE_LIMIT_EXCEEDED" if case.status == 429 else QUERY[case.service],
        }.get(path, case.kind or KINDS[case.status])


@pytest.mark.parametrize(
    ("setup", "case"), [(setup, case) for setup, case in TABLE if case.service == WRITER], ids=lambda each: each.name
)
def test_where_a_model_fails_our_own_contract_answers_in_the_book_s_words_and_says_so(
    outcomes: dict[str, Future[Outcome]], setup: Setup, case: Case
) -> None:
    found = outcomes[setup.name].result().of[case.name]
    for path in OURS:
        ours = body(found[path])
        assert (found[path].status_code, ours["status"], ours["degraded"]) == (200, "answered", True)
        assert ours["trace"]["writer"] == (MODEL if case.said else "quotes")
        texts = tuple(sentence["text"] for sentence in ours["sentences"])
        assert texts == case.said if case.said else texts[0] == HORN
        assert all(sentence["citations"] for sentence in ours["sentences"])


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_no_key_address_vendor_s_word_or_reader_s_word_is_in_any_body_or_in_the_log(
    outcomes: dict[str, Future[Outcome]], setup: Setup
) -> None:
    outcome = outcomes[setup.name].result()
    vendors = [re.split(r"[{}`'*]", complaint.message)[0] for complaint in VENDOR_ERRORS.values()]
    vendors += ["Sorry", "sorry", "Gateway", "scripted: tell", "org-", FRENCH[:20]]
    hidden = [*outcome.hidden, *(words for words in vendors if len(words) > 2)]
    responses = list(chain(outcome.well.values(), *(found.values() for found in outcome.of.values())))
    for told in [outcome.log, *(f"{response.headers} {response.text}" for response in responses)]:
        assert [words for words in hidden if words in told] == []
    assert "Traceback" not in outcome.log
    assert ("The language model" in outcome.log) == any(case.service == WRITER for case in setup.cases)


def test_the_table_is_long_enough() -> None:
    assert len(TABLE) >= 30
    assert len({case.name for _, case in TABLE}) == len(TABLE)
