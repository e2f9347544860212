"""No word gets lost between a source and its chunks, and a loss is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bookbound.domain.document import ParsedBook
from bookbound.sources import parse_book
from lab.measure.lost_words import MAX_LOST_SHARE, WordCount, count_words, format_counts, make_token_counter

SOURCE = """# Drives

A harmonic drive has *three* parts: see [the list](parts.md) &amp; more.

| part | count |
|------|-------|
| wave generator | 1 |

```py
ratio = 120
```

<div>Words <b>within</b> tags</div>
"""


@pytest.fixture(scope="module")
def count_tokens() -> Callable[[str], int]:
    return make_token_counter()


@pytest.fixture
def book(tmp_path: Path) -> ParsedBook:
    (tmp_path / "drives.md").write_text(SOURCE)
    return parse_book(tmp_path)


def test_a_complete_book_lacks_no_words(book: ParsedBook, count_tokens: Callable[[str], int]) -> None:
    counts = count_words(book, count_tokens)
    assert (counts.words, counts.lost.total(), counts.gaps) == (21, 0, {})
    assert list(format_counts("drives", counts)) == ["drives: 21 words, 0 in no chunk (0.000%)"]


def test_a_parser_that_drops_words_is_noticed(book: ParsedBook, count_tokens: Callable[[str], int]) -> None:
    [page] = book.pages
    dropped = replace(book, pages=(replace(page, text=page.text.replace("three", "     ")),))
    counts = count_words(dropped, count_tokens)
    assert dict(counts.gaps["drives.md"]) == {"three": 1}
    assert "a plain rendering has 1 more words: three" in list(format_counts("drives", counts))[1]


def test_words_in_no_chunk_are_listed() -> None:
    counts = WordCount("B", words=10)
    counts.lost["gone"] = 2
    assert counts.lost_share == 0.2
    assert list(format_counts("b", counts)) == ["b: 10 words, 2 in no chunk (20.000%)", "  missing: gone (2)"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mdbook_guide", "mkdocs_docs"])
def test_real_books_keep_their_words(shared: Path, count_tokens: Callable[[str], int], name: str) -> None:
    folder = shared / "data" / "books" / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not among the real books here")
    counts = count_words(parse_book(folder), count_tokens)
    assert counts.words > 10_000
    assert counts.lost_share < MAX_LOST_SHARE
