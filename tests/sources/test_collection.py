"""Rebuilding a book from the chunks of a vector collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bookbound.domain.document import Page, ParsedBook
from bookbound.domain.errors import ConfigError, SourceError
from bookbound.sources.collection import assemble_collection_book, count_overlap
from bookbound.sources.collection.payload_fields import PayloadReader, parse_page_url

URL = "https://book.example/docs/services"
WORDS = "A service is a request and a response between two nodes. The client sends the request and waits for it. "


def read(
    payloads: Sequence[Mapping[str, Any]], mapping: Mapping[str, str] | None = None, kind: str | None = None
) -> ParsedBook:
    reader = PayloadReader(mapping)
    chunks = [reader.read(str(number), payload) for number, payload in enumerate(payloads)]
    return assemble_collection_book("physical-ai-textbook", chunks, reader, kind)


def only_page(payloads: Sequence[Mapping[str, Any]]) -> Page:
    (page,) = read(payloads).pages
    return page


def headings(page: Page) -> list[tuple[str, str]]:
    return [(page.text[b.start : b.end], b.anchor) for b in page.blocks if b.kind == "heading"]


CONTRACT_002 = {
    "content": WORDS,
    "source_url": URL,
    "section_title": "Calls",
    "chunk_id": "c-1",
    "chapter": "module-1-ros2",
    "page_title": "Services",
    "position": 0,
    "content_hash": "00",
}
CONTRACT_000 = {
    "chunk_id": "chunk_1",
    "text": WORDS,
    "chapter": "Chapter 3",
    "section": "Calls",
    "page": 45,
    "source_url": URL,
}


def test_the_payload_of_contract_002_becomes_a_page_with_its_names() -> None:
    book = read([CONTRACT_002])
    (page,) = book.pages
    assert (page.url, page.title, page.chapter, page.file) == (URL, "Services", "module-1-ros2", "docs/services")
    assert (book.title, book.kind, book.notices) == ("Physical ai textbook", "collection", ())
    assert headings(page) == [("Calls", "")]
    assert WORDS.strip() in page.text


def test_the_payload_of_contract_000_keeps_its_printed_page() -> None:
    page = only_page([CONTRACT_000])
    assert (page.url, page.chapter, headings(page)) == (URL, "Chapter 3", [("Calls", "")])
    (found,) = page.page_breaks
    assert (found.number, page.text[found.at :].startswith("A service")) == (45, True)


@pytest.mark.parametrize(
    "payload",
    [
        {"chunk_text": WORDS, "url": URL, "title": "Services", "chunk_index": "3"},
        {"page_content": WORDS, "metadata": {"source": URL, "title": "Services", "chunk_index": 3}},
    ],
)
def test_other_usual_names_are_recognised(payload: dict[str, Any]) -> None:
    page = only_page([payload])
    assert (page.url, page.title, page.text) == (URL, "Services", WORDS.strip())


def test_a_mapping_names_unusual_fields_also_inside_objects() -> None:
    payload = {"inner": {"words": WORDS}, "where": URL, "content": "something else entirely"}
    (page,) = read([payload], {"text": "inner.words", "url": "where"}).pages
    assert page.text == WORDS.strip()
    with pytest.raises(ConfigError, match="no field 'words' to map"):
        PayloadReader({"words": "x"})


def test_pages_are_in_the_order_of_their_addresses_and_chunks_in_that_of_their_positions() -> None:
    sentences = [f"Sentence number {number} tells of gear {number}." for number in range(12)]
    chunks = [{"text": text, "url": URL, "position": at} for at, text in enumerate(sentences)]
    others = [{"text": WORDS, "url": f"https://book.example/page-{number}"} for number in (10, 9)]
    book = read([*reversed(chunks), *others])
    assert [page.url.rpartition("/")[2] for page in book.pages] == ["services", "page-9", "page-10"]
    assert book.pages[0].text.split("\n\n") == sentences


def test_chunks_without_positions_follow_their_ids_and_the_author_is_told() -> None:
    names = ["chunk_10", "chunk_9"]
    book = read([{"text": f"These are the words of {name}.", "url": URL, "chunk_id": name} for name in names])
    assert book.pages[0].text.index("chunk_9") < book.pages[0].text.index("chunk_10")
    assert "without a position" in book.notices[0].message


@pytest.mark.parametrize("size", [100, 101])
def test_the_same_words_in_two_neighbours_are_in_the_page_once(size: int) -> None:
    text = " ".join(f"Motor {number} turns joint {number}." for number in range(30))
    windows = [text[start : start + size] for start in range(0, len(text), size - 40)]
    page = only_page([{"text": window, "url": URL, "position": at} for at, window in enumerate(windows)])
    assert page.text == text


def test_words_that_two_neighbours_share_by_chance_stay() -> None:
    assert count_overlap("It is the gear", "gear is a wheel with teeth") == 0
    page = only_page([{"text": text, "url": URL, "position": at} for at, text in enumerate(["See the gear.", "gear."])])
    assert page.text == "See the gear."


def test_a_collection_that_was_filled_twice_gives_each_chunk_once() -> None:
    assert only_page([CONTRACT_002, CONTRACT_002]).text.count("A service is") == 1


def test_two_versions_of_a_chunk_are_told() -> None:
    book = read([CONTRACT_002, CONTRACT_002 | {"content": "Quite other words stand here now."}])
    assert "at the positions of others" in book.notices[0].message


def test_a_missing_chunk_is_told_as_lost_words() -> None:
    texts = ["One sentence is here.", "Two sentences are there.", "Four of them are far away."]
    book = read([{"text": text, "url": URL, "position": at} for at, text in zip((0, 1, 3), texts, strict=True)])
    assert [(notice.message, notice.lost) for notice in book.notices] == [
        ("lacks 1 of its chunks, according to their positions", True)
    ]


def test_a_heading_at_the_start_of_a_chunk_is_not_doubled_and_its_anchor_is_that_of_the_address() -> None:
    first = {"text": WORDS, "url": URL, "position": 0, "title": "Services", "section": "Services"}
    second = {"text": "## Calls\n\nA call waits.", "url": f"{URL}#calls", "position": 1, "section": "Calls"}
    page = only_page([first, second])
    assert headings(page) == [("Calls", "calls")]
    assert page.text.count("Calls") == 1


def test_markdown_is_recognised_and_code_that_was_cut_stays_whole() -> None:
    first = {"text": "Run **this** now:\n\n```bash\nros2 run demo talker", "url": URL, "position": 0, "section": "Run"}
    second = {"text": "ros2 topic list\n```\n\nIt talks.", "url": URL, "position": 1, "section": "Afterwards"}
    page = only_page([first, second])
    (code,) = [page.text[b.start : b.end] for b in page.blocks if b.kind == "code"]
    assert code == "ros2 run demo talker\nros2 topic list"
    assert "**" not in page.text


def test_plain_text_keeps_signs_that_markdown_would_hide() -> None:
    text = "The variable __name__ is set.\nIt takes *args and <T> too."
    assert "__name__" in only_page([{"text": text, "url": URL}]).text
    assert "<T>" in only_page([{"text": text, "url": URL}]).text
    assert "`x`" in read([{"text": "The **bold** `x` stays.", "url": URL}], kind="text").pages[0].text
    with pytest.raises(SourceError, match="--source-format text"):
        read([{"text": text, "url": URL}], kind="pdf")


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"body_text": WORDS, "url": URL}, "1 of its chunks have no text .*found body_text, url.* --field text=NAME"),
        ({"text": WORDS, "address": URL}, "no http or https address .*found text, address.* --field url=NAME"),
        ({"text": WORDS, "url": "javascript:alert(1)"}, "no http or https address"),
        ({"text": WORDS, "url": "file:///etc/passwd"}, "no http or https address"),
        ({"text": "  ", "url": URL}, "have no text"),
        ({"text": 7, "url": URL}, "have no text"),
    ],
)
def test_a_missing_field_is_named_with_the_fields_that_there_are(payload: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read([payload])
    book = read([CONTRACT_002, payload])
    assert ([notice.lost for notice in book.notices], len(book.pages)) == ([True], 1)


def test_an_empty_collection_and_an_index_of_bookbound_are_refused() -> None:
    with pytest.raises(SourceError, match="The collection is empty"):
        read([])
    own = {"text": WORDS, "url": URL, "spans": [], "units": [], "cut": [], "offset": 0}
    with pytest.raises(SourceError, match="is an index of Bookbound"):
        read([own])


@pytest.mark.parametrize(
    ("given", "url", "anchor"),
    [
        ("HTTPS://Book.example:443/a/../b#part", "https://book.example/b", "part"),
        ("/docs/a#b", "/docs/a", "b"),
        ("https://book.example/a#:~:text=words", "https://book.example/a", ""),
        ("//evil.example/a", "", ""),
        ("https://me:secret@book.example/a", "", ""),
        (" javascript:alert(1)", "", ""),
        ("docs/a.md", "", ""),
    ],
)
def test_only_addresses_that_a_reader_may_open_are_kept(given: str, url: str, anchor: str) -> None:
    assert parse_page_url(given) == (url, anchor)


def test_pages_of_several_sites_have_different_files() -> None:
    book = read([{"text": WORDS, "url": f"https://{host}.example/a"} for host in ("one", "two")])
    assert [page.file for page in book.pages] == ["one.example/a", "two.example/a"]
