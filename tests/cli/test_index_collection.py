"""Indexing the chunks of an existing Qdrant collection, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models
from tests.cli.conftest import Run
from tests.indexing.store.qdrant_server import Fault, QdrantServer, run_server

from bookbound.indexing.store import qdrant_reader

DRIVES = (
    "A harmonic drive reduces the speed of a motor by a large ratio with almost no backlash. "
    "It consists of a wave generator, a flexspline and a circular spline. "
    "The gear ratio of the drive in the elbow joint is 120 to 1."
)
GREASE = (
    "The gear ratio of the drive in the elbow joint is 120 to 1. "
    "The flexspline is lubricated with grease every 500 hours of operation."
)
SITE = "https://book.example/docs"


def chunk(text: str, page: str, position: int, section: str) -> dict[str, Any]:
    """A payload as contract 002 describes it."""
    return {
        "content": text,
        "source_url": f"{SITE}/{page}",
        "section_title": section,
        "chunk_id": f"{page}-{position}",
        "chapter": "module-1",
        "page_title": page.capitalize(),
        "position": position,
        "content_hash": "0",
    }


BOOK = (chunk(DRIVES, "drives", 0, "Harmonic drive"), chunk(GREASE, "drives", 1, "Lubrication"))


def fill(server: QdrantServer, payloads: Sequence[Mapping[str, Any]], name: str = "book") -> str:
    """Makes a collection with vectors of another embedder, and returns its address."""
    server.client.create_collection(name, models.VectorParams(size=2, distance=models.Distance.COSINE))
    add(server, payloads, name)
    return f"{server.url}/{name}"


def add(server: QdrantServer, payloads: Sequence[Mapping[str, Any]], name: str = "book", first: int = 1) -> None:
    points = [
        models.PointStruct(id=number, vector=[1.0, 0.0], payload=dict(payload))
        for number, payload in enumerate(payloads, first)
    ]
    if points:
        server.client.upsert(name, points)


@pytest.fixture(params=["local mode", "real server"])
def server(request: pytest.FixtureRequest) -> Iterator[QdrantServer]:
    real = request.getfixturevalue("qdrant_node") if request.param == "real server" else None
    if real:
        real.clear()
    with run_server(upstream=real.urls if real else "") as qdrant:
        yield qdrant


def test_a_question_is_answered_from_a_collection_with_its_addresses(server: QdrantServer, run: Run) -> None:
    indexed = run("index", "--from-qdrant", fill(server, BOOK))
    assert indexed.returncode == 0, indexed.stderr
    assert "collection" in indexed.stdout
    asked = run("ask", "How often is the flexspline lubricated?", "--json", BOOKBOUND_READER="fast")
    reply = json.loads(asked.stdout)
    assert "every 500 hours" in reply["answer"]
    place = reply["citations"][0]
    assert (place["url"], place["chapter"], place["section"]) == (f"{SITE}/drives", "module-1", "Lubrication")
    status = json.loads(run("status", "--json").stdout)
    assert (status["title"], status["kind"], status["pages"]) == ("Book", "collection", 1)
    inspected = run("inspect", "--from-qdrant", f"{server.url}/collections/book")
    assert "collection (chunks of a collection in Qdrant)" in inspected.stdout


def test_indexing_again_embeds_only_the_page_that_changed(server: QdrantServer, run: Run) -> None:
    address = fill(server, [*BOOK, chunk("A node that crashed is restarted.", "nodes", 0, "Restart")])
    assert run("index", "--from-qdrant", address).returncode == 0
    assert "none; the published index stays as it is" in run("index", "--from-qdrant", address).stdout
    add(server, [chunk("A node that crashed is restarted twice.", "nodes", 0, "Restart")], first=3)
    found = json.loads(run("index", "--from-qdrant", address, "--json").stdout)
    assert (found["changes"]["changed"], found["embedded"], found["unchanged"]) == (["docs/nodes"], 1, 1)


def test_two_editions_and_an_exported_copy_answer_by_their_names(
    server: QdrantServer, run: Run, tmp_path: Path
) -> None:
    for edition, hours in (("1.0", "500"), ("2.0", "900")):
        payloads = [payload | {"content": payload["content"].replace("500", hours)} for payload in BOOK]
        address = fill(server, payloads, f"gears-{edition}")
        assert run("index", "--from-qdrant", address, "--book", "gears", "--edition", edition).returncode == 0
    found = run("search", "grease", "--book", "gears", "--edition", "1.0", "--json").stdout
    assert "500 hours" in found
    assert "900 hours" in run("search", "grease", "--book", "gears", "--json").stdout
    assert run("export", "copy.bookbound", "--book", "gears", "--edition", "1.0").returncode == 0
    assert run("import", "copy.bookbound", "--index", "other").returncode == 0
    assert f"{SITE}/drives" in run("search", "grease", "--index", "other", "--json").stdout


def test_a_large_collection_is_read_in_pages(server: QdrantServer, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_reader, "SCROLL_PAGE_SIZE", 2)
    payloads = [chunk(f"Motor {number} turns joint {number}.", f"joint-{number}", 0, "") for number in range(5)]
    server.fail(Fault(503), "/points/scroll")
    inspected = run("inspect", "--from-qdrant", fill(server, payloads), "--json")
    assert json.loads(inspected.stdout)["pages"] == 5
    assert len(server.requests("POST", "/points/scroll")) == 4  # three pages, one of them asked for again


def test_unusual_fields_are_named_on_the_command_line(server: QdrantServer, run: Run) -> None:
    address = fill(server, [{"prose": DRIVES, "place": {"web": f"{SITE}/drives"}}])
    refused = run("index", "--from-qdrant", address)
    assert refused.returncode == 2
    assert "found prose, place" in refused.stderr
    assert "--field text=NAME" in refused.stderr
    named = run("index", "--from-qdrant", address, "--field", "text=prose", "--field", "url=place.web")
    assert named.returncode == 0, named.stderr
    wrong = run("index", "--from-qdrant", address, "--field", "words=prose")
    assert (wrong.returncode, "Map one of text, url" in wrong.stderr) == (2, True)


def test_the_key_of_the_source_is_sent_and_its_absence_is_explained(run: Run) -> None:
    with run_server(key="secret-of-the-source") as server:
        address = fill(server, BOOK)
        refused = run("index", "--from-qdrant", address, BOOKBOUND_QDRANT_KEY="another")
        assert (refused.returncode, "BOOKBOUND_SOURCE_KEY" in refused.stderr) == (3, True)
        assert {call.key for call in server.calls} == {None}
        for variable in ("BOOKBOUND_SOURCE_KEY", "QDRANT_API_KEY"):
            done = run("inspect", "--from-qdrant", address, **{variable: "secret-of-the-source"})
            assert done.returncode == 0, done.stderr


def test_each_failure_says_what_to_do(server: QdrantServer, run: Run) -> None:
    def complaint(*arguments: str) -> tuple[int, str]:
        done = run("index", *arguments)
        return done.returncode, re.sub(r"\s+", " ", done.stderr)

    fill(server, [], "empty")
    fill(server, [chunk(DRIVES, "drives", 0, "")], "full")
    for arguments, code, message in (
        (("--from-qdrant", f"{server.url}/empty"), 2, "The collection is empty"),
        (("--from-qdrant", f"{server.url}/missing"), 2, "no such collection. It has empty, full."),
        (("--from-qdrant", server.url), 2, "http://localhost:6333/COLLECTION"),
        (("--from-qdrant", "http://me:secret@host:6333/full"), 2, "without a password"),
        (("--from-qdrant", "http://127.0.0.1:9/full"), 3, "could not be reached"),
        (("--from-qdrant", f"{server.url}/full", "--watch"), 2, "Only a folder or file can be watched"),
        (("--from-qdrant", f"{server.url}/full", "--site", "https://a.example"), 2, "Name one source"),
        ((".", "--field", "text=body"), 2, "Use it with --from-qdrant"),
        (("--from-qdrant", f"{server.url}/full", "--field", "text"), 2, "ROLE=NAME"),
    ):
        found = complaint(*arguments)
        assert found[0] == code, found
        assert message in found[1]
        assert "secret" not in found[1]


def test_chunks_without_an_address_are_left_out_and_exit_with_5(server: QdrantServer, run: Run) -> None:
    unsafe = chunk("Click here to win.", "x", 0, "") | {"source_url": "javascript:alert(1)"}
    indexed = run("index", "--from-qdrant", fill(server, [*BOOK, unsafe]))
    assert (indexed.returncode, "no http or https address" in indexed.stderr) == (5, True)
    assert "Click here" not in run("search", "click here to win", "--json").stdout
