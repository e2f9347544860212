"""Which units of a chunk are no statements of the text: captions, cut sentences and diagrams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.answering.writers.conftest import Pages

from bookbound.answering.writers.quotes.quote_context import is_aside
from bookbound.domain.chunk import ChunkLayout

Make = Callable[..., Pages]


def lay_out(make_pages: Make, text: str) -> ChunkLayout:
    return ChunkLayout(make_pages(f"# A\n\n{text}").chunks[0])


def find_asides(layout: ChunkLayout) -> list[str]:
    return [layout.words(at) for at in range(len(layout)) if is_aside(layout, at)]


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
