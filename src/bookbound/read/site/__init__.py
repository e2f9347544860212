"""A folder of HTML that a generator built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

from bookbound.book import Manuscript
from bookbound.errors import BadSource
from bookbound.read import endings, files
from bookbound.read.html.address import KEPT, key
from bookbound.read.html.charset import load_html
from bookbound.read.html.page import HtmlPage, canonical, generator, look
from bookbound.read.html.selectolax import Document
from bookbound.read.maps import drawn
from bookbound.read.maps.found import in_folder
from bookbound.read.reasons import reasons
from bookbound.read.site.book import bind

_SOURCES = endings.MARKDOWN | endings.NOTEBOOKS | {".rst"}
_NOWHERE = "http://book.invalid"
_LOOKED_AT = 20


def knows_html(source: Path) -> bool:
    """Whether a source is a page of HTML, or a folder that opens with one and is a generator's or mostly such pages."""
    if files.is_file(source):
        return source.suffix.lower() in endings.HTML
    if not files.is_file(source / "index.html"):
        return False
    html, _ = load_html(source / "index.html", "index.html")
    if html and generator(html):
        return True
    return len(files.find(source, endings.HTML, built=True)[0]) > len(files.find(source, _SOURCES)[0])


def read_html(source: Path) -> Manuscript:
    """The book of the site that stands in a folder, or of one page of HTML."""
    root = source.parent if files.is_file(source) else source
    paths, notices = ([source], []) if files.is_file(source) else files.find(root, endings.HTML, built=True)
    home = _home(root, paths[:_LOOKED_AT])
    pages: list[HtmlPage] = []
    taken: set[str] = set()
    for path in paths:
        file = files.shown(path.relative_to(root))
        html, odd = load_html(path, file)
        notices += odd
        if html is not None:
            page = look(html, home + _address(file), file)
            # `a.html` and `a/index.html` are often one page, but not where both are there.
            pages.append(replace(page, key=f"{page.key}//{file}") if page.key in taken else page)
            taken.add(page.key)
    if all(page.kept_out for page in pages):
        pages = [replace(page, kept_out=False) for page in pages]  # whoever names the folder may read it
    found, odd = in_folder(root) if root == source else ({}, [])
    name = files.readable(files.shown(Path(root.resolve().name)))
    book = bind(pages, home + "/", name, [*notices, *odd], drawn(found, home + "/"))
    if not book.pages:
        why = reasons(book.notices)
        raise BadSource(f"No page of HTML shows words: name the folder that a generator built its site into.{why}")
    return replace(book, pages=tuple(replace(page, url=page.url.removeprefix(_NOWHERE)) for page in book.pages))


def _address(file: str) -> str:
    """Where a page of a site stands below its home."""
    folder, _, name = file.rpartition("/")
    shown = "" if name == "index.html" else name
    return quote(f"/{folder}/{shown}" if folder else f"/{shown}", KEPT)


def _home(root: Path, paths: list[Path]) -> str:
    """Where the site says it stands; nowhere, if it does not."""
    for path in paths:
        file = files.shown(path.relative_to(root))
        html, _ = load_html(path, file)
        said = canonical(Document(html or ""), _NOWHERE + _address(file)).split("?")[0]
        below = key(_NOWHERE + _address(file)).removeprefix(key(_NOWHERE))
        if said and not said.startswith(_NOWHERE) and key(said).endswith(below):
            return f"{urlsplit(said).scheme}://{key(said).removesuffix(below)}"
    return _NOWHERE
