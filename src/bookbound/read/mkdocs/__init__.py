"""An MkDocs site: its pages in the order of its navigation, at their addresses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import files
from bookbound.read.doc import Doc, Weave, load_doc
from bookbound.read.folder import read_folder
from bookbound.read.mkdocs.config import Site, find_site
from bookbound.read.mkdocs.ignored import Ignored
from bookbound.read.mkdocs.nav import Listed, Nav
from bookbound.read.mkdocs.snippets import Snippets
from bookbound.read.titles import book_title
from bookbound.read.woven import Shelf, Woven, weave

_SUFFIXES = frozenset((".md", ".markdown", ".mdown", ".mkdn", ".mkd"))
# These neither add words to a page nor take some away.
_QUIET = frozenset(
    "search autorefs literate-nav awesome-pages awesome-nav redirects minify offline privacy social tags meta glightbox"
    " optimize rss section-index git-revision-date git-revision-date-localized git-authors git-committers exclude"
    " same-dir tooltips info".split()
)


def knows_mkdocs(source: Path) -> bool:
    """Whether an mkdocs.yml stands in this folder, beside it, or among the languages below it."""
    return files.is_folder(source) and any(find_site(source))


def read_mkdocs(root: Path) -> Manuscript:
    """The pages of the MkDocs site at `root`; a configuration that leads to none leaves a folder of pages."""
    site, odd = find_site(root)
    if site is None and not odd:
        return Manuscript("", "mkdocs", (), (Notice("mkdocs.yml", "is neither here nor beside this folder"),))
    book = _read_site(root, site) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_folder(root)
    return replace(book, notices=(*odd, *book.notices))


def _read_site(root: Path, site: Site) -> Manuscript:
    above = root if site.docs.is_relative_to(root) else site.docs
    paths, notices = files.find(site.docs, _SUFFIXES)
    paths, left = _published(site, paths)
    notices += [Notice(path.relative_to(above).as_posix(), "is excluded by the configuration") for path in left]
    notices += _not_run(site)
    nav = Nav(site, paths)
    weaving = _weaving(root, site, above)
    docs: list[tuple[Listed, Doc]] = []
    for listed in nav.pages():
        doc, odd = load_doc(listed.path, listed.path.relative_to(above).as_posix(), site.dialect, weave=weaving)
        notices += odd
        docs += [(listed, doc)] if doc else []
    notices += [Notice(site.config.name, f"lists {name}, which is not there", lost=True) for name in nav.missing]
    chapters: dict[int, str] = {}
    pages: list[Page] = []
    for listed, doc in docs:
        title = listed.label or doc.title or files.readable(doc.path.stem)
        chapter = chapters.setdefault(listed.branch, listed.chapter or listed.label or title)
        pages.append(doc.page(site.address(doc.path.relative_to(site.docs)), title, chapter, len(pages)))
    title = site.fields.text("site_name") or book_title(root, [doc.setting for _, doc in docs[:1]])
    return Manuscript(title, "mkdocs", tuple(pages), tuple(notices))


def _published(site: Site, paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """The pages of the site, and those that its configuration leaves out or another page's address hides."""
    lines = [*site.fields.text("exclude_docs").split("\n"), *site.fields.text("draft_docs").split("\n")]
    ignored = Ignored(".*", "/templates/", *lines)
    named = {path.relative_to(site.docs).as_posix() for path in paths}
    kept, left = list[Path](), list[Path]()
    for path in paths:
        relative = path.relative_to(site.docs)
        hidden = relative.stem == "README" and relative.with_name("index.md").as_posix() in named
        (left if hidden or relative.as_posix() in ignored else kept).append(path)
    return kept, left


def _weaving(root: Path, site: Site, above: Path) -> Weave:
    """Puts the snippets that a page takes from the files of its site in their places."""
    home = site.config.parent
    shelf = Shelf(root if home.is_relative_to(root) else home)
    given = site.extensions.get("pymdownx.snippets", {}).get("base_path")
    bases = [given] if isinstance(given, str) else given if isinstance(given, list) else ["."]
    folders = [path for base in bases if isinstance(base, str) and (path := files.beside(home, base))]
    snippets = Snippets(shelf, [*folders, home, site.docs])

    def weaving(source: str, path: Path, start: int) -> tuple[Woven, list[Notice]]:
        woven = weave(source, snippets.swaps(source, start))
        return woven, shelf.notices(path.relative_to(above).as_posix())

    return weaving


def _not_run(site: Site) -> list[Notice]:
    hooks = site.fields.fields.get("hooks")
    names = [name for name in site.plugins if name.rpartition("/")[2] not in _QUIET]
    names += [name for name in hooks if isinstance(name, str)] if isinstance(hooks, list) else []
    if not names:
        return []
    return [Notice(site.config.name, f"no plugin is run here; words that these add are not read: {', '.join(names)}")]
