"""The promises of chunks, kept on whole books with the embedder's own tokenizer."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import bookbound
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Block, Page, find_source_span
from bookbound.domain.errors import SourceError
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book

Visible = Callable[[Page, list[Chunk]], list[tuple[int, int]]]
Check = Callable[[Chunk], None]
BUDGET = 256
MANY = 60
"""Of a book with more pages than this, every second, third or fourth one is enough."""
BOOKS = [
    "byte_of_python", "docusaurus_docs", "fastapi_docs", "hf_deep_rl_course", "isaaclab_docs", "learn2love",
    "mdbook_guide", "mkdocs_docs", "physical_ai_2", "python_robotics_docs",
]  # fmt: skip


@pytest.fixture(scope="module")
def count() -> Callable[[str], int]:
    tokenizer = Tokenizer.from_file(str(Path(bookbound.__file__).parent / "models" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def words(text: str) -> Counter[str]:
    """The words of a text, but for those so long that they had to be cut."""
    return Counter(word for word in text.split() if len(word) < BUDGET)


@pytest.mark.parametrize("book", BOOKS)
def test_every_promise_holds_for(
    book: str, shared: Path, count: Callable[[str], int], visible: Visible, check_units: Check
) -> None:
    try:
        pages = parse_book(shared / "data" / "books" / book).pages
    except SourceError as trouble:
        pytest.skip(f"no reader for it: {trouble}")
    known: set[str] = set()
    for page in pages[:: 1 + len(pages) // MANY]:
        chunks = split_page(page, count, BUDGET)
        told = words("\n".join(part for chunk in chunks for part in (chunk.text, *chunk.place.path)))
        assert not words(page.text) - told, page.file
        for chunk, (start, _) in zip(chunks, visible(page, chunks), strict=True):
            assert count(chunk.embedded) <= BUDGET
            check_units(chunk)
            middle = len(chunk.text) // 2
            assert chunk.span(middle, middle + 1) == find_source_span(page.runs, start + middle, start + middle + 1)
            assert chunk.id not in known
            known.add(chunk.id)
    assert known


@pytest.mark.parametrize("book", ["byte_of_python", "hf_deep_rl_course", "mdbook_guide"])
def test_code_is_quoted_as_it_stands_in_the_page(book: str, shared: Path, count: Callable[[str], int]) -> None:
    seen = 0
    for page in parse_book(shared / "data" / "books" / book).pages:
        blocks = [page.text[block.start : block.end].rstrip() for block in code(page.blocks)]
        chunks = split_page(page, count, BUDGET)
        quoted = [chunk.text[a:b] for chunk in chunks for kind, a, b in chunk.units if kind == "code"]
        assert words("\n".join(quoted)) == words("\n".join(blocks)), page.file
        assert [block for block in blocks if count(block) <= BUDGET // 2 and block not in quoted] == [], page.file
        seen += len(blocks)
    assert seen > 50


def code(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        yield from [block] if block.kind == "code" else code(block.children)


def all_chunks(folder: Path, count: Callable[[str], int]) -> list[Chunk]:
    return [chunk for page in parse_book(folder).pages for chunk in split_page(page, count, BUDGET)]


def test_a_change_in_one_section_touches_no_other_id_of_the_book(
    shared: Path, tmp_path: Path, count: Callable[[str], int]
) -> None:
    shutil.copytree(shared / "data" / "books" / "mdbook_guide", tmp_path / "book")
    before = all_chunks(tmp_path / "book", count)
    longest = max(before, key=lambda chunk: len(re.findall(r"\w+", chunk.text)))
    file = next((tmp_path / "book").rglob(Path(longest.place.file).name))
    source = file.read_text(encoding="utf-8")
    at = longest.place.end
    file.write_text(source[:at] + "\n\nA new paragraph, of a few words.\n\n" + source[at:], encoding="utf-8")
    after = {chunk.id for chunk in all_chunks(tmp_path / "book", count)}
    changed = [chunk.place for chunk in before if chunk.id not in after]
    assert {(place.file, place.headings) for place in changed} <= {(longest.place.file, longest.place.headings)}
    assert {chunk.id for chunk in before} != after
