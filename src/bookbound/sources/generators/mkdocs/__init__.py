"""Reads an MkDocs site: its pages in the order of its navigation, with their snippets included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files, titles
from bookbound.sources.generators.mkdocs.config import GitignorePatterns, MkDocsSite, find_mkdocs_site
from bookbound.sources.generators.mkdocs.nav import MkDocsNav, NavPage
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, ExpandedSource, IncludeLoader, Substitution, substitute
from bookbound.sources.page_loader import IncludeExpander, LoadedPage, load_markdown_page
from bookbound.sources.plain_folder import read_plain_folder
from bookbound.sources.titles import choose_book_title

_SNIPPET_MARKER = re.compile(
    r"""^(?P<space>[ \t]*)(?P<escape>;*)-+8<-+(?:[ \t]+(?P<quote>["'])(?P<name>[^"'\n]+)(?P=quote))?[ \t]*$"""
    r"""|\{\*[ \t]*+(?P<code>[^\s{}*]++)(?P<options>[^{}*\n]*+)\*\}|\{!(?P<plain>[^{}!\n]++)!\}""",
    re.MULTILINE,
)
_SECTION_MARKER = re.compile(r"-+8<-+[ \t]+\[[ \t]*(?P<end>start|end)[ \t]*:[ \t]*(?P<name>[A-Za-z][\w-]*)[ \t]*\]")
_SNIPPET_TARGET = re.compile(
    r"(?P<file>.*?)(?::(?P<ranges>\d{0,9}(?::\d{0,9})?(?:,\d{0,9}(?::\d{0,9})?)*+)|:(?P<section>[A-Za-z][\w-]*))?"
)
_MAX_TARGET_LENGTH = 1_000
_LINE_RANGES = re.compile(r"\bln\[(?P<ranges>[\d:,-]+)\]")


class SnippetResolver:
    """Finds snippets below the folders that a site names, and code beside its configuration."""

    def __init__(self, shelf: IncludeLoader, bases: list[Path]) -> None:
        self._shelf = shelf
        self._bases = bases

    def swaps(self, source: str, start: int = 0, depth: int = 0) -> list[Substitution]:
        """The snippets of a page from `start` on, each with the words that the site puts in its place."""
        swaps: list[Substitution] = []
        block: re.Match[str] | None = None
        for found in _SNIPPET_MARKER.finditer(source, start):
            if found["escape"]:
                swaps.append(Substitution(found.start("escape"), found.start("escape") + 1, ""))
            elif found["code"] or found["plain"]:
                code = found["code"]
                words = self._code(code, found["options"]) if code else self._text(found["plain"].strip())
                swaps.append(Substitution(*found.span(), words))
            elif found["name"]:
                words = self._snippet(found["name"], found["space"], depth) if block is None else ""
                swaps += [Substitution(*found.span(), words)] if block is None else []
            elif block is None:
                block = found
            else:
                names = source[block.end() : found.start()].split("\n")
                words = "\n".join(self._snippet(name, "", depth) for name in names if name.strip())
                while swaps and swaps[-1].end > block.start():
                    swaps.pop()
                swaps.append(Substitution(block.start(), found.end(), words))
                block = None
        return swaps

    def _snippet(self, name: str, space: str, depth: int) -> str:
        part = _SNIPPET_TARGET.fullmatch(name.strip()[:_MAX_TARGET_LENGTH])
        text = self._text(part["file"]) if part and depth < MAX_INCLUDE_DEPTH and not name.startswith(";") else ""
        if part and part["section"]:
            lines = list(_section_lines(text, part["section"]))
        else:
            ranges = [one.partition(":") for one in ((part and part["ranges"]) or ":").split(",")]
            whole = text.splitlines()
            parts = [whole[max(int(first or 1) - 1, 0) : int(last) if last else None] for first, _, last in ranges]
            lines = [line for lines in parts for line in lines if not _SECTION_MARKER.search(line)]
        words = "\n".join(lines)
        words = substitute(words, self.swaps(words, depth=depth + 1)).text
        return "\n".join(space + line for line in words.split("\n"))

    def _code(self, name: str, options: str) -> str:
        """A file as a piece of code, or those lines of it that the options name."""
        lines = self._text(name).splitlines()
        chosen = _LINE_RANGES.search(options)
        if chosen:
            lines = [line for one in chosen["ranges"].split(",") for line in lines[_parse_range(one)]]
        suffix = name.rpartition(".")[2] if "." in name else ""
        return f"```{'python' if suffix == 'py' else suffix}\n" + "\n".join(lines) + "\n```" if lines else ""

    def _text(self, name: str) -> str:
        paths = [path for base in self._bases if (path := files.resolve_relative_path(base, name))]
        path = next((path for path in paths if files.is_file(path)), None)
        return self._shelf.text(path, name) or ""


def _parse_range(written: str) -> slice:
    first, _, last = written.replace("-", ":").partition(":")
    start = max(int(first[:9] or 1) - 1, 0) if first.isdecimal() or not first else 0
    return slice(start, int(last[:9]) if last.isdecimal() else start + 1)


def _section_lines(text: str, name: str) -> Iterator[str]:
    """The lines between the marks of a section; those of others go."""
    inside = False
    for line in text.splitlines():
        mark = _SECTION_MARKER.search(line)
        if mark and mark["name"] == name:
            inside = mark["end"] == "start"
        elif inside and not mark:
            yield line


_PAGE_SUFFIXES = frozenset((".md", ".markdown", ".mdown", ".mkdn", ".mkd"))
# These neither add words to a page nor take some away.
_TEXT_NEUTRAL_PLUGINS = frozenset(
    "search autorefs literate-nav awesome-pages awesome-nav redirects minify offline privacy social tags meta glightbox"
    " optimize rss section-index git-revision-date git-revision-date-localized git-authors git-committers exclude"
    " same-dir tooltips info".split()
)


def is_mkdocs_source(source: Path) -> bool:
    """Whether an mkdocs.yml stands in this folder, beside it, or among the languages below it."""
    return files.is_folder(source) and any(find_mkdocs_site(source))


def read_mkdocs(root: Path) -> ParsedBook:
    """The pages of the MkDocs site at `root`; a configuration that leads to none leaves a folder of pages."""
    site, odd = find_mkdocs_site(root)
    if site is None and not odd:
        return ParsedBook("", "mkdocs", (), (SourceNotice("mkdocs.yml", "is neither here nor beside this folder"),))
    book = _read_site(root, site) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_plain_folder(root)
    return replace(book, notices=(*odd, *book.notices))


def _read_site(root: Path, site: MkDocsSite) -> ParsedBook:
    above = root if site.docs.is_relative_to(root) else site.docs
    paths, notices = files.find_files(site.docs, _PAGE_SUFFIXES)
    paths, left = _split_published(site, paths)
    notices += [SourceNotice(path.relative_to(above).as_posix(), "is excluded by the configuration") for path in left]
    notices += _plugin_notices(site)
    nav = MkDocsNav(site, paths)
    weaving = _snippet_includer(root, site, above)
    docs: list[tuple[NavPage, LoadedPage]] = []
    for listed in nav.pages():
        doc, odd = load_markdown_page(
            listed.path, listed.path.relative_to(above).as_posix(), site.dialect, weave=weaving
        )
        notices += odd
        docs += [(listed, doc)] if doc else []
    notices += [SourceNotice(site.config.name, f"lists {name}, which is not there", lost=True) for name in nav.missing]
    chapters: dict[int, str] = {}
    pages: list[Page] = []
    for listed, doc in docs:
        title = listed.label or doc.title or titles.humanize_name(doc.path.stem)
        chapter = chapters.setdefault(listed.branch, listed.chapter or listed.label or title)
        pages.append(doc.page(site.address(doc.path.relative_to(site.docs)), title, chapter, len(pages)))
    title = site.fields.text("site_name") or choose_book_title(root, [doc.setting for _, doc in docs[:1]])
    return ParsedBook(title, "mkdocs", tuple(pages), tuple(notices))


def _split_published(site: MkDocsSite, paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """The pages of the site, and those that its configuration leaves out or another page's address hides."""
    lines = [*site.fields.text("exclude_docs").split("\n"), *site.fields.text("draft_docs").split("\n")]
    ignored = GitignorePatterns(".*", "/templates/", *lines)
    named = {path.relative_to(site.docs).as_posix() for path in paths}
    kept, left = list[Path](), list[Path]()
    for path in paths:
        relative = path.relative_to(site.docs)
        hidden = relative.stem == "README" and relative.with_name("index.md").as_posix() in named
        (left if hidden or relative.as_posix() in ignored else kept).append(path)
    return kept, left


def _snippet_includer(root: Path, site: MkDocsSite, above: Path) -> IncludeExpander:
    """Puts the snippets that a page takes from the files of its site in their places."""
    home = site.config.parent
    shelf = IncludeLoader(root if home.is_relative_to(root) else home)
    given = site.extensions.get("pymdownx.snippets", {}).get("base_path")
    bases = [given] if isinstance(given, str) else given if isinstance(given, list) else ["."]
    folders = [path for base in bases if isinstance(base, str) and (path := files.resolve_relative_path(home, base))]
    snippets = SnippetResolver(shelf, [*folders, home, site.docs])

    def weaving(source: str, path: Path, start: int) -> tuple[ExpandedSource, list[SourceNotice]]:
        woven = substitute(source, snippets.swaps(source, start))
        return woven, shelf.notices(path.relative_to(above).as_posix())

    return weaving


def _plugin_notices(site: MkDocsSite) -> list[SourceNotice]:
    hooks = site.fields.fields.get("hooks")
    names = [name for name in site.plugins if name.rpartition("/")[2] not in _TEXT_NEUTRAL_PLUGINS]
    names += [name for name in hooks if isinstance(name, str)] if isinstance(hooks, list) else []
    if not names:
        return []
    return [
        SourceNotice(site.config.name, f"no plugin is run here; words that these add are not read: {', '.join(names)}")
    ]
