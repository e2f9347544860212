"""The rules of chunks, on pages built by hand; a token is a word here."""

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


def tokens(text: str) -> int:
    return len(text.split()) + 2


def words(stem: str, number: int) -> str:
    return " ".join(f"{stem}{i}" for i in range(number - 1)) + f" {stem}."


def texts(page: Page, budget: int = 60) -> list[str]:
    return [chunk.text for chunk in split_page(page, tokens, budget)]


def items(*names: str) -> list[Any]:
    return [("item", name) for name in names]


def test_a_chunk_never_crosses_into_a_sibling_section(build: Build) -> None:
    page = build(("h2", "Reach", "reach"), ("paragraph", "Far."), ("h2", "Grip", "grip"), ("paragraph", "Firm."))
    chunks = split_page(page, tokens, 60)
    assert [(chunk.text, chunk.place.headings, chunk.place.anchor) for chunk in chunks] == [
        ("Far.", ("Reach",), "reach"),
        ("Firm.", ("Grip",), "grip"),
    ]


def test_a_chunk_opens_at_the_innermost_anchor_where_it_begins(build: Build) -> None:
    method = ("definition", [("code", "reach()", "own"), ("paragraph", words("far", 50))], "Arm.reach")
    page = build(
        ("h2", "Things", "things"),
        ("definition", [("code", "class Arm"), ("paragraph", words("arm", 50)), method], "Arm"),
        ("paragraph", words("after", 50)),
    )
    assert [(chunk.text.split()[0], chunk.place.anchor) for chunk in split_page(page, tokens, 60)] == [
        ("class", "Arm"),
        ("reach()", "own"),
        ("after0", "things"),
    ]
    (cut, *_) = [chunk for chunk in split_page(page, tokens, 30) if chunk.text.startswith("far2")]
    assert cut.place.anchor == "Arm.reach"


def test_the_title_is_not_repeated_among_the_headings_and_has_no_anchor(build: Build) -> None:
    [chunk] = split_page(build(("h1", "Arms", "arms"), ("paragraph", words("a", 30))), tokens, 60)
    assert (chunk.place.title, chunk.place.headings, chunk.place.anchor) == ("Arms", (), "")
    assert chunk.embedded.startswith("Robots > Arms\na0 ")


def test_a_first_heading_that_is_not_the_title_counts(build: Build) -> None:
    [chunk] = split_page(build(("h1", "Hands", "hands"), ("paragraph", "Five fingers.")), tokens, 60)
    assert chunk.place.headings == ("Hands",)
    assert chunk.place.link == "/arms#hands"


def test_headings_are_those_above_the_chunk_and_a_higher_one_closes_lower_ones(build: Build) -> None:
    page = build(
        ("h2", "A", "a"), ("h4", "B", "b"), ("paragraph", words("x", 30)), ("h3", "C"), ("paragraph", words("y", 30)),
        ("h2", "D", "d"), ("paragraph", "z."),
    )  # fmt: skip
    places = [(chunk.place.headings, chunk.place.anchor) for chunk in split_page(page, tokens, 60)]
    assert places == [(("A", "B"), "b"), (("A", "C"), "a"), (("D",), "d")]


def test_an_introduction_of_some_length_stands_by_itself(build: Build) -> None:
    page = build(("h2", "A"), ("paragraph", words("a", 25)), ("h3", "B"), ("paragraph", "One."))
    assert texts(page, 100) == [words("a", 25), "One."]


def test_headings_without_a_body_are_not_lost(build: Build) -> None:
    assert texts(build(("h1", "Arms"))) == ["Arms"]
    page = build(("h1", "Arms"), ("h2", "Parts"), ("h2", "Prices"), ("h3", "Old"), ("paragraph", "Low."))
    chunks = split_page(page, tokens, 60)
    assert [(chunk.text, chunk.place.headings) for chunk in chunks] == [
        ("Parts", ("Parts",)),
        ("Low.", ("Prices", "Old")),
    ]


def test_words_outside_every_block_are_not_lost(build: Build) -> None:
    page = build(("paragraph", "One."), ("paragraph", "Two."), ("paragraph", "Three."))
    bare = Page("a", "/a", "", "", 0, page.source, page.text, page.runs, page.blocks[1:2])
    assert texts(bare) == ["One.\n\nTwo.\n\nThree."]


def test_an_empty_page_gives_no_chunks(build: Build) -> None:
    assert texts(build()) == []
    assert texts(build(("paragraph", "  \n "))) == []


def test_chunks_of_a_section_are_of_like_size_rather_than_full_and_a_rest(build: Build) -> None:
    page = build(*(("paragraph", words(stem, 10)) for stem in "abcdef"))
    assert [text.count("\n\n") + 1 for text in texts(page, 57)] == [3, 3]


def test_a_paragraph_over_the_budget_is_parted_between_sentences(build: Build) -> None:
    first, second, third = words("One", 28), words("Two", 14), words("Three", 28)
    assert texts(build(("paragraph", f"{first} {second} {third}")))[-1] in (third, f"{second} {third}")


def test_a_list_stays_with_its_lead_in(build: Build) -> None:
    page = build(
        ("paragraph", words("a", 20)),
        ("paragraph", "You need these parts:"),
        ("list", items(*(words(stem, 7) for stem in "bcdef"))),
    )
    first, second = texts(page)
    assert first == words("a", 20)
    assert second.startswith("You need these parts:")


def test_a_line_that_is_no_sentence_stays_with_what_it_heads(build: Build) -> None:
    page = build(("paragraph", words("a", 30)), ("paragraph", "How it works"), ("paragraph", words("b", 34)))
    assert texts(page) == [words("a", 30), "How it works\n\n" + words("b", 34)]


def test_a_list_too_long_for_its_lead_in_is_parted_between_items_and_the_lead_in_keeps_the_first(build: Build) -> None:
    names = [words(stem, 9) for stem in "bcdefg"]
    first, second = texts(build(("paragraph", "You need these parts:"), ("list", items(*names))))
    assert first.startswith("You need these parts:\n\nb0")
    assert [*first.split("\n\n")[1:], *second.split("\n\n")] == names


def test_a_table_too_large_is_parted_between_rows(build: Build) -> None:
    rows = [("row", f"{words(stem, 8)} | {words(stem, 8)}") for stem in "abcdef"]
    assert all(text.count("|") == 2 for text in texts(build(("table", rows)), 45))


def test_code_leans_on_the_paragraph_before_it(build: Build) -> None:
    before, after = ("paragraph", words("b", 12)), ("paragraph", words("c", 25))
    parted = texts(build(("paragraph", words("a", 20)), before, ("code", "arm = Arm()"), after))
    assert any(f"{words('b', 12)}\n\narm = Arm()" in text for text in parted)


def test_code_that_fits_stays_whole_and_is_else_parted_at_blank_lines(build: Build) -> None:
    lines = ["    " + words(stem, 8) for stem in "abcdef"]
    first, second = "\n".join(lines[:2]), "\n".join(lines[2:])
    page = build(("paragraph", words("x", 12)), ("code", f"{first}\n\n{second}"))
    assert texts(page) == [words("x", 12), f"{first}\n\n{second}"]
    assert texts(build(("code", f"{first}\n\n{second}")), 40) == [first, second]


def test_code_without_blank_lines_is_parted_between_lines(build: Build) -> None:
    lines = ["    " + words(stem, 8) for stem in "abcdef"]
    assert texts(build(("code", "\n".join(lines))), 40) == ["\n".join(lines[:3]), "\n".join(lines[3:])]


def test_a_formula_stays_with_the_words_that_introduce_it(build: Build) -> None:
    last = ("paragraph", words("c", 25))
    page = build(("paragraph", words("a", 20)), ("paragraph", words("b", 12)), ("formula", "F = m a"), last)
    assert texts(page) == [words("a", 20), f"{words('b', 12)}\n\nF = m a\n\n{words('c', 25)}"]


def test_words_that_go_on_in_lower_case_stay_with_their_formula(build: Build) -> None:
    page = build(("formula", words("F", 30)), ("paragraph", "where F is force."), ("paragraph", words("B", 32)))
    assert texts(page) == [f"{words('F', 30)}\n\nwhere F is force.", words("B", 32)]


def test_the_title_of_a_note_stays_with_its_first_words(build: Build) -> None:
    page = build(("admonition", [("paragraph", "Warning"), *(("paragraph", words(stem, 30)) for stem in "abc")]))
    [note] = page.blocks
    untitled = Page(
        "a",
        "/a",
        "",
        "",
        0,
        page.source,
        page.text,
        page.runs,
        (type(note)("admonition", note.start, note.end, children=note.children[1:]),),
    )
    assert texts(untitled)[0] == "Warning\n\n" + words("a", 30)


@pytest.mark.parametrize("text", ["https://" + "x" * 5000, "本" * 3000, "long " * 2000])
def test_what_has_no_boundary_is_parted_all_the_same(build: Build, text: str) -> None:
    chunks = split_page(build(("paragraph", text)), len, 300)
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")
    assert max(len(chunk.embedded) for chunk in chunks) <= 300


def test_a_heading_path_as_long_as_the_budget_leaves_room_for_words(build: Build) -> None:
    page = build(("h2", "h " * 300), ("h3", "i " * 300), ("paragraph", words("a", 300)))
    chunks = split_page(page, tokens, 120)
    assert max(tokens(chunk.embedded) for chunk in chunks) <= 120
    assert len(chunks[0].place.headings) == 2
    assert chunks[0].embedded.startswith("i i")


@pytest.mark.parametrize("heading", ["한국 글을 " * 40, "本" * 300, "!" * 300, "ﷺ" * 100])
def test_a_heading_in_any_alphabet_leaves_room_for_words(build: Build, heading: str) -> None:
    model = Path(bookbound.__file__).parent / "models" / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(model))
    tokenizer.no_truncation()
    page = build(("h1", heading), ("paragraph", words("a", 300)), title=heading.strip(), chapter=heading)
    chunks = split_page(page, lambda text: len(tokenizer.encode(text).ids), 256)
    assert max(len(tokenizer.encode(chunk.embedded).ids) for chunk in chunks) <= 256
    assert " ".join(chunk.text for chunk in chunks) == words("a", 300)
    assert chunks[0].embedded.startswith(heading[:10])


def test_a_chunk_is_short_whatever_the_embedder_counts(build: Build) -> None:
    page = build(("paragraph", "x" * 100_000), ("code", "y" * 100_000), ("paragraph", words("a", 30)))
    chunks = split_page(page, lambda text: 3, 256)
    assert max(len(chunk.embedded) for chunk in chunks) <= 4_000
    assert "".join(chunk.text for chunk in chunks).count("x") == 100_000


def test_words_that_count_nothing_are_packed_all_the_same(build: Build) -> None:
    chunks = split_page(build(*(("paragraph", "\u200b") for _ in range(2_000))), lambda text: 2, 256)
    assert max(chunk.text.count("\u200b") for chunk in chunks) <= 256
    assert sum(chunk.text.count("\u200b") for chunk in chunks) == 2_000


def test_a_budget_too_small_for_any_words_says_what_to_do(build: Build) -> None:
    with pytest.raises(ConfigError, match="choose"):
        split_page(build(("paragraph", "Words.")), tokens, 3)


def test_no_chunk_is_over_the_budget_when_the_whole_counts_more_than_its_parts(build: Build) -> None:
    def growing(text: str) -> int:
        return len(text) + len(text) ** 2 // 400

    page = build(*(("paragraph", words(stem, 10)) for stem in "abcdef"))
    assert max(growing(chunk.embedded) for chunk in split_page(page, growing, 300)) <= 300


def ids(chunks: list[Chunk]) -> set[str]:
    return {chunk.id for chunk in chunks}


def test_an_id_outlives_every_change_in_other_sections(build: Build) -> None:
    tail = [("h2", "B", "b"), *(("paragraph", words(stem, 30)) for stem in "bcd")]
    before = split_page(build(("h2", "A", "a"), ("paragraph", words("a", 30)), *tail), tokens, 60)
    after = split_page(build(("h2", "A", "a"), *(("paragraph", words(stem, 40)) for stem in "xyz"), *tail), tokens, 60)
    kept = [chunk for chunk in before if chunk.place.anchor == "b"]
    assert len(kept) == 3
    assert ids(kept) == ids([chunk for chunk in after if chunk.place.anchor == "b"])
    assert not ids(before[:1]) & ids(after)


def test_same_words_in_one_place_have_ids_of_their_own(build: Build) -> None:
    page = build(*(("paragraph", words("a", 40)) for _ in range(3)))
    assert len(ids(split_page(page, tokens, 60))) == 3
    assert ids(split_page(page, tokens, 60)) == ids(split_page(page, tokens, 60))


def test_an_id_changes_with_words_heading_anchor_and_file(build: Build) -> None:
    pages = [
        build(("h2", "A", "a"), ("paragraph", "One.")),
        build(("h2", "A", "a"), ("paragraph", "Two.")),
        build(("h2", "B", "a"), ("paragraph", "One.")),
        build(("h2", "A", "b"), ("paragraph", "One.")),
    ]
    pages.append(Page("legs.md", *(getattr(pages[0], name) for name in list(Page.__slots__)[1:])))
    assert len({chunk.id for page in pages for chunk in split_page(page, tokens, 60)}) == len(pages)
