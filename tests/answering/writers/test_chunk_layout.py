"""How the units of a chunk belong together: lists, tables, labels, captions and cut sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.answering.writers.conftest import Pages

from bookbound.answering.writers.chunk_layout import MAX_WHOLE_CHARACTERS, MAX_WHOLE_UNITS, ChunkLayout

Make = Callable[..., Pages]


def lay_out(make_pages: Make, text: str) -> ChunkLayout:
    return ChunkLayout(make_pages(f"# A\n\n{text}").chunks[0])


def find_asides(layout: ChunkLayout) -> list[str]:
    return [layout.words(at) for at in range(len(layout)) if layout.is_aside(at)]


@pytest.mark.parametrize(
    "caption",
    [
        "Figure 3: A pig in its field.",
        "Figure 3.12: A pig in its field",
        "Figure 3-1: A pig in its field",
        "Fig. 3: A pig in its field",
        "Fig. 3 – A pig in its field",
        "Table 2: Pigs and their fields",
        "Table A.1: Pigs and their fields",
        "Listing 4: Digging",
        "FIGURE 3: A PIG",
    ],
)
def test_a_caption_is_an_aside(make_pages: Make, caption: str) -> None:
    layout = lay_out(make_pages, f"Pigs dig.\n\n{caption}\n\nOwls fly.")
    assert find_asides(layout) == [caption]


@pytest.mark.parametrize("caption", ["Figure 3. A pig in its field.", "Figure 3: A pig. It digs. It rests."])
def test_every_sentence_of_a_caption_is_an_aside(make_pages: Make, caption: str) -> None:
    layout = lay_out(make_pages, f"Pigs dig.\n\n{caption}\n\nOwls fly.")
    assert " ".join(find_asides(layout)) == caption


@pytest.mark.parametrize(
    "words",
    [
        "Figure 3 shows that pigs dig.",
        "Table 2 lists the pigs: three of them dig.",
        "Tables have legs.",
        "Images are large. They need memory.",
        "Sources differ: some are old.",
        "Fig. 3 shows a pig.",
        "- Image: the file of the picture",
    ],
)
def test_a_sentence_about_a_figure_is_no_aside(make_pages: Make, words: str) -> None:
    assert find_asides(lay_out(make_pages, f"Pigs dig.\n\n{words}\n\nOwls fly.")) == []


def test_the_sentence_at_a_cut_is_an_aside(make_pages: Make) -> None:
    chunk = lay_out(make_pages, "Of pigs. Owls fly. Cats").chunk
    assert find_asides(ChunkLayout(chunk)) == []
    assert find_asides(ChunkLayout(replace(chunk, cut_start=True))) == ["Of pigs."]
    assert find_asides(ChunkLayout(replace(chunk, cut_end=True))) == ["Cats"]


def test_code_at_a_cut_is_no_aside(make_pages: Make) -> None:
    chunk = lay_out(make_pages, "```\ndig()\n```").chunk
    assert find_asides(ChunkLayout(replace(chunk, cut_start=True, cut_end=True))) == []


def test_half_a_sentence_is_not_quoted_and_code_that_goes_on_is(make_pages: Make) -> None:
    page = make_pages("# A\n\nOf pigs that dig. Owls fly.\n\n```\ndig()\n```")
    page.passages[0] = replace(page.passages[0], chunk=replace(page.chunks[0], cut_start=True, cut_end=True))
    assert page.quote_texts("What?", ("pigs", 0.9), ("dig()", 0.5)) == ["dig()"]


def test_a_run_is_short_if_it_has_few_units_and_few_characters(make_pages: Make) -> None:
    layout = lay_out(make_pages, "\n".join(f"- {'x' * 88}" for _ in range(12)))
    assert (MAX_WHOLE_UNITS, MAX_WHOLE_CHARACTERS) == (10, 900)
    assert layout.is_short(range(10))
    assert not layout.is_short(range(11))
    wide = lay_out(make_pages, "\n".join(f"- {'x' * 89}" for _ in range(12)))
    assert wide.is_short(range(9))
    assert not wide.is_short(range(10))


def test_a_list_goes_from_its_first_item_to_the_end_of_its_block(make_pages: Make) -> None:
    layout = lay_out(make_pages, "Hens eat:\n\n- corn\n  - yellow\n- worms\n\nOwls fly.")
    assert [layout.listed(at) for at in range(len(layout))] == [range(0), *[range(1, 4)] * 3, range(0)]


def test_a_table_is_its_consecutive_rows(make_pages: Make) -> None:
    table = "| A | B |\n|---|---|\n| 1 | 2 |"
    layout = lay_out(make_pages, f"{table}\n\n{table}\n")
    assert [layout.table(at) for at in range(len(layout))] == [*[range(2)] * 2, *[range(2, 4)] * 2]
    assert [layout.names_columns(at) for at in range(len(layout))] == [True, False, True, False]


@pytest.mark.parametrize(
    ("words", "is_label"),
    [
        ("Choosing legs", True),
        ("Choosing legs.", False),
        ("Legs: two", False),
        ("Legs – two", False),
        ("Choosing legs over " + "very " * 10 + "small wheels", False),
    ],
)
def test_a_short_line_alone_before_something_else_is_a_label(make_pages: Make, words: str, is_label: bool) -> None:
    assert lay_out(make_pages, f"{words}\n\nOwls fly.").is_label(0) is is_label


def test_a_line_before_a_formula_or_at_the_end_is_no_label(make_pages: Make) -> None:
    assert not lay_out(make_pages, "The force is\n\n$$\nF = m a\n$$").is_label(0)
    assert not lay_out(make_pages, "Owls fly.\n\nChoosing legs").is_label(1)
