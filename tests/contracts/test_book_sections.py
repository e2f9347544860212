"""Sections, pages and chapters are found by id and by title, and no word of them is lost."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from bookbound import bootstrap
from bookbound.contracts.book_sections import SectionText, get_section_id, read_chapter, read_section
from bookbound.contracts.mcp_tools import MAX_SECTION_CHARS, ReadSectionResult
from bookbound.domain.chunk import Chunk
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.outline import Outline, outline_page
from bookbound.domain.ports import Index
from bookbound.indexing.split import split_page
from bookbound.settings import Settings
from bookbound.sources import parse_book

Read = Callable[[str], SectionText]
ANATOMY = "docs/01-foundations/02-anatomy-of-a-humanoid.md"


@pytest.fixture(scope="module")
def index(example_index: Path) -> Index:
    return asyncio.run(bootstrap.build_store(Settings(index=example_index)).open())


@pytest.fixture(scope="module")
def read(index: Index) -> Read:
    return lambda wanted: asyncio.run(read_section(index, wanted))


def count_words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", text))


def test_no_word_of_the_book_is_lost(index: Index, read: Read) -> None:
    async def collect() -> dict[str, str]:
        files = [page.opening.place.file for page in (await index.outline()).pages]
        return {file: " ".join(chunk.text for chunk in await index.chunks(file)) for file in files}

    for file, text in asyncio.run(collect()).items():
        assert not count_words(text) - count_words(read(file).text), file


def test_a_section_contains_its_subsections_and_nothing_after_them(read: Read) -> None:
    section = read(f"{ANATOMY}#actuators")
    assert section.text.startswith("# Anatomy of a Humanoid\n\n## Actuators\n\n")
    assert "### Strain wave gears\n" in section.text
    assert "## Sensors" not in section.text
    assert get_section_id(section.place) == f"{ANATOMY}#actuators"


def test_code_tables_and_formulas_keep_their_form(read: Read) -> None:
    text = read("Nodes and Topics").text
    assert "```\nimport math\n\nimport rclpy\n" in text
    assert "| --- | --- |" in read(ANATOMY).text
    assert "$$\n\\tau_{\\text{joint}}" in read(ANATOMY).text


def test_a_title_is_found_in_any_case_and_spacing(read: Read) -> None:
    assert read("strain  WAVE gears") == read(f"{ANATOMY}#strain-wave-gears")


def test_a_chapter_has_all_its_pages(index: Index, read: Read) -> None:
    chapter = asyncio.run(read_chapter(index, "Foundations"))
    assert chapter == read("Foundations")
    assert re.findall(r"^# (.*)$", chapter.text, re.MULTILINE) == ["Embodied Intelligence", "Anatomy of a Humanoid"]


def test_a_title_of_several_sections_names_their_ids(read: Read) -> None:
    with pytest.raises(InvalidInputError, match=f"Pass the id of one of them: {ANATOMY}#summary, "):
        read("Summary")


@pytest.mark.parametrize("wanted", ["Warp drives", f"{ANATOMY}#warp-drives", "docs/none.md"])
def test_an_unknown_section_is_an_error_that_says_what_to_do(read: Read, wanted: str) -> None:
    with pytest.raises(InvalidInputError, match="pass the `section_id` of a result"):
        read(wanted)


def test_a_long_text_is_read_in_parts_that_end_with_a_line(read: Read) -> None:
    whole = read("ROS 2")
    assert len(whole.text) > MAX_SECTION_CHARS
    parts, offset = list[str](), 0
    while True:
        part = ReadSectionResult.from_text(whole, offset)
        assert 0 < len(part.text) <= MAX_SECTION_CHARS
        parts.append(part.text)
        if part.next_offset is None:
            break
        assert f"offset {part.next_offset}" in part.readable
        assert part.text.endswith("\n")
        offset = part.next_offset
    assert "".join(parts) == whole.text


def test_neighbouring_sections_with_the_same_heading_are_read_apart(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n## Setup\n\nOne.\n\n### Linux\n\nTwo.\n\n## Setup\n\nThree.\n")
    (page,) = parse_book(tmp_path).pages
    chunks = split_page(page, lambda text: len(text.split()), 100)

    async def get_outline() -> Outline:
        return Outline((outline_page(chunks),), {})

    async def get_chunks(file: str) -> list[Chunk]:
        return chunks

    index = cast(Index, SimpleNamespace(outline=get_outline, chunks=get_chunks))
    assert re.findall(r"\w+\.", asyncio.run(read_section(index, "a.md#setup")).text) == ["One.", "Two."]
    assert re.findall(r"\w+\.", asyncio.run(read_section(index, "a.md#setup-1")).text) == ["Three."]
    with pytest.raises(InvalidInputError, match=r"a\.md#setup, a\.md#setup-1"):
        asyncio.run(read_section(index, "Setup"))
