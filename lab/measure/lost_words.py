"""`python -m lab.measure.lost_words SHARED [BOOK ...]`: finds words that a book's source has and its chunks lack."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bookbound.domain.document import Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.indexing.split import split_page
from bookbound.models import MODELS_FOLDER, TOKENIZER_FILE
from bookbound.sources import parse_book
from bookbound.sources.page_loader import parse_front_matter

MAX_TOKENS = 256
MAX_LOST_SHARE = 0.001
"""The share of a book's words that its chunks may lack."""

_WORD = re.compile(r"[^\W_]+")
_MARKDOWN = (".md", ".mdx", ".markdown")
_MAX_LISTED_GAPS = 5
# A plain renderer shows module statements and comments that no reader sees.
_INVISIBLE = re.compile(r"(?ms)^(?:import|export)\b[^\n]*(?:\n(?!\s*\n)[^\n]*)*|\{/\*.*?\*/\}|<!--.*?-->")


@dataclass(slots=True)
class WordCount:
    """The number of words of a book, those in no chunk, and for each page those that only a plain rendering shows."""

    title: str
    words: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def lost_share(self) -> float:
        return self.lost.total() / max(1, self.words)


def count_words(book: ParsedBook, count_tokens: Callable[[str], int]) -> WordCount:
    """Compares the words of each page with those of its chunks and of a plain rendering."""
    counts = WordCount(book.title)
    for page in book.pages:
        visible = split_words(page.text)
        chunks = split_page(page, count_tokens, MAX_TOKENS)
        counts.words += visible.total()
        # A heading may be only in the heading path of a chunk.
        counts.lost += visible - split_words(
            "\n".join(part for chunk in chunks for part in (chunk.text, *chunk.place.heading_path))
        )
        if page.file.lower().endswith(_MARKDOWN) and (gap := split_words(render_plainly(page)) - visible):
            counts.gaps[page.file] = gap
    return counts


def split_words(text: str) -> Counter[str]:
    """The words of a text without overlong ones, which a chunk may split."""
    return Counter(word for word in _WORD.findall(text) if len(word) < MAX_TOKENS)


def render_plainly(page: Page) -> str:
    """The text of a Markdown page according to a plain renderer and an HTML parser."""
    from markdown_it import MarkdownIt
    from selectolax.lexbor import LexborHTMLParser

    source = _INVISIBLE.sub(" ", page.source[parse_front_matter(page.source).end :])
    tree = LexborHTMLParser(MarkdownIt("commonmark", {"html": True}).enable("table").render(source))
    tree.strip_tags(["script", "style", "head", "template"])
    return tree.root.text(separator=" ") if tree.root else ""


def make_token_counter() -> Callable[[str], int]:
    """Counts tokens like the embedder."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODELS_FOLDER / TOKENIZER_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def format_counts(name: str, counts: WordCount) -> Iterator[str]:
    missing = counts.lost.total()
    yield f"{name}: {counts.words:,} words, {missing} in no chunk ({counts.lost_share:.3%})"
    if missing:
        yield "  missing: " + ", ".join(f"{word} ({times})" for word, times in counts.lost.most_common(20))
    largest = sorted(counts.gaps.items(), key=lambda gap: -gap[1].total())[:_MAX_LISTED_GAPS]
    for file, gap in largest:
        most = ", ".join(word for word, _ in gap.most_common(8))
        yield f"  {file}: a plain rendering has {gap.total()} more words: {most}"


def main(shared: Path, names: list[str]) -> int:
    """Prints the counts of each book; returns 1 if one loses too many words."""
    books = shared / "data" / "books"
    count_tokens = make_token_counter()
    worst = 0.0
    for folder in sorted(path for path in books.iterdir() if not names or path.name in names):
        try:
            counts = count_words(parse_book(folder), count_tokens)
        except SourceError as error:
            print(f"{folder.name}: {error}")
            continue
        worst = max(worst, counts.lost_share)
        print("\n".join(format_counts(folder.name, counts)), flush=True)
    return int(worst >= MAX_LOST_SHARE)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("Name the folder that contains data/books: python -m lab.measure.lost_words SHARED [BOOK ...]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
