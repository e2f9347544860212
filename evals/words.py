"""Whether words get lost on the way from a book's source to its chunks: `python -m evals.words SHARED [BOOK ...]`."""

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
from bookbound.sources.markdown.front_matter import parse_front_matter

BUDGET = 256
MOST_LOST = 0.001
"""The share of a book's words that may be missing in its chunks."""

_WORD = re.compile(r"[^\W_]+")
_MARKDOWN = (".md", ".mdx", ".markdown")
_LARGEST_GAPS = 5
# A crude rendering shows these, and no reader sees them: statements of modules, comments and what braces compute.
_UNSEEN = re.compile(r"(?ms)^(?:import|export)\b[^\n]*(?:\n(?!\s*\n)[^\n]*)*|\{/\*.*?\*/\}|<!--.*?-->")


@dataclass(slots=True)
class Account:
    """What became of a book's words: how many there are, which no chunk holds, and which its pages may lack."""

    title: str
    words: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of the visible words that no chunk holds."""
        return self.lost.total() / max(1, self.words)


def account(book: ParsedBook, count: Callable[[str], int]) -> Account:
    """Compare the words of each page with those of its chunks, and with a rendering that owes the reader nothing."""
    kept = Account(book.title)
    for page in book.pages:
        seen = words(page.text)
        chunks = split_page(page, count, BUDGET)
        kept.words += seen.total()
        # A heading may stand in the path of a chunk alone.
        kept.lost += seen - words("\n".join(part for chunk in chunks for part in (chunk.text, *chunk.place.path)))
        if page.file.lower().endswith(_MARKDOWN) and (gap := words(rendered(page)) - seen):
            kept.gaps[page.file] = gap
    return kept


def words(text: str) -> Counter[str]:
    """The words of a text; a chunk may cut one that has more letters than any word."""
    return Counter(word for word in _WORD.findall(text) if len(word) < BUDGET)


def rendered(page: Page) -> str:
    """The text of a page of Markdown as a plain renderer and a parser of HTML show it."""
    from markdown_it import MarkdownIt
    from selectolax.lexbor import LexborHTMLParser

    source = _UNSEEN.sub(" ", page.source[parse_front_matter(page.source).end :])
    tree = LexborHTMLParser(MarkdownIt("commonmark", {"html": True}).enable("table").render(source))
    tree.strip_tags(["script", "style", "head", "template"])
    return tree.root.text(separator=" ") if tree.root else ""


def tokens() -> Callable[[str], int]:
    """How many tokens the embedder makes of a text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODELS_FOLDER / TOKENIZER_FILE))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def told(name: str, kept: Account) -> Iterator[str]:
    """The account of one book in lines."""
    missing = kept.lost.total()
    yield f"{name}: {kept.words:,} words, {missing} in no chunk ({kept.share:.3%})"
    if missing:
        yield "  missing: " + ", ".join(f"{word} ({times})" for word, times in kept.lost.most_common(20))
    largest = sorted(kept.gaps.items(), key=lambda gap: -gap[1].total())[:_LARGEST_GAPS]
    for file, gap in largest:
        most = ", ".join(word for word, _ in gap.most_common(8))
        yield f"  {file}: a plain rendering shows {gap.total()} words more: {most}"


def main(shared: Path, names: list[str]) -> int:
    """Print the account of each book; 1 where one loses more of its words than may be lost."""
    books = shared / "data" / "books"
    count = tokens()
    worst = 0.0
    for folder in sorted(path for path in books.iterdir() if not names or path.name in names):
        try:
            kept = account(parse_book(folder), count)
        except SourceError as trouble:
            print(f"{folder.name}: {trouble}")
            continue
        worst = max(worst, kept.share)
        print("\n".join(told(folder.name, kept)), flush=True)
    return int(worst >= MOST_LOST)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("Name the folder that holds data/books: python -m evals.words SHARED [BOOK ...]")
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
