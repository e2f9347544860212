"""Tests how the chunks of a page become headings, printed pages and lists."""

from __future__ import annotations

from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.document import PageBreak
from bookbound.domain.outline import Outline, outline_page
from bookbound.server.page.page_blocks import ShownBlock
from bookbound.server.page.page_content import SectionHeading, build_sections, list_chapters

PAGES = (PageBreak(0, 7, "vii", "page=7"), PageBreak(11, 8, "8", "page=8"))


def read_words(block: ShownBlock) -> str:
    return "".join(run.text for linked in block.words for run in linked.runs)


def make_chunk(
    text: str, headings: tuple[str, ...], anchor: str, breaks: tuple[PageBreak, ...] = (), offset: int = 0
) -> Chunk:
    """A chunk whose sentences end with a full stop and a space."""
    starts = [0, *(at + 2 for at in range(len(text)) if text.startswith(". ", at))]
    units = [
        QuotableUnit("sentence", start, end)
        for start, end in zip(starts, [*(start - 1 for start in starts[1:]), len(text)], strict=True)
    ]
    place = Place("a.pdf", "a.pdf", "", "A", headings, anchor, 0, len(text))
    return Chunk(f"{headings}{text}", text, place, 0, (), tuple(units), page_breaks=breaks, offset=offset)


def test_a_heading_appears_once_and_only_the_innermost_has_the_anchor() -> None:
    chunks = [
        make_chunk("One.", ("Motors", "Small"), "small"),
        make_chunk("Two.", ("Motors", "Small"), "small", offset=6),
        make_chunk("Three.", ("Motors", "Large"), "large", offset=12),
    ]
    small, large = build_sections(chunks, str)
    assert small.headings == (SectionHeading(2, "Motors", ""), SectionHeading(3, "Small", "small"))
    assert large.headings == (SectionHeading(3, "Large", "large"),)
    assert [read_words(block) for part in small.parts for block in part.blocks] == ["One.", "Two."]


def test_a_printed_page_begins_with_the_first_sentence_on_it() -> None:
    (section,) = build_sections([make_chunk("One two. A long three. Four.", (), "", PAGES)], str)
    shown = [(part.page_break and part.page_break.label, read_words(part.blocks[0])) for part in section.parts]
    assert shown == [("vii", "One two. A long three."), ("8", "Four.")]


def test_no_anchor_occurs_twice() -> None:
    chunks = [
        make_chunk("One two. A long three. Four.", ("B",), "page=7", PAGES),
        make_chunk("Five.", ("C",), "page=7", offset=40),
    ]
    sections = list(build_sections(chunks, str))
    anchors = [heading.anchor for section in sections for heading in section.headings]
    anchors += [part.page_break.anchor for section in sections for part in section.parts if part.page_break]
    assert sorted(filter(None, anchors)) == ["page=7", "page=8"]


def test_a_heading_that_repeats_the_title_is_not_shown_again() -> None:
    (section,) = build_sections([make_chunk("One.", ("A",), "a")], str)
    assert (section.headings, section.anchor) == ((), "a")


def test_a_heading_above_all_others_is_not_listed_as_a_section() -> None:
    chunks = [make_chunk("One.", ("Motors", name), name) for name in ("small", "large")]
    page = outline_page(chunks)
    (chapter,) = list_chapters(Outline((page,), {}), page, "/books/b")
    (link,) = chapter.inside
    assert [(each.title, each.href) for each in link.inside] == [
        ("small", "/books/b/read/a.pdf#small"),
        ("large", "/books/b/read/a.pdf#large"),
    ]


def make_setups() -> list[Chunk]:
    """Three sections with one heading, which stands in the gaps between the chunks; the second has a subsection."""
    return [
        make_chunk("One.", ("Setup",), "setup"),
        make_chunk("Two.", ("Setup",), "setup-1", offset=13),
        make_chunk("Three.", ("Setup", "Linux"), "linux", offset=26),
        make_chunk("Four.", ("Setup",), "setup-2", offset=41),
    ]


def test_neighbouring_sections_with_the_same_heading_stay_apart() -> None:
    sections = build_sections(make_setups(), str)
    assert [section.headings for section in sections] == [
        (SectionHeading(2, "Setup", "setup"),),
        (SectionHeading(2, "Setup", "setup-1"),),
        (SectionHeading(3, "Linux", "linux"),),
        (SectionHeading(2, "Setup", "setup-2"),),
    ]


def test_a_repeated_heading_without_text_is_shown_above_its_subsection() -> None:
    chunks = [
        make_chunk("One.", ("Setup", "Linux"), "linux"),
        make_chunk("Two.", ("Setup", "Linux"), "linux-1", offset=20),
    ]
    _, second = build_sections(chunks, str)
    assert second.headings == (SectionHeading(2, "Setup", ""), SectionHeading(3, "Linux", "linux-1"))


def test_an_anchor_inside_a_section_does_not_repeat_its_heading() -> None:
    chunks = [make_chunk("One.", ("Setup",), "setup"), make_chunk("Two.", ("Setup",), "wiring", offset=6)]
    (section,) = build_sections(chunks, str)
    assert section.headings == (SectionHeading(2, "Setup", "setup"),)


def test_each_section_with_the_same_heading_is_listed() -> None:
    page = outline_page(make_setups())
    (chapter,) = list_chapters(Outline((page,), {}), page, "")
    (link,) = chapter.inside
    assert [(each.title, each.href) for each in link.inside] == [
        ("Setup", "/read/a.pdf#setup"),
        ("Setup", "/read/a.pdf#setup-1"),
        ("Setup", "/read/a.pdf#setup-2"),
    ]
