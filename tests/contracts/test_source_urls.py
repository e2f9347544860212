"""Tests that no contract gives an empty or broken URL, for every kind of book and selection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from starlette.testclient import TestClient
from tests.sources.pdf_files import make_pdf, text_column

from bookbound import bootstrap
from bookbound.bootstrap.web_app import create_web_app
from bookbound.contracts import agent, grounded_agent
from bookbound.contracts.source_url import build_source_url
from bookbound.domain.chunk import Place
from bookbound.settings import Settings

WICK, TRIMMED = "How often is the wick of the lamp trimmed?", "The wick of the lamp is trimmed every 12 hours."
FOREIGN = "The reading room of the library opens at nine in the morning on every weekday."
FOREIGN_QUESTION = "When does the reading room of the library open?"
URL_FIELDS = {"source_url", "url"}


def write_folder(folder: Path) -> Path:
    (folder / "the lamp (1).md").write_text(f"# Lamps\n\n## The wick\n\n{TRIMMED}\n", encoding="utf-8")
    return folder


def write_site(folder: Path) -> Path:
    (folder / "mkdocs.yml").write_text("site_name: Lamps\nsite_url: https://book.example/lamps/\n")
    (folder / "docs").mkdir()
    (folder / "docs" / "lamps.md").write_text(f"# Lamps\n\n## The wick\n\n{TRIMMED}\n", encoding="utf-8")
    return folder


def write_pdf(folder: Path) -> Path:
    file = folder / "the lamp (1).pdf"
    file.write_bytes(make_pdf([text_column(50, 60, ["A lamp needs care."]), text_column(50, 60, [TRIMMED])]))
    return file


@pytest.fixture(scope="module", params=[write_folder, write_site, write_pdf], ids=lambda write: write.__name__)
def settings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("book")
    (folder / "source").mkdir()
    settings = Settings(index=folder / "index", answer_threshold=0.0, query_log="off", rate_limits="off")
    bootstrap.index_book(request.param(folder / "source"), settings)
    return settings


@contextmanager
def client_of(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_web_app(settings)) as client:
        yield client


def find_urls(value: Any) -> Iterator[str | None]:
    """The values of all fields that contain a URL."""
    if isinstance(value, list):
        for each in value:
            yield from find_urls(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in URL_FIELDS:
                yield each
            yield from find_urls(each)


def check_url(url: str) -> None:
    assert re.fullmatch(r"[!-~]+", url), "a URL has no white space and only ASCII"
    assert not re.search(r"[<>\"\\^`{|}]", url)
    parts = urlsplit(url)
    assert parts.scheme in ("", "http", "https")
    assert bool(parts.netloc) == bool(parts.scheme)
    assert parts.path or parts.fragment
    assert "#" not in unquote(parts.path), "the fragment is not part of the path"


def test_every_url_of_an_http_contract_is_usable_with_and_without_a_selection(settings: Settings) -> None:
    selections = [(WICK, None), (WICK, TRIMMED), (FOREIGN_QUESTION, FOREIGN)]
    with client_of(settings) as client:
        for question, selected in selections:
            body = {"question": question, "query": question} | ({"selected_text": selected} if selected else {})
            ask, chat, query = (client.post(path, json=body).json() for path in ("/ask", "/chat", "/api/query"))
            assert ask["grounded"]
            assert chat["citations"]
            assert query["status"] == "success"
            urls = [*find_urls(ask), *find_urls(chat)]
            for url in [*urls, *(url for url in find_urls(query) if url is not None)]:
                assert url is not None
                check_url(url)
            links = re.findall(r"\]\(([^)]*)\)", chat["answer"])
            assert set(links) == {citation["source_url"] for citation in chat["citations"]}
            for citation in query["answer"]["citations"]:
                assert citation["chapter"] or citation["section"] or citation["source_url"]


def test_every_url_of_a_python_contract_is_usable(settings: Settings) -> None:
    with bootstrap.open_book(settings) as book:
        reply, found = agent.ask(WICK, book), agent.semantic_search("wick", book)
        assert isinstance(reply, agent.AgentResponse)
        grounded = grounded_agent.ask(WICK, book)
        chunks = grounded_agent.search_knowledge_base("wick", 3, book).chunks
    urls = [source.url for source in reply.sources] + [result.source_url for result in found.results]
    assert len(urls) >= 2
    assert all(url.startswith(("/", "https://")) for url in urls)
    urls += [citation.source_url for citation in grounded.citations] + [chunk.source_url for chunk in chunks]
    for url in urls:
        check_url(url)


@pytest.mark.parametrize(
    ("file", "url", "anchor", "expected"),
    [
        ("a.md", "https://book.example/a", "b", "https://book.example/a#b"),
        ("a.md", "/a", "", "/a"),
        ("a.md", "/a b", "(c)", "/a%20b#%28c%29"),
        ("my book.pdf#page=8", "my%20book.pdf", "page=8", "my%20book.pdf#page=8"),
        ("a.md", "", "", "a.md"),
        ("a.md", "", "b c", "a.md#b%20c"),
        ("a.md", "javascript:alert(1)", "", "a.md"),
        ("a.md", "//book.example/a", "", "a.md"),
        ("a.md", "book.example/a", "b", "a.md#b"),
        ("", "", "", "#selected_text"),
    ],
)
def test_a_place_without_a_usable_link_is_the_path_of_its_file(file: str, url: str, anchor: str, expected: str) -> None:
    assert build_source_url(Place(file, url, "", "", (), anchor, 0, 1)) == expected
