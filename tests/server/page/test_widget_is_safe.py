"""Tests the widget in a real Chromium against hostile texts, limits and servers that fail."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.server.page.book_site import BookSite
from tests.server.page.conftest import Tab
from tests.server.page.payloads import HOSTILE_LINKS, PAYLOADS
from tests.server.page.replies import Json, make_block, make_place, make_reply, stream
from tests.server.slow_server import WORKING
from tests.server.thread_server import run_in_thread

from bookbound.contracts.request_context import RequestContext
from bookbound.domain.judgement import SupportLabel
from bookbound.domain.question import Question
from bookbound.domain.reply import PipelineEvent, Progress
from bookbound.server.app import create_app
from bookbound.server.rate_limit import MemoryLimiter
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_unsure

ALLOWED_TAGS = set(
    "article bdi blockquote button code div form h2 h3 header i li mark ol p path pre q section span svg table tbody "
    "td textarea th thead tr ul a".split()
)
UNVERIFIED = SupportLabel.UNVERIFIED
INSPECT = """() => {
  const root = document.querySelector("#bookbound-widget").shadowRoot;
  const elements = [...root.querySelectorAll("*")];
  return {
    hacked: "hacked" in window && window.hacked !== undefined,
    tags: [...new Set(elements.map((each) => each.localName))],
    handlers: elements.flatMap((each) => each.getAttributeNames()).filter((name) => /^on|^srcdoc$/.test(name)),
    links: [...root.querySelectorAll("[href], [src]")].map((each) => each.getAttribute("href") ?? "src"),
    page: document.querySelector("main").outerHTML,
    children: document.body.children.length,
    text: root.querySelector(".log").textContent,
  };
}"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a real server that is unsure about everything."""
    backend = ScriptedBackend(make_unsure([make_passage("It may walk.")]))
    with run_in_thread(create_app(backend, Settings(allowed_origins=("*",)))) as running:
        yield running.url


@pytest.fixture(scope="module")
def url(site: BookSite, server: str) -> str:
    return site.add("/safe", "<h1>A page</h1><p>Some words.</p>", server, strict=True)


def script_replies(page: Page, *replies: Json, before: tuple[tuple[str, Json], ...] = ()) -> list[Json]:
    """Let the server give these replies; the list gets the bodies of the questions."""
    asked, left = list[Json](), list(replies)

    def answer(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or "{}"))
        body = stream(*before, ("reply", left.pop(0)))
        route.fulfill(headers={"Access-Control-Allow-Origin": "*", "Content-Type": "text/event-stream"}, body=body)

    page.route("**/v1/answers", answer)
    return asked


def make_hostile_replies() -> Iterator[Json]:
    """The payloads in every field of an answer, an unsure reply and a refusal."""
    sources = [
        make_place(number=n, path=[each, each], section=each, label=each, quotes=[each], link=link, url=link)
        for n, (each, link) in enumerate(zip(PAYLOADS, HOSTILE_LINKS * len(PAYLOADS), strict=False), 1)
    ]
    numbers = list(range(1, len(PAYLOADS) + 1))
    yield make_reply(
        blocks=[
            *(make_block(text=each, sources=[n], marks=[[0, 5]]) for n, each in enumerate(PAYLOADS, 1)),
            *(make_block(kind, text=each) for kind in ("heading", "code", "formula") for each in PAYLOADS),
            make_block(
                "list", items=[{"text": each, "number": each, "level": n % 3} for n, each in enumerate(PAYLOADS)]
            ),
            make_block("table", header=PAYLOADS, rows=[PAYLOADS], sources=numbers),
            *(make_block(text="It flies.", unverified={"closest": each}) for each in PAYLOADS),
        ],
        sources=sources,
        reservation=PAYLOADS[0],
        completed_question=PAYLOADS[1],
        answer="\n".join(PAYLOADS),
    )
    closest = [{**each, "quote": each["quotes"][0], "blocks": [make_block(text=each["quotes"][0])]} for each in sources]
    yield make_reply("unsure", unsure={"message": "".join(PAYLOADS)}, closest=closest)
    yield make_reply("refused", refusal={"message": "".join(PAYLOADS), "sections": sources})


def test_no_payload_runs_or_becomes_an_element(tab: Tab, url: str) -> None:
    page = tab.page
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.on("dialog", lambda dialog: tab.problems.append(dialog.message))
    title = {"title": PAYLOADS[0], "chapters": [{"title": each, "chunks": 9} for each in PAYLOADS]}
    headers = {"Access-Control-Allow-Origin": "*"}
    page.route("**/v1/book", lambda route: route.fulfill(headers=headers, json=title))
    replies = list(make_hostile_replies())
    script_replies(page, *replies, before=(("sentence", {"text": PAYLOADS[0]}),))
    page.goto(url)
    before = page.evaluate(INSPECT)
    tab.open(url)
    page.locator(".suggestion").first.wait_for()
    seen = []
    for reply, question in zip(replies, PAYLOADS, strict=False):
        page.evaluate("(question) => void Bookbound.ask(question, question)", question)
        page.locator(f".reply.{reply['status']}").wait_for()
        seen.append(page.evaluate(INSPECT))
    page.locator(".cite").nth(3).hover()
    page.reload()  # the conversation is read from the tab's storage
    page.locator(".reply.refused").wait_for()
    seen.append(page.evaluate(INSPECT))
    for each in seen:
        assert not each["hacked"]
        assert set(each["tags"]) <= ALLOWED_TAGS
        assert each["handlers"] == []
        assert all(link.startswith(("http://127.0.0.1", "https://book.example")) for link in each["links"])
        assert (each["page"], each["children"]) == (before["page"], before["children"])
    assert all(payload in seen[-1]["text"] for payload in PAYLOADS)
    assert tab.problems == []


def test_blocks_have_their_form_and_marks_count_characters(tab: Tab, url: str) -> None:
    items = [("a", "1.", 0), ("b", "", 1), ("c", "", 1), ("d", "2.", 0)]
    blocks = [
        make_block(text="🤖 It walks fast.", marks=[[2, 10]]),
        make_block("list", items=[dict(zip(("text", "number", "level"), each, strict=True)) for each in items]),
        make_block("table", header=["", "speed"], rows=[["robot", "1 m/s"]]),
        make_block("code", text="def walk():\n    pass", cut=True),
    ]
    script_replies(tab.page, make_reply(blocks=blocks, partial=True))
    page = tab.open(url)
    tab.ask("How does it walk?")
    assert page.locator("mark").all_inner_texts() == ["It walks"]
    assert page.locator(".block > ol > li").evaluate_all("(items) => items.map((each) => each.value)") == [1, 2]
    assert page.locator(".block > ol > li > ul > li").all_inner_texts() == ["b", "c"]
    assert page.locator("th").all_inner_texts() == ["speed"]
    assert page.locator("pre").inner_text() == "def walk():\n    pass"
    assert page.locator(".note").all_inner_texts() == [
        "This code goes on in the book.",
        "The book answers only part of this question.",
    ]


COUNTS = {"verified": 3, "unverified": 4, "dropped": 2, "withheld": False}


def test_what_is_not_verified_is_marked_next_to_the_closest_words(tab: Tab, url: str) -> None:
    items = [{"text": "legs", "number": "", "level": 0}, {"text": "wings", "number": "", "level": 0}]
    items[1] |= {"unverified": {"closest": "It has legs."}}
    blocks = [
        make_block(text="It walks."),
        make_block(text="It flies.", unverified={"closest": "It jumps."}, sources=[1]),
        make_block(text="It swims.", unverified={"closest": ""}),
        make_block("list", items=items),
        make_block("table", header=["a"], rows=[["1"], ["2"]], unverified_rows=[{"row": 1, "closest": "It has 3."}]),
    ]
    sources = [make_place(number=1, quotes=["It jumps."])]
    script_replies(tab.page, make_reply(blocks=blocks, sources=sources, verification=COUNTS))
    tab.open(url)
    tab.ask("What does it do?")
    reply = tab.page.locator(".reply")
    assert reply.locator(":scope > p").first.inner_text() == "It walks."
    marked = reply.locator(":has(> .unverified)").all_inner_texts()
    words = [re.sub(r"\s+", " ", each).replace("“", "").replace("”", "") for each in marked]
    says = "not verified The closest words of the book:"
    assert words == [
        f"It flies. {says} It jumps. 1",  # the source is that of the closest words
        "It swims. not verified",
        f"wings {says} It has legs.",
        f"2 {says} It has 3.",
    ]
    assert reply.locator(".note").inner_text().endswith("because the book does not prove them: 2.")


@pytest.mark.parametrize(
    ("language", "mark", "dropped", "withheld"),
    [
        ("en", "not verified", "Sentences of the language model that are left out", "this answer quotes the book"),
        ("de", "nicht belegt", "Sätze des Sprachmodells, die weggelassen sind", "diese Antwort zitiert das Buch"),
        ("es", "no verificado", "Frases del modelo de lenguaje que se omiten", "esta respuesta cita el libro"),
        ("ur", "تصدیق نہیں ہوئی", "لینگویج ماڈل کے وہ جملے جو چھوڑ دیے گئے", "یہ جواب کتاب کا اقتباس ہے"),
    ],
)
def test_the_marks_and_notes_are_in_the_language_of_the_reader_and_stay_on_the_next_page(
    tab: Tab, site: BookSite, server: str, language: str, mark: str, dropped: str, withheld: str
) -> None:
    block = make_block(text="It flies.", unverified={"closest": "It jumps."})
    replies = [make_reply(blocks=[block], verification=COUNTS | {"withheld": each}) for each in (False, True)]
    script_replies(tab.page, *replies)
    page = tab.open(site.add(f"/{language}", "<p>Words.</p>", server, attributes={"language": language}))
    for question in ("Does it fly?", "Does it still?"):
        page.locator("textarea").fill(question)
        page.locator("textarea").press("Enter")
        page.locator(f".turn[aria-label='{question}'] .reply").wait_for()
    for _ in range(2):
        assert page.locator(".unverified").all_inner_texts() == [mark, mark]
        notes = page.locator(".reply .note")
        expect(notes.nth(0)).to_contain_text(dropped)
        expect(notes.nth(1)).to_contain_text(withheld)
        page.reload()  # the conversation is read from the tab's storage
        page.locator(".reply").nth(1).wait_for(state="attached")


def test_a_copied_answer_has_the_marks_and_says_what_is_left_out(tab: Tab, url: str) -> None:
    block = make_block(text="It flies.", markdown="It flies. *(not verified)*", unverified={"closest": "It jumps."})
    script_replies(tab.page, make_reply(blocks=[block], verification=COUNTS))
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = tab.open(url)
    tab.ask("Does it fly?")
    page.get_by_role("button", name="Copy", exact=False).first.click()
    expect(page.locator(".status, [role=status]").first).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "It flies. *(not verified)*" in copied
    assert "because the book does not prove them: 2." in copied


def test_another_language_without_a_model_is_not_said_to_be_missing_in_the_book(tab: Tab, url: str) -> None:
    note = "Dieses Buch ist auf Englisch."
    script_replies(tab.page, make_reply("refused", note=note, refusal={"message": note, "sections": []}))
    page = tab.open(url)
    tab.ask("Kann es fliegen?")
    for _ in range(2):
        assert page.locator(".reply").inner_text() == note
        page.reload()
        page.locator(".reply").wait_for(state="attached")


class RevisingBackend(ScriptedBackend):
    """Sends a verified and an unverified sentence, says that a language model revises the rest, and never ends."""

    async def stream(self, question: Question, context: RequestContext) -> AsyncGenerator[PipelineEvent]:
        yield Progress.WRITING
        yield make_answer([("It walks.", make_passage("It walks."))]).sentences[0]
        yield replace(make_answer([("It flies.", make_passage("It walks."))]).sentences[0], label=UNVERIFIED)
        yield Progress.REVISING
        await asyncio.Event().wait()


def test_the_status_line_says_what_a_language_model_is_doing(tab: Tab, site: BookSite) -> None:
    backend = RevisingBackend(make_unsure([]))
    with run_in_thread(create_app(backend, Settings(allowed_origins=("*",)))) as running:
        page = tab.open(site.add("/steps", "<p>Words.</p>", running.url, attributes={"language": "de"}))
        page.locator("textarea").fill("Does it walk?")
        page.locator("textarea").press("Enter")
        expect(page.locator(".waiting")).to_have_text("Die Antwort wird geprüft …")
        assert page.locator(".sentence").all_inner_texts() == ["It walks.", "It flies. nicht belegt"]
        page.close()


def test_an_unsure_reply_shows_the_closest_passages_as_such(tab: Tab, url: str) -> None:
    page = tab.open(url)
    tab.ask("Does it walk?")
    assert page.locator(".reply.unsure .label").inner_text() == "Not sure"
    assert "It may walk." in page.locator(".closest").inner_text()
    assert page.locator(".reply.answered").count() == 0
    assert tab.problems == []


def test_a_follow_up_is_sent_with_the_conversation_and_shown_as_it_was_understood(tab: Tab, url: str) -> None:
    first, second = make_reply(answer="It walks."), make_reply(completed_question="How fast does the robot walk?")
    asked = script_replies(tab.page, first, second)
    page = tab.open(url)
    tab.ask("What does the robot do?")
    tab.ask("How fast?")
    assert "conversation" not in asked[0]
    assert asked[1]["conversation"] == [{"question": "What does the robot do?", "answer": "It walks."}]
    assert page.locator(".understood").all_inner_texts() == ["Understood as: \u2068How fast does the robot walk?\u2069"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "may not ask this book"),
        (403, "may not ask this book"),
        (404, "was not found"),
        (422, "cannot be sent"),
        (500, "went wrong on the server"),
        (503, "Many readers"),
        (504, "took too long"),
    ],
)
def test_every_failure_has_its_own_words(tab: Tab, url: str, status: int, words: str) -> None:
    headers = {"Access-Control-Allow-Origin": "*"}
    tab.page.route("**/v1/answers", lambda route: route.fulfill(status=status, headers=headers, json={}))
    page = tab.open(url)
    tab.ask("Does it walk?")
    assert words in page.locator(".reply.problem").inner_text()
    assert words in page.locator("[role=status]").inner_text()


def test_an_error_in_the_stream_and_a_stream_without_a_reply_say_so(tab: Tab, url: str) -> None:
    bodies = [stream(("error", {"error": {"type": "timed_out"}})), stream(("sentence", {"text": "It w"}))]
    headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/event-stream"}
    tab.page.route("**/v1/answers", lambda route: route.fulfill(headers=headers, body=bodies.pop(0)))
    page = tab.open(url)
    tab.ask("Does it walk?")
    assert "took too long" in page.locator(".reply.problem").inner_text()
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".reply.problem")).to_contain_text("The connection broke")
    assert page.locator(".sentence").inner_text() == "It w"


def test_a_reader_without_a_connection_is_told_so(tab: Tab, url: str) -> None:
    page = tab.open(url)
    tab.context.set_offline(True)
    tab.ask("Does it walk?")
    assert "You are offline" in page.locator(".reply.problem").inner_text()
    tab.context.set_offline(False)
    page.get_by_role("button", name="Ask again").click()
    page.locator(".reply.unsure").wait_for()


def test_a_rate_limit_counts_down_and_then_lets_ask_again(tab: Tab, site: BookSite) -> None:
    settings = Settings(allowed_origins=("*",), address_rate_limit="1/hour")
    backend = ScriptedBackend(make_answer([("It walks.", make_passage("It walks."))]))
    with run_in_thread(create_app(backend, settings, limiter=MemoryLimiter())) as running:
        tab.page.clock.install()
        page = tab.open(site.add("/limit", "<p>A page.</p>", running.url, strict=True))
        tab.ask("Does it walk?")
        tab.ask("Does it run?")
        button = page.locator(".retry")
        assert "many questions in a short time" in page.locator(".reply.problem").inner_text()
        expect(button).to_be_disabled()
        expect(button).to_have_text(re.compile(r"Ask again in 3[56]\d\d s"))
        page.clock.fast_forward("30:00")
        expect(button).to_have_text(re.compile(r"Ask again in 1[78]\d\d s"))
        page.clock.fast_forward("30:00")
        expect(button).to_have_text("Ask again")
        expect(button).to_be_enabled()


@contextmanager
def run_slow_server(folder: Path, port: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "tests.server.slow_server", str(folder), "1", port]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def wait_for_question(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while not list(folder.glob(WORKING)):
        assert time.monotonic() < deadline, "the question did not arrive"
        time.sleep(0.02)


def test_a_question_survives_a_killed_server_and_can_be_stopped(tab: Tab, site: BookSite, tmp_path: Path) -> None:
    page = tab.page
    with run_slow_server(tmp_path, "0") as (process, address):
        tab.open(site.add("/slow", "<p>A page.</p>", address, strict=True))
        page.locator("textarea").fill("Does it walk?")
        page.get_by_role("button", name="Send").click()
        wait_for_question(tmp_path)
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".stopped")).to_contain_text("You stopped this answer.")
        for file in tmp_path.glob(WORKING):
            file.unlink()
        page.get_by_role("button", name="Ask again").click()
        wait_for_question(tmp_path)
        process.send_signal(signal.SIGKILL)
        expect(page.locator(".reply.problem")).to_contain_text("The connection broke")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".reply.problem")).to_contain_text("cannot be reached")
    (tmp_path / "go").touch()
    with run_slow_server(tmp_path, address.rpartition(":")[2]):
        page.get_by_role("button", name="Ask again").click()
        expect(page.locator(".reply.answered")).to_contain_text("It walks.")


def test_the_book_of_the_tag_is_asked(tab: Tab, site: BookSite, server: str) -> None:
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(request.url) if "/v1/" in request.url else None)
    tab.open(site.add("/book", "<p>A page.</p>", server, attributes={"book": "robots@1.9"}, strict=True))
    tab.ask("Does it walk?")
    paths = {"/books/robots%401.9/v1/book", "/books/robots%401.9/v1/answers"}
    assert set(sent) == {server + path for path in paths}
    assert tab.page.locator(".reply.unsure").is_visible()


def test_the_public_key_goes_with_every_request_and_is_bound_to_origins(tab: Tab, site: BookSite, server: str) -> None:
    sent: list[Any] = []
    tab.page.on(
        "request", lambda request: sent.append(request.headers.get("x-api-key")) if "/v1/" in request.url else None
    )
    url = site.add("/key", "<p>A page.</p>", server, attributes={"key": "bb_pub_wrong"}, strict=True)
    page = tab.open(url)
    tab.ask("Does it walk?")
    assert "may not ask this book" in page.locator(".reply.problem").inner_text()
    assert set(sent) == {"bb_pub_wrong"}
