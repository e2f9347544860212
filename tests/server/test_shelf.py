"""Books that are served while new generations of them are published, and several books at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.process import Served, served

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.bootstrap import book_opener
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import IndexNotFoundError
from bookbound.server.book_pool import BookPool
from bookbound.settings import Settings
from bookbound.testing import SCRIPTED_MANIFEST

Write = Callable[[str], None]
QUESTION = {"question": "How many legs does a walking robot have?"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the little book anew, with another number of legs."""

    def written(legs: str) -> None:
        (folder := tmp_path / "book").mkdir(exist_ok=True)
        (folder / "README.md").write_text("# Robots\n\nA robot senses, plans and acts.\n")
        (folder / "legs.md").write_text(f"# Legs\n\nA walking robot has {legs} legs.\n")

    written("two")
    return written


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(index=tmp_path / "index", log="off")


@pytest.fixture
def running(tmp_path: Path, write: Write, settings: Settings) -> Iterator[Served]:
    bootstrap.index_book(tmp_path / "book", settings)
    with served(
        {"index": settings.index, "log": "off", "answered": 0}, tmp_path / "output", "--workers", "2"
    ) as server:
        yield server


def generations(server: Served, times: int = 12) -> set[str]:
    """What processes say is open, asked over so many new lines that each of them is met."""
    base = str(server.client.base_url).rstrip("/")
    return {httpx.get(f"{base}/health/ready", timeout=30).json()["generation"] for _ in range(times)}


def wait_for(server: Served, generation: str) -> None:
    """Until every process has moved there."""
    pause = threading.Event()
    for _ in range(600):
        if generations(server) == {generation}:
            return
        pause.wait(0.1)
    raise AssertionError(f"{generation} is not open everywhere")


def test_every_process_moves_to_what_is_published_and_back_without_a_failed_question(
    running: Served, write: Write, settings: Settings, tmp_path: Path
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
        wait_for(running, asyncio.run(bootstrap.store(settings).roll_back()).generation)
    finally:
        over.set()
        for asker in askers:
            asker.join()
    assert set(replies) == {200}
    assert "six legs" in httpx.post(f"{base}/ask", json=QUESTION, timeout=60).text


def test_a_service_that_has_no_book_yet_opens_the_first_that_is_published(
    tmp_path: Path, write: Write, settings: Settings
) -> None:
    async def go() -> str:
        shelf = book_opener.build_book_pool(settings)
        with pytest.raises(IndexNotFoundError):
            await shelf.ready()
        following = asyncio.create_task(shelf.follow())
        made = await asyncio.to_thread(bootstrap.index_book, tmp_path / "book", settings)
        for _ in range(1200):
            if shelf.open_books:
                break
            await asyncio.sleep(0.05)
        following.cancel()
        opened = shelf.open_books
        await shelf.close()
        assert opened == {BookRef(): made.manifest}
        return made.manifest.generation

    assert asyncio.run(go())


def test_each_book_is_asked_by_path_or_header_and_all_of_them_together(
    tmp_path: Path, write: Write, settings: Settings
) -> None:
    bootstrap.index_book(tmp_path / "book", settings)
    for name, legs in (("spiders", "eight"), ("ants", "six")):
        write(legs)
        bootstrap.index_book(tmp_path / "book", Settings(index=settings.index, book=name))
    with served({"index": settings.index, "log": "off", "answered": 0}, tmp_path / "output") as server:
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
            assert server.client.get(path).status_code == 404, "what tells of the service is no book's"
        next((settings.index / "books" / "ants" / "generations").glob("*/manifest.json")).write_text("{")
        assert "six legs" in text("/books/ants/ask"), "what is open stays open"


def test_of_several_editions_the_newest_is_asked_unless_the_reader_names_one(
    tmp_path: Path, write: Write, settings: Settings
) -> None:
    for edition, legs in (("1.0", "two"), ("1.10", "six"), ("1.9", "four")):
        write(legs)
        bootstrap.index_book(tmp_path / "book", Settings(index=settings.index, book="robots", edition=edition))
    chosen = {"index": settings.index, "log": "off", "answered": 0, "book": "robots"}
    with served(chosen, tmp_path / "output") as server:

        def text(path: str, **headers: str) -> str:
            return str(server.client.post(path, json=QUESTION, headers=headers).json()["answer"])

        assert "six legs" in text("/ask")
        assert "four legs" in text("/ask", **{"Bookbound-Edition": "1.9", "Bookbound-Book": "robots"})
        assert "two legs" in text("/books/robots@1.0/ask")
        told = server.client.post("/v1/answers", json=QUESTION).json()["trace"]
        assert (told["edition"], told["differs"]) == ("1.10", ["1.9", "1.0"])


def test_a_book_that_opens_slowly_is_opened_once_and_its_parts_are_let_go_of() -> None:
    opened: list[BookRef] = []
    closed: list[str] = []

    async def open_(volume: BookRef, parts: Pipeline | None) -> Pipeline:
        opened.append(volume)
        await asyncio.sleep(0.3)
        held = AsyncExitStack()
        held.callback(closed.append, "parts")
        parts_: dict[str, Any] = dict.fromkeys(("embedder", "examiner", "writer", "verifier", "point"))
        return Pipeline(index=Nothing(), held=held, **parts_)  # type: ignore[arg-type]

    async def published(volume: BookRef) -> str:
        return SCRIPTED_MANIFEST.generation

    async def go() -> None:
        shelf = BookPool(open_, published, BookRef())
        following = asyncio.create_task(shelf.follow())
        await asyncio.gather(*(shelf.ready() for _ in range(8)), asyncio.sleep(1.2))
        following.cancel()
        await shelf.close()

    asyncio.run(go())
    assert (opened, closed) == ([BookRef()], ["parts"])


def test_following_goes_on_after_whatever_went_wrong(caplog: pytest.LogCaptureFixture) -> None:
    looks: list[BookRef] = []

    async def open_(volume: BookRef, parts: Pipeline | None) -> Pipeline:
        raise IndexNotFoundError("nothing is here")

    async def published(volume: BookRef) -> str:
        looks.append(volume)
        raise OSError("the disk is away")

    async def go() -> None:
        following = asyncio.create_task(BookPool(open_, published, BookRef()).follow())
        for _ in range(1200):
            if len(looks) > 1:
                break
            await asyncio.sleep(0.05)
        assert not following.done()
        following.cancel()

    asyncio.run(go())
    assert [record.getMessage() for record in caplog.records if "OSError" in record.getMessage()] != []


class Nothing:
    """An index that holds nothing."""

    manifest = SCRIPTED_MANIFEST

    async def close(self) -> None:
        """There is nothing to let go of."""
