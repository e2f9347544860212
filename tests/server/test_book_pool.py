"""Books are served while new generations of them are published, and several books at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.server.server_process import ServerProcess, run_server_process
from tests.server.test_app import ASKED, INVALID_STATUSES, error_fields

from bookbound import bootstrap
from bookbound.answering.engine import Engine, OpenBook
from bookbound.bootstrap import book_opener
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import BookNotFoundError, CorruptIndexError, IndexNotFoundError
from bookbound.server.admission import AdmissionController
from bookbound.server.app import create_app
from bookbound.server.book_pool import BookPool
from bookbound.settings import Settings
from bookbound.testing import SCRIPTED_MANIFEST

Write = Callable[[str], None]
QUESTION = {"question": "How many legs does a walking robot have?"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a small book with a number of legs."""

    def write_book(legs: str) -> None:
        (folder := tmp_path / "book").mkdir(exist_ok=True)
        (folder / "README.md").write_text("# Robots\n\nA robot senses, plans and acts.\n")
        (folder / "legs.md").write_text(f"# Legs\n\nA walking robot has {legs} legs.\n")

    write_book("two")
    return write_book


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(index=tmp_path / "index", query_log="off")


@pytest.fixture
def running(tmp_path: Path, write: Write, settings: Settings) -> Iterator[ServerProcess]:
    bootstrap.index_book(tmp_path / "book", settings)
    with run_server_process(
        {"index": settings.index, "query_log": "off", "answer_threshold": 0}, tmp_path / "output", "--workers", "2"
    ) as server:
        yield server


def generations(server: ServerProcess, times: int = 12) -> set[str]:
    """The open generations, read over enough connections to reach every worker."""
    base = str(server.client.base_url).rstrip("/")
    return {httpx.get(f"{base}/health/ready", timeout=30).json()["generation"] for _ in range(times)}


def wait_for(server: ServerProcess, generation: str) -> None:
    """Wait until every worker has opened a generation."""
    pause = threading.Event()
    for _ in range(600):
        if generations(server) == {generation}:
            return
        pause.wait(0.1)
    raise AssertionError(f"{generation} is not open everywhere")


@pytest.mark.slow
def test_every_worker_follows_publishing_and_rollback_without_a_failed_question(
    running: ServerProcess, write: Write, settings: Settings, tmp_path: Path
) -> None:
    replies: list[int] = []
    over = threading.Event()
    base = str(running.client.base_url).rstrip("/")

    def ask() -> None:
        while not over.is_set():
            with httpx.Client(base_url=base, timeout=60) as client:
                reply = client.post("/ask", json=QUESTION)
            replies.append(reply.status_code)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    try:
        for legs in ("four", "six", "eight"):
            write(legs)
            wait_for(running, bootstrap.index_book(tmp_path / "book", settings).manifest.generation)
            assert f"{legs} legs" in httpx.post(f"{base}/ask", json=QUESTION, timeout=60).text
        wait_for(running, asyncio.run(bootstrap.build_store(settings).roll_back()).generation)
    finally:
        over.set()
        for asker in askers:
            asker.join()
    assert set(replies) == {200}
    assert "six legs" in httpx.post(f"{base}/ask", json=QUESTION, timeout=60).text


def test_a_server_without_a_book_opens_the_first_that_is_published(
    tmp_path: Path, write: Write, settings: Settings
) -> None:
    async def run() -> str:
        pool = book_opener.build_book_pool(settings)
        with pytest.raises(IndexNotFoundError):
            await pool.ensure_open()
        following = asyncio.create_task(pool.follow())
        indexed = await asyncio.to_thread(bootstrap.index_book, tmp_path / "book", settings)
        for _ in range(1200):
            if pool.open_books:
                break
            await asyncio.sleep(0.05)
        following.cancel()
        opened = pool.open_books
        await pool.close()
        assert opened == {BookRef(): indexed.manifest}
        return indexed.manifest.generation

    assert asyncio.run(run())


@pytest.mark.slow
def test_a_request_names_its_book_by_path_or_header_or_asks_all(
    tmp_path: Path, write: Write, settings: Settings
) -> None:
    bootstrap.index_book(tmp_path / "book", settings)
    for name, legs in (("spiders", "eight"), ("ants", "six")):
        write(legs)
        bootstrap.index_book(tmp_path / "book", Settings(index=settings.index, book=name))
    with run_server_process(
        {"index": settings.index, "query_log": "off", "answer_threshold": 0}, tmp_path / "output"
    ) as server:
        ask = server.client.post

        def text(path: str, **headers: str) -> str:
            return str(ask(path, json=QUESTION, headers=headers).json().get("answer"))

        assert "two legs" in text("/ask")
        assert "eight legs" in text("/books/spiders/ask")
        assert "six legs" in text("/ask", **{"Bookbound-Book": "ants"})
        found = server.client.post("/books/all/v1/search", json={"query": "walking robot legs"}).json()
        books = {passage["book"] for passage in found["passages"]}
        assert {"spiders", "ants"} <= books
        for path in ("/books/beetles/ask", "/books/..%2f/ask", "/books/a%00b/ask", "/books/ants@9/ask", "/books/@/ask"):
            assert ask(path, json=QUESTION).status_code == 404
        for path in ("/books/@/metrics", "/books/ants/metrics", "/books/ants/health/ready", "/books/ants/openapi.json"):
            assert server.client.get(path).status_code == 404, "these paths are about the service, not a book"
        next((settings.index / "books" / "ants" / "generations").glob("*/manifest.json")).write_text("{")
        assert "six legs" in text("/books/ants/ask"), "an open book stays open"


@pytest.mark.slow
def test_the_newest_edition_answers_unless_the_request_names_one(
    tmp_path: Path, write: Write, settings: Settings
) -> None:
    for edition, legs in (("1.0", "two"), ("1.10", "six"), ("1.9", "four")):
        write(legs)
        bootstrap.index_book(tmp_path / "book", Settings(index=settings.index, book="robots", edition=edition))
    options = {"index": settings.index, "query_log": "off", "answer_threshold": 0, "book": "robots"}
    with run_server_process(options, tmp_path / "output") as server:

        def text(path: str, **headers: str) -> str:
            return str(server.client.post(path, json=QUESTION, headers=headers).json()["answer"])

        assert "six legs" in text("/ask")
        assert "four legs" in text("/ask", **{"Bookbound-Edition": "1.9", "Bookbound-Book": "robots"})
        assert "two legs" in text("/books/robots@1.0/ask")
        trace = server.client.post("/v1/answers", json=QUESTION).json()["trace"]
        assert (trace["edition"], trace["differs"]) == ("1.10", ["1.9", "1.0"])


class EmptyIndex:
    """An index without chunks."""

    manifest = SCRIPTED_MANIFEST

    async def close(self) -> None: ...


async def open_engine() -> Engine:
    return Engine(*[None] * 4)  # type: ignore[arg-type]


def test_a_book_that_opens_slowly_is_opened_once_and_the_engine_is_closed() -> None:
    opened: list[BookRef] = []
    closed: list[str] = []

    async def open_closing_engine() -> Engine:
        engine = await open_engine()
        engine.resources.callback(closed.append, "engine")
        return engine

    async def open_slowly(ref: BookRef, engine: Engine) -> OpenBook:
        opened.append(ref)
        await asyncio.sleep(0.3)
        return OpenBook(EmptyIndex(), None)  # type: ignore[arg-type]

    async def find_version(ref: BookRef) -> str:
        return SCRIPTED_MANIFEST.generation

    async def run() -> None:
        pool = BookPool(open_closing_engine, open_slowly, find_version, BookRef())
        following = asyncio.create_task(pool.follow())
        await asyncio.gather(*(pool.ensure_open() for _ in range(8)), asyncio.sleep(1.2))
        following.cancel()
        await pool.close()

    asyncio.run(run())
    assert (opened, closed) == ([BookRef()], ["engine"])


def test_following_continues_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    lookups: list[BookRef] = []

    async def open_nothing(ref: BookRef, engine: Engine) -> OpenBook:
        raise IndexNotFoundError("nothing is here")

    async def find_version(ref: BookRef) -> str:
        lookups.append(ref)
        raise OSError("the disk is missing")

    async def run() -> None:
        following = asyncio.create_task(BookPool(open_engine, open_nothing, find_version, BookRef()).follow())
        for _ in range(1200):
            if len(lookups) > 1:
                break
            await asyncio.sleep(0.05)
        assert not following.done()
        following.cancel()

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records if "OSError" in record.getMessage()] != []


def test_readers_do_not_learn_why_a_book_cannot_be_opened(caplog: pytest.LogCaptureFixture) -> None:
    errors: dict[str, Exception] = {"missing": IndexNotFoundError("at /srv"), "broken": CorruptIndexError("at /srv")}

    async def open_nothing(ref: BookRef, engine: Engine) -> OpenBook:
        raise errors[ref.book]

    async def find_version(ref: BookRef) -> str:
        return ""

    pool = BookPool(open_engine, open_nothing, find_version, BookRef())
    with pytest.raises(BookNotFoundError, match="no book or edition of this name"):
        asyncio.run(pool.open_requested(BookRef("missing")))
    assert not caplog.records
    with pytest.raises(CorruptIndexError):
        asyncio.run(pool.open_requested(BookRef("broken")))
    assert "cannot be opened" in caplog.text


UNKNOWN_BOOKS: list[tuple[str, dict[str, str]]] = [
    ("/books/missing", {}),
    ("/books/missing@2.0", {}),
    ("/books/no name", {}),
    ("", {"Bookbound-Book": "missing"}),
    ("", {"Bookbound-Book": "no name"}),
]


@pytest.fixture
def client_without_books() -> Iterator[TestClient]:
    async def open_nothing(ref: BookRef, engine: Engine) -> OpenBook:
        raise IndexNotFoundError("nothing is here")

    async def find_version(ref: BookRef) -> str:
        return ""

    admission = AdmissionController(max_concurrency=1, max_queue=0)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with admission.serve_books(BookPool(open_engine, open_nothing, find_version, BookRef())):
            yield

    with TestClient(create_app(admission, Settings(rate_limits="off"), lifespan)) as client:
        yield client


@pytest.mark.parametrize(("prefix", "headers"), UNKNOWN_BOOKS)
@pytest.mark.parametrize("path", ASKED)
def test_an_invalid_body_to_an_unknown_book_has_the_status_of_invalid_input_and_a_valid_one_404(
    client_without_books: TestClient, path: str, prefix: str, headers: dict[str, str]
) -> None:
    json_headers = headers | {"Content-Type": "application/json"}
    for body in (b"{", b"{}", b'{"question": " ", "query": " "}'):
        invalid = client_without_books.post(prefix + path, content=body, headers=json_headers)
        assert (invalid.status_code, set(invalid.json())) == (INVALID_STATUSES[path], error_fields(path))
    unknown = client_without_books.post(prefix + path, json=ASKED[path], headers=headers)
    assert (unknown.status_code, set(unknown.json())) == (404, error_fields(path))
    assert "no book or edition of this name" in unknown.text
