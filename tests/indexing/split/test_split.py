"""Tests the rules of chunks on small pages; each word is a token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import bookbound
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Page
from bookbound.domain.errors import ConfigError
from bookbound.indexing.split import split_page

Build = Callable[..., Page]


def count_tokens(text: str) -> int:
    return len(text.split()) + 2


def make_words(stem: str, number: int) -> str:
    return " ".join(f"{stem}{i}" for i in range(number - 1)) + f" {stem}."


def split_texts(page: Page, budget: int = 60) -> list[str]:
    return [chunk.text for chunk in split_page(page, count_tokens, budget)]


def make_items(*names: str) -> list[Any]:
    return [("item", name) for name in names]


def test_a_chunk_never_crosses_into_a_sibling_section(build: Build) -> None:
    page = build(("h2", "Reach", "reach"), ("paragraph", "Far."), ("h2", "Grip", "grip"), ("paragraph", "Firm."))
    chunks = split_page(page, count_tokens, 60)
    assert [(chunk.text, chunk.place.headings, chunk.place.anchor) for chunk in chunks] == [
        ("Far.", ("Reach",), "reach"),
        ("Firm.", ("Grip",), "grip"),
    ]


def test_a_chunk_has_the_innermost_anchor_of_its_start(build: Build) -> None:
    method = ("definition", [("code", "reach()", "own"), ("paragraph", make_words("far", 50))], "Arm.reach")
    page = build(
        ("h2", "Things", "things"),
        ("definition", [("code", "class Arm"), ("paragraph", make_words("arm", 50)), method], "Arm"),
        ("paragraph", make_words("after", 50)),
    )
    assert [(chunk.text.split()[0], chunk.place.anchor) for chunk in split_page(page, count_tokens, 60)] == [
        ("class", "Arm"),
        ("reach()", "own"),
        ("after0", "things"),
    ]
    (cut, *_) = [chunk for chunk in split_page(page, count_tokens, 30) if chunk.text.startswith("far2")]
    assert cut.place.anchor == "Arm.reach"


def test_the_page_title_is_not_a_heading_of_its_chunks(build: Build) -> None:
    [chunk] = split_page(build(("h1", "Arms", "arms"), ("paragraph", make_words("a", 30))), count_tokens, 60)
    assert (chunk.place.title, chunk.place.headings, chunk.place.anchor) == ("Arms", (), "")
    assert chunk.embedding_text.startswith("Robots > Arms\na0 ")


def test_a_first_heading_other_than_the_title_counts(build: Build) -> None:
    [chunk] = split_page(build(("h1", "Hands", "hands"), ("paragraph", "Five fingers.")), count_tokens, 60)
    assert chunk.place.headings == ("Hands",)
    assert chunk.place.link == "/arms#hands"


def test_a_chunk_has_the_headings_above_it(build: Build) -> None:
    page = build(
        ("h2", "A", "a"), ("h4", "B", "b"), ("paragraph", make_words("x", 30)),
        ("h3", "C"), ("paragraph", make_words("y", 30)),
        ("h2", "D", "d"), ("paragraph", "z."),
    )  # fmt: skip
    places = [(chunk.place.headings, chunk.place.anchor) for chunk in split_page(page, count_tokens, 60)]
    assert places == [(("A", "B"), "b"), (("A", "C"), "a"), (("D",), "d")]


def test_a_long_introduction_is_a_chunk_by_itself(build: Build) -> None:
    page = build(("h2", "A"), ("paragraph", make_words("a", 25)), ("h3", "B"), ("paragraph", "One."))
    assert split_texts(page, 100) == [make_words("a", 25), "One."]


def test_headings_without_a_body_are_not_lost(build: Build) -> None:
    assert split_texts(build(("h1", "Arms"))) == ["Arms"]
    page = build(("h1", "Arms"), ("h2", "Parts"), ("h2", "Prices"), ("h3", "Old"), ("paragraph", "Low."))
    chunks = split_page(page, count_tokens, 60)
    assert [(chunk.text, chunk.place.headings) for chunk in chunks] == [
        ("Parts", ("Parts",)),
        ("Low.", ("Prices", "Old")),
    ]


def test_words_outside_every_block_are_not_lost(build: Build) -> None:
    page = build(("paragraph", "One."), ("paragraph", "Two."), ("paragraph", "Three."))
    bare = Page("a", "/a", "", "", 0, page.source, page.text, page.spans, page.blocks[1:2])
    assert split_texts(bare) == ["One.\n\nTwo.\n\nThree."]


def test_an_empty_page_gives_no_chunks(build: Build) -> None:
    assert split_texts(build()) == []
    assert split_texts(build(("paragraph", "  \n "))) == []


def test_chunks_of_a_section_have_similar_sizes(build: Build) -> None:
    page = build(*(("paragraph", make_words(stem, 10)) for stem in "abcdef"))
    assert [text.count("\n\n") + 1 for text in split_texts(page, 57)] == [3, 3]


def test_a_long_paragraph_is_split_between_sentences(build: Build) -> None:
    first, second, third = make_words("One", 28), make_words("Two", 14), make_words("Three", 28)
    assert split_texts(build(("paragraph", f"{first} {second} {third}")))[-1] in (third, f"{second} {third}")


def test_a_list_stays_with_its_lead_in(build: Build) -> None:
    page = build(
        ("paragraph", make_words("a", 20)),
        ("paragraph", "You need these parts:"),
        ("list", make_items(*(make_words(stem, 7) for stem in "bcdef"))),
    )
    first, second = split_texts(page)
    assert first == make_words("a", 20)
    assert second.startswith("You need these parts:")


def test_a_label_stays_with_the_text_after_it(build: Build) -> None:
    page = build(("paragraph", make_words("a", 30)), ("paragraph", "How it works"), ("paragraph", make_words("b", 34)))
    assert split_texts(page) == [make_words("a", 30), "How it works\n\n" + make_words("b", 34)]


def test_a_long_list_is_split_between_items_and_the_lead_in_keeps_the_first(build: Build) -> None:
    names = [make_words(stem, 9) for stem in "bcdefg"]
    first, second = split_texts(build(("paragraph", "You need these parts:"), ("list", make_items(*names))))
    assert first.startswith("You need these parts:\n\nb0")
    assert [*first.split("\n\n")[1:], *second.split("\n\n")] == names


def test_a_large_table_is_split_between_rows(build: Build) -> None:
    rows = [("row", f"{make_words(stem, 8)} | {make_words(stem, 8)}") for stem in "abcdef"]
    assert all(text.count("|") == 2 for text in split_texts(build(("table", rows)), 45))


def test_code_stays_with_the_paragraph_before_it(build: Build) -> None:
    before, after = ("paragraph", make_words("b", 12)), ("paragraph", make_words("c", 25))
    parted = split_texts(build(("paragraph", make_words("a", 20)), before, ("code", "arm = Arm()"), after))
    assert any(f"{make_words('b', 12)}\n\narm = Arm()" in text for text in parted)


def test_code_that_does_not_fit_is_split_at_blank_lines(build: Build) -> None:
    lines = ["    " + make_words(stem, 8) for stem in "abcdef"]
    first, second = "\n".join(lines[:2]), "\n".join(lines[2:])
    page = build(("paragraph", make_words("x", 12)), ("code", f"{first}\n\n{second}"))
    assert split_texts(page) == [make_words("x", 12), f"{first}\n\n{second}"]
    assert split_texts(build(("code", f"{first}\n\n{second}")), 40) == [first, second]


def test_code_without_blank_lines_is_split_between_lines(build: Build) -> None:
    lines = ["    " + make_words(stem, 8) for stem in "abcdef"]
    assert split_texts(build(("code", "\n".join(lines))), 40) == ["\n".join(lines[:3]), "\n".join(lines[3:])]


def find_cuts(page: Page, budget: int = 60) -> list[tuple[bool, bool]]:
    """Returns for each chunk whether its first unit begins before it and its last one ends after it."""
    return [(chunk.cut_start, chunk.cut_end) for chunk in split_page(page, count_tokens, budget)]


def test_code_and_sentences_that_do_not_fit_are_cut(build: Build) -> None:
    lines = ["    " + make_words(stem, 8) for stem in "abcdef"]
    assert find_cuts(build(("code", "\n".join(lines))), 40) == [(False, True), (True, False)]
    assert find_cuts(build(("code", "\n\n".join(lines))), 40) == [(False, True), (True, False)]
    first, *middle, last = find_cuts(build(("paragraph", make_words("a", 200))))
    assert (first, {*middle}, last) == ((False, True), {(True, True)}, (True, False))


def test_a_chunk_that_ends_between_units_is_not_cut(build: Build) -> None:
    sentences = " ".join(make_words(stem, 20) for stem in ("One", "Two", "Three", "Four"))
    rows = [("row", f"{make_words(stem, 8)} | {make_words(stem, 8)}") for stem in "abcdef"]
    for page in (
        build(("paragraph", sentences)),
        build(("table", rows)),
        build(("list", make_items(*(make_words(stem, 9) for stem in "abcdefghij")))),
        build(*(("paragraph", make_words(stem, 30)) for stem in "abcdef")),
    ):
        cuts = find_cuts(page)
        assert len(cuts) > 1
        assert set(cuts) == {(False, False)}


def test_a_formula_stays_with_the_words_that_introduce_it(build: Build) -> None:
    last = ("paragraph", make_words("c", 25))
    page = build(("paragraph", make_words("a", 20)), ("paragraph", make_words("b", 12)), ("formula", "F = m a"), last)
    assert split_texts(page) == [make_words("a", 20), f"{make_words('b', 12)}\n\nF = m a\n\n{make_words('c', 25)}"]


def test_text_that_continues_a_formula_stays_with_it(build: Build) -> None:
    page = build(
        ("formula", make_words("F", 30)), ("paragraph", "where F is force."), ("paragraph", make_words("B", 32))
    )
    assert split_texts(page) == [f"{make_words('F', 30)}\n\nwhere F is force.", make_words("B", 32)]


def test_the_title_of_a_note_stays_with_its_text(build: Build) -> None:
    page = build(("admonition", [("paragraph", "Warning"), *(("paragraph", make_words(stem, 30)) for stem in "abc")]))
    [note] = page.blocks
    untitled = Page(
        "a",
        "/a",
        "",
        "",
        0,
        page.source,
        page.text,
        page.spans,
        (type(note)("admonition", note.start, note.end, children=note.children[1:]),),
    )
    assert split_texts(untitled)[0] == "Warning\n\n" + make_words("a", 30)


@pytest.mark.parametrize("text", ["https://" + "x" * 5000, "本" * 3000, "long " * 2000])
def test_text_without_boundaries_is_split_anyway(build: Build, text: str) -> None:
    chunks = split_page(build(("paragraph", text)), len, 300)
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")
    assert max(len(chunk.embedding_text) for chunk in chunks) <= 300


def test_a_long_heading_path_leaves_room_for_text(build: Build) -> None:
    page = build(("h2", "h " * 300), ("h3", "i " * 300), ("paragraph", make_words("a", 300)))
    chunks = split_page(page, count_tokens, 120)
    assert max(count_tokens(chunk.embedding_text) for chunk in chunks) <= 120
    assert len(chunks[0].place.headings) == 2
    assert chunks[0].embedding_text.startswith("i i")


@pytest.mark.parametrize("heading", ["한국 글을 " * 40, "本" * 300, "!" * 300, "ﷺ" * 100])
def test_a_long_heading_in_any_alphabet_leaves_room_for_text(build: Build, heading: str) -> None:
    model = Path(bookbound.__file__).parent / "models" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(model))
    tokenizer.no_truncation()
    page = build(("h1", heading), ("paragraph", make_words("a", 300)), title=heading.strip(), chapter=heading)
    chunks = split_page(page, lambda text: len(tokenizer.encode(text).ids), 256)
    assert max(len(tokenizer.encode(chunk.embedding_text).ids) for chunk in chunks) <= 256
    assert " ".join(chunk.text for chunk in chunks) == make_words("a", 300)
    assert chunks[0].embedding_text.startswith(heading[:10])


def test_a_chunk_is_short_whatever_the_token_count(build: Build) -> None:
    page = build(("paragraph", "x" * 100_000), ("code", "y" * 100_000), ("paragraph", make_words("a", 30)))
    chunks = split_page(page, lambda text: 3, 256)
    assert max(len(chunk.embedding_text) for chunk in chunks) <= 4_000
    assert "".join(chunk.text for chunk in chunks).count("x") == 100_000


def test_text_without_tokens_is_kept(build: Build) -> None:
    chunks = split_page(build(*(("paragraph", "\u200b") for _ in range(2_000))), lambda text: 2, 256)
    assert max(chunk.text.count("\u200b") for chunk in chunks) <= 256
    assert sum(chunk.text.count("\u200b") for chunk in chunks) == 2_000


def test_a_token_limit_too_small_for_any_text_is_refused(build: Build) -> None:
    with pytest.raises(ConfigError, match="Choose"):
        split_page(build(("paragraph", "Words.")), count_tokens, 3)


def test_chunks_fit_even_if_the_whole_counts_more_than_its_parts(build: Build) -> None:
    def growing(text: str) -> int:
        return len(text) + len(text) ** 2 // 400

    page = build(*(("paragraph", make_words(stem, 10)) for stem in "abcdef"))
    assert max(growing(chunk.embedding_text) for chunk in split_page(page, growing, 300)) <= 300


def chunk_ids(chunks: list[Chunk]) -> set[str]:
    return {chunk.id for chunk in chunks}


def test_an_id_does_not_depend_on_other_sections(build: Build) -> None:
    tail = [("h2", "B", "b"), *(("paragraph", make_words(stem, 30)) for stem in "bcd")]
    before = split_page(build(("h2", "A", "a"), ("paragraph", make_words("a", 30)), *tail), count_tokens, 60)
    after = split_page(
        build(("h2", "A", "a"), *(("paragraph", make_words(stem, 40)) for stem in "xyz"), *tail), count_tokens, 60
    )
    unchanged = [chunk for chunk in before if chunk.place.anchor == "b"]
    assert len(unchanged) == 3
    assert chunk_ids(unchanged) == chunk_ids([chunk for chunk in after if chunk.place.anchor == "b"])
    assert not chunk_ids(before[:1]) & chunk_ids(after)


def test_equal_text_in_one_place_gets_different_ids(build: Build) -> None:
    page = build(*(("paragraph", make_words("a", 40)) for _ in range(3)))
    assert len(chunk_ids(split_page(page, count_tokens, 60))) == 3
    assert chunk_ids(split_page(page, count_tokens, 60)) == chunk_ids(split_page(page, count_tokens, 60))


def test_an_id_depends_on_text_heading_anchor_and_file(build: Build) -> None:
    pages = [
        build(("h2", "A", "a"), ("paragraph", "One.")),
        build(("h2", "A", "a"), ("paragraph", "Two.")),
        build(("h2", "B", "a"), ("paragraph", "One.")),
        build(("h2", "A", "b"), ("paragraph", "One.")),
    ]
    pages.append(Page("legs.md", *(getattr(pages[0], name) for name in list(Page.__slots__)[1:])))
    assert len({chunk.id for page in pages for chunk in split_page(page, count_tokens, 60)}) == len(pages)
