"""No word gets lost between a source and its chunks, and a reader that loses some is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from evals.words import MOST_LOST, Account, account, tokens, told

from bookbound.domain.document import ParsedBook
from bookbound.sources import parse_book

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
def count() -> Callable[[str], int]:
    return tokens()


@pytest.fixture
def book(tmp_path: Path) -> ParsedBook:
    (tmp_path / "drives.md").write_text(SOURCE)
    return parse_book(tmp_path)


def test_a_book_whose_words_are_all_there_has_a_clean_account(book: ParsedBook, count: Callable[[str], int]) -> None:
    kept = account(book, count)
    assert (kept.words, kept.lost.total(), kept.gaps) == (21, 0, {})
    assert list(told("drives", kept)) == ["drives: 21 words, 0 in no chunk (0.000%)"]


def test_a_reader_that_drops_words_is_found(book: ParsedBook, count: Callable[[str], int]) -> None:
    [page] = book.pages
    dropped = replace(book, pages=(replace(page, text=page.text.replace("three", "     ")),))
    kept = account(dropped, count)
    assert dict(kept.gaps["drives.md"]) == {"three": 1}
    assert "a plain rendering shows 1 words more: three" in list(told("drives", kept))[1]


def test_words_that_no_chunk_holds_are_listed() -> None:
    kept = Account("B", words=10)
    kept.lost["gone"] = 2
    assert kept.share == 0.2
    assert list(told("b", kept)) == ["b: 10 words, 2 in no chunk (20.000%)", "  missing: gone (2)"]


@pytest.mark.parametrize("name", ["mdbook_guide", "mkdocs_docs"])
def test_real_books_keep_their_words(shared: Path, count: Callable[[str], int], name: str) -> None:
    folder = shared / "data" / "books" / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not among the real books here")
    kept = account(parse_book(folder), count)
    assert kept.words > 10_000
    assert kept.share < MOST_LOST
