"""An mdBook: the chapters of its SUMMARY.md, at the addresses that mdBook gives them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import decode, endings, files, toml
from bookbound.read.dialect import MDBOOK_MARKDOWN, Dialect
from bookbound.read.doc import load_doc
from bookbound.read.folder import left_out
from bookbound.read.frontmatter import FrontMatter
from bookbound.read.mdbook.links import links
from bookbound.read.summary import read_summary
from bookbound.read.titles import book_title
from bookbound.read.woven import Shelf, Woven, weave

_CONFIG, _SUMMARY = "book.toml", "SUMMARY.md"


@dataclass(frozen=True, slots=True)
class _Book:
    """Where a book keeps its chapters, and what its configuration says of it."""

    home: Path
    src: Path
    title: str
    html: dict[str, Any] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        code = self.html.get("code")
        lines = code.get("hidelines") if isinstance(code, dict) else None
        own = [(str(name).lower(), str(prefix)) for name, prefix in lines.items()] if isinstance(lines, dict) else []
        return replace(MDBOOK_MARKDOWN, hidden=(*MDBOOK_MARKDOWN.hidden, *own))

    def address(self, relative: Path) -> str:
        """A chapter's address: a README opens its folder."""
        named = relative.with_name("index.html") if relative.stem.lower() == "readme" else relative.with_suffix(".html")
        base = str(self.html.get("site-url") or "/")
        return f"{base.rstrip('/')}/{quote(named.as_posix())}"


def knows_mdbook(source: Path) -> bool:
    """Whether a book.toml with a table of contents stands at, above or in a folder of this one."""
    return files.is_folder(source) and _find(source) is not None


def is_mdbook(source: Path) -> bool:
    """Whether the book.toml stands at or above this folder, and not only in one of its folders."""
    book = _find(source)
    return book is not None and book.home.parent != source


def read_mdbook(root: Path) -> Manuscript:
    """The chapters that the SUMMARY.md of the book at `root` lists."""
    book = _find(root)
    if book is None:
        return Manuscript("", "mdbook", (), (Notice(_CONFIG, "there is no table of contents, SUMMARY.md, beside it"),))
    above = root if book.src.is_relative_to(root) else book.src
    paths, notices = files.find(book.src, endings.MARKDOWN)
    summary = read_summary(book.src / _SUMMARY, paths, book.title)
    shelf = Shelf(root if book.home.is_relative_to(root) else book.home)

    def woven(source: str, path: Path, start: int) -> tuple[Woven, list[Notice]]:
        whole = weave(source, links(source, path, shelf, start))
        return whole, shelf.notices(path.relative_to(above).as_posix())

    pages: list[Page] = []
    for path, entry in summary.entries.items():
        file = path.relative_to(above).as_posix()
        doc, odd = load_doc(path, file, book.dialect, fields=lambda _: FrontMatter(), weave=woven)
        notices += odd
        if doc:
            url = book.address(path.relative_to(book.src))
            pages.append(doc.page(url, doc.title or entry.label, entry.chapter, len(pages)))
    notices += summary.notices(summary.path.relative_to(above).as_posix())
    notices += left_out(above, [path for path in paths if path not in summary.entries], summary)
    title = book.title or book_title(book.home, [])
    return Manuscript(title, "mdbook", tuple(pages), tuple(notices))


def _find(root: Path) -> _Book | None:
    """The book at `root`, the one that it is the source of, or the first in its folders."""
    here = root.resolve()
    try:
        below = sorted((path.parent for path in root.glob(f"*/{_CONFIG}")), key=lambda path: files.natural(path.name))
    except OSError:
        below = []
    for home in (root, *below):
        book = _configured(home)
        if book and files.is_inside(book.src, root):
            return book
    for home in (here.parent, here.parent.parent):
        book = _configured(home)
        if book and book.src.resolve() == here:
            return replace(book, src=root)
    return None


def _configured(home: Path) -> _Book | None:
    if not files.is_file(home / _CONFIG):
        return None
    text, _ = decode.load(home / _CONFIG, _CONFIG, decode.LARGEST_SETTINGS)
    try:
        fields = toml.loads(text or "")
    except (ValueError, RecursionError):
        fields = {}
    book = FrontMatter(fields["book"] if isinstance(fields.get("book"), dict) else {})
    output = fields.get("output")
    html = output.get("html") if isinstance(output, dict) else None
    src = files.beside(home, book.text("src") or "src")
    if src is None or not files.is_file(src / _SUMMARY):
        return None
    return _Book(home, src, book.text("title"), html if isinstance(html, dict) else {})
