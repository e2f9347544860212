"""Tests in a real Chromium that no word of a book, file name, question, selection or model becomes an element."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from html import escape
from pathlib import Path
from typing import Any

import pytest
from tests.server.page.conftest import Tab
from tests.server.page.payloads import FIND_CHANGES, HOSTILE_LINKS, PAYLOADS, WATCH_CALLS
from tests.server.server_process import run_fast_server
from tests.server.thread_server import run_in_thread

from bookbound import bootstrap
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.ports import Index
from bookbound.indexing.pipeline import BookSource, build_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.sources import parse_book
from bookbound.testing import ScriptedBackend, ScriptedEmbedder, make_passage, make_unsure
from bookbound.testing.scripted_services import ScriptedServices

SERVERS = ("hostile_books", "model_server")
QUESTION = "What does the label of the strain wave gear say?"
LABEL = "The label of the strain wave gear says “{}”."
LABELS = [LABEL.format(payload) for payload in PAYLOADS[48:96:12]]


def write_book(folder: Path, texts: list[str]) -> Path:
    """A built site with the texts in every kind of element, in its file names, and as the targets of its links."""
    folder.mkdir()
    sections = []
    for number, text in enumerate(texts):
        words, link = escape(text), escape(HOSTILE_LINKS[number % len(HOSTILE_LINKS)])
        sections.append(
            f"<h2 id='s{number}'>{words}</h2><p>{words} <em>{words}</em> <a href='{words}'>{words}</a> "
            f"<a href='{link}'>{words}</a></p><pre class='language-html'>{words}</pre><blockquote>{words}</blockquote>"
            f"<img alt='{words}' src='{link}'>"
            f"<ul><li>{words}<ol><li><code>{words}</code></ol></ul><table><tr><th>{words}<tr><td>{words}</table>"
            f"<div class='admonition warning'><p>{words}</p><p>{words}</div><dl><dt>{words}<dd>{words}</dl>"
        )
        file = folder / f"{number:03} {text.strip('./')}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<title>{words}</title><main><h1>{words}</h1><p>{words}</p></main>", encoding="utf-8")
    (folder / "index.html").write_text(f"<main><h1>{escape(texts[0])}</h1>{''.join(sections)}</main>", encoding="utf-8")
    return folder


def write_markdown(folder: Path) -> Path:
    """A book that uses the payloads as markup."""
    folder.mkdir()
    pages = "".join(
        f"## {each}\n\n![{each}](a.png)\n\n{each}\n\n- {each}\n\n> {each}\n\n```html\n{each}\n```\n\n"
        for each in PAYLOADS
    )
    targets = [link.strip() for link in HOSTILE_LINKS if "\n" not in link]
    links = " ".join(f"[go](<{link}>)" for link in targets) + "".join(f"\n\n![go](<{link}>)" for link in targets)
    (folder / "index.md").write_text(f"# Markup\n\n{links}\n\n{pages}", encoding="utf-8")
    (folder / "more.rst").write_text(
        f"More\n====\n\n`go <javascript:hacked()>`_\n\n.. raw:: html\n\n   {PAYLOADS[0]}\n"
    )
    return folder


def serve(stack: ExitStack, book: Path, index_folder: Path) -> str:
    store = EdgeStore(index_folder)
    asyncio.run(build_index(BookSource(lambda: parse_book(book)), ScriptedEmbedder(), store, lambda *_: None))

    @asynccontextmanager
    async def open_index(_: RequestContext) -> AsyncIterator[Index]:
        index = await store.open()
        try:
            yield index
        finally:
            await index.close()

    backend = ScriptedBackend(make_unsure([make_passage(" ".join(PAYLOADS))]))
    return stack.enter_context(run_in_thread(create_app(backend, Settings(), open_index=open_index))).url


@pytest.fixture(scope="module")
def hostile_books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """The servers of a book of payloads, of the same book with harmless words, and of payloads as markup."""
    folder = tmp_path_factory.mktemp("payloads")
    # As long as the payloads and with their last characters, which may decide whether a line is a title.
    ends = [payload[-1] if payload[-1] in ".,;" else "x" for payload in PAYLOADS]
    harmless = [f"x{at:03}".ljust(len(PAYLOADS[at]) - 1, "x") + end for at, end in enumerate(ends)]
    books = (
        write_book(folder / "hostile", list(PAYLOADS)),
        write_book(folder / "harmless", harmless),
        write_markdown(folder / "markdown"),
    )
    with ExitStack() as stack:
        hostile, calm, markup = (serve(stack, book, folder / f"{book.name}.index") for book in books)
        yield hostile, calm, markup


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose language model quotes hostile sentences of the book, and adds hostile ones of its own."""
    folder = tmp_path_factory.mktemp("model")
    (folder / "book").mkdir()
    words = "\n\n".join(escape(label) for label in LABELS)
    page = f"<main><h1>The label</h1><p>{words}</p><h2>Oil</h2><p>Oil the gear once a year.</p></main>"
    (folder / "book" / "index.html").write_text(page, encoding="utf-8")
    bootstrap.index_book(folder / "book", Settings(index=folder / "index"))
    drafted = [*LABELS, *(f"It also says {payload}." for payload in PAYLOADS[:40])]
    with ScriptedServices() as services:
        reply = {"sentences": [{"text": text, "passages": [1]} for text in drafted], "missing": ""}
        services.reply_with(reply, always=True)
        variables = {"LLM_MODEL": "any", "LLM_URL": services.openai_url, "LLM_KEY": "key"}
        environment = {f"BOOKBOUND_{name}": value for name, value in variables.items()}
        with run_fast_server(folder / "index", **environment) as address:
            yield address


class WatchedTab:
    """A tab that knows every dialog, and every request that leaves the server."""

    def __init__(self, tab: Tab, address: str) -> None:
        self.page, self.address, self.problems = tab.page, address, tab.problems
        self.page.add_init_script(WATCH_CALLS)
        self.page.on("dialog", lambda dialog: dialog.dismiss())
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))
        self.page.on("request", self._check_request)

    def _check_request(self, request: Any) -> None:
        if not request.url.startswith(self.address):
            self.problems.append(request.url)

    def inspect(self, path: str) -> dict[str, Any]:
        self.page.goto(self.address + path)
        return self.inspect_now()

    def inspect_now(self) -> dict[str, Any]:
        seen: dict[str, Any] = self.page.evaluate(FIND_CHANGES)
        assert (seen["hacked"], seen["handlers"]) == (False, [])
        assert self.problems == []
        return seen


def test_there_are_many_payloads() -> None:
    assert len(set(PAYLOADS)) >= 200


def test_texts_headings_and_file_names_change_no_element(new_tab: Any, hostile_books: tuple[str, str, str]) -> None:
    hostile, harmless = (WatchedTab(new_tab(), address) for address in hostile_books[:2])
    seen = hostile.inspect("/")
    assert seen["elements"] == harmless.inspect("/")["elements"]
    words = hostile.page.locator("body").inner_text()
    assert [payload for payload in PAYLOADS if " ".join(payload.split()) not in " ".join(words.split())] == []
    links = hostile.page.locator("#bb-contents a").evaluate_all("(links) => links.map((each) => each.href)")
    assert len(links) >= len(PAYLOADS)
    assert all(link.startswith(hostile.address) for link in links)
    for link in links[5 :: len(links) // 5]:
        hostile.inspect(link.removeprefix(hostile.address))
        assert hostile.page.locator("h1").count() == 1


def test_payloads_as_markup_do_not_run(new_tab: Any, hostile_books: tuple[str, str, str]) -> None:
    markup = WatchedTab(new_tab(), hostile_books[2])
    for path in ("/", "/read/more.rst"):
        markup.inspect(path)
        hrefs = markup.page.locator("article a").evaluate_all(
            "(links) => links.map((each) => each.getAttribute('href'))"
        )
        assert all(href.startswith(("#", "./", "../", "http://", "https://", "mailto:")) for href in hrefs)
        tags = markup.page.locator("article *").evaluate_all("(all) => [...new Set(all.map((each) => each.localName))]")
        assert not {"script", "img", "svg", "iframe", "style", "link", "form", "input", "math"} & set(tags)


def test_search_results_are_only_words(new_tab: Any, hostile_books: tuple[str, str, str]) -> None:
    tab = WatchedTab(new_tab(), hostile_books[0])
    tab.inspect("/")
    for typed in ("<script>", "onerror", "javascript", "hacked"):
        tab.page.locator("#bb-search").fill(typed)
        tab.page.locator(".results a").first.wait_for()
        tab.inspect_now()
        tags = tab.page.locator(".results *").evaluate_all("(all) => [...new Set(all.map((each) => each.localName))]")
        assert set(tags) <= {"li", "a", "strong", "span"}


def test_questions_and_selections_are_only_words(new_tab: Any, hostile_books: tuple[str, str, str]) -> None:
    tab = WatchedTab(new_tab(), hostile_books[1])
    before = tab.inspect("/")["elements"]
    tab.page.locator(".launcher").click()
    groups = [" ".join(PAYLOADS[at : at + 20]) for at in range(0, len(PAYLOADS), 20)]
    for number, group in enumerate(groups, 1):
        tab.page.evaluate("(words) => void Bookbound.ask(words, words)", group)
        tab.page.locator(".reply.unsure").nth(number - 1).wait_for()
    log = tab.page.locator(".log")
    assert all(" ".join(payload.split()) in " ".join(log.inner_text().split()) for payload in PAYLOADS)
    assert log.locator("script, img, iframe, object, style, input").count() == 0
    assert tab.inspect_now()["elements"] == before


def test_what_a_model_writes_is_only_words(new_tab: Any, model_server: str) -> None:
    tab = WatchedTab(new_tab(), model_server)
    before = tab.inspect("/")["elements"]
    tab.page.locator(".launcher").click()
    tab.page.evaluate("(words) => void Bookbound.ask(words)", QUESTION)
    answer = tab.page.locator(".reply.answered")
    answer.wait_for()
    assert LABELS[0] in answer.inner_text()
    assert "It also says" not in answer.inner_text()
    assert answer.locator("script, img, iframe, object, style, input, svg script, svg a").count() == 0
    assert tab.inspect_now()["elements"] == before
