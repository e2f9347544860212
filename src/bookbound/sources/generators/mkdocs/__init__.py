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
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, IncludeLoader, Substitution, parse_line_range, substitute
from bookbound.sources.page_loader import LoadedPage, load_markdown_page
from bookbound.sources.plain_folder import read_plain_folder

_PAGE_SUFFIXES = frozenset((".md", ".markdown", ".mdown", ".mkdn", ".mkd"))
# These plugins do not change the text of pages.
_TEXT_NEUTRAL_PLUGINS = frozenset(
    "search autorefs literate-nav awesome-pages awesome-nav redirects minify offline privacy social tags meta glightbox"
    " optimize rss section-index git-revision-date git-revision-date-localized git-authors git-committers exclude"
    " same-dir tooltips info".split()
)
_SNIPPET_MARKER = re.compile(
    r"""^(?P<indent>[ \t]*)(?P<escape>;*)-+8<-+(?:[ \t]+(?P<quote>["'])(?P<name>[^"'\n]+)(?P=quote))?[ \t]*$"""
    r"""|\{\*[ \t]*+(?P<code>[^\s{}*]++)(?P<options>[^{}*\n]*+)\*\}|\{!(?P<plain>[^{}!\n]++)!\}""",
    re.MULTILINE,
)
_SECTION_MARKER = re.compile(r"-+8<-+[ \t]+\[[ \t]*(?P<end>start|end)[ \t]*:[ \t]*(?P<name>[A-Za-z][\w-]*)[ \t]*\]")
_SNIPPET_TARGET = re.compile(
    r"(?P<file>.*?)(?::(?P<ranges>\d{0,9}(?::\d{0,9})?(?:,\d{0,9}(?::\d{0,9})?)*+)|:(?P<section>[A-Za-z][\w-]*))?"
)
_LINE_RANGES = re.compile(r"\bln\[(?P<ranges>[\d:,-]+)\]")
_MAX_TARGET_LENGTH = 1_000


def is_mkdocs_source(source: Path) -> bool:
    return files.is_folder(source) and any(find_mkdocs_site(source))


def read_mkdocs(root: Path) -> ParsedBook:
    """Read the site at `root`; if its configuration leads to no pages, the folder is read as plain pages."""
    site, notices = find_mkdocs_site(root)
    if site is None and not notices:
        return ParsedBook("", "mkdocs", (), (SourceNotice("mkdocs.yml", "is neither here nor in the folder above"),))
    book = _read_site(root, site) if site else None
    if book is None or not (book.pages or book.notices):
        book = read_plain_folder(root)
    return replace(book, notices=(*notices, *book.notices))


def _read_site(root: Path, site: MkDocsSite) -> ParsedBook:
    base = root if site.docs.is_relative_to(root) else site.docs
    paths, notices = files.find_files(site.docs, _PAGE_SUFFIXES)
    excluded = _find_excluded(site, paths)
    names = [path.relative_to(base).as_posix() for path in excluded]
    notices += [SourceNotice(name, "is excluded by the configuration") for name in names]
    notices += _plugin_notices(site)
    nav = MkDocsNav(site, [path for path in paths if path not in excluded])
    snippets = _build_snippet_resolver(root, site)
    loaded_pages: list[tuple[NavPage, LoadedPage]] = []
    for listed in nav.pages():
        loaded, page_notices = load_markdown_page(
            listed.path,
            listed.path.relative_to(base).as_posix(),
            site.dialect,
            find_includes=lambda source, path, start: snippets.find_includes(source, start),
            includes=snippets.includes,
        )
        notices += page_notices
        loaded_pages += [(listed, loaded)] if loaded else []
    missing = (f"lists {name}, which does not exist" for name in nav.missing)
    notices += [SourceNotice(site.config.name, message, lost=True) for message in missing]
    chapters: dict[int, str] = {}
    pages: list[Page] = []
    for listed, loaded in loaded_pages:
        title = listed.label or loaded.title or titles.humanize_name(loaded.path.stem)
        chapter = chapters.setdefault(listed.branch, listed.chapter or listed.label or title)
        pages.append(loaded.make_page(site.page_url(loaded.path.relative_to(site.docs)), title, chapter, len(pages)))
    openings = [each.rendered for _, each in loaded_pages[:1]]
    title = site.fields.text("site_name") or titles.choose_book_title(root, openings)
    return ParsedBook(title, "mkdocs", tuple(pages), tuple(notices))


def _find_excluded(site: MkDocsSite, paths: list[Path]) -> dict[Path, None]:
    """Find the pages that the configuration excludes or that another page with the same URL replaces."""
    lines = [*site.fields.text("exclude_docs").split("\n"), *site.fields.text("draft_docs").split("\n")]
    ignored = GitignorePatterns(".*", "/templates/", *lines)
    indexes = {path.parent for path in paths if path.name == "index.md"}
    replaced = {path for path in paths if path.stem == "README" and path.parent in indexes}
    return {path: None for path in paths if path in replaced or path.relative_to(site.docs).as_posix() in ignored}


def _plugin_notices(site: MkDocsSite) -> list[SourceNotice]:
    names = [name for name in site.plugins if name.rpartition("/")[2] not in _TEXT_NEUTRAL_PLUGINS]
    names += [name for name in site.fields.list_items("hooks") if isinstance(name, str)]
    message = f"plugins do not run here; text that these add is not read: {', '.join(names)}"
    return [SourceNotice(site.config.name, message)] if names else []


def _build_snippet_resolver(root: Path, site: MkDocsSite) -> SnippetResolver:
    home = site.config.parent
    named = site.extensions.get("pymdownx.snippets", {}).get("base_path")
    bases = named if isinstance(named, list) else [named if isinstance(named, str) else "."]
    folders = [path for base in bases if isinstance(base, str) and (path := files.resolve_relative_path(home, base))]
    includes = IncludeLoader(root if home.is_relative_to(root) else home)
    return SnippetResolver(includes, [*folders, home, site.docs])


class SnippetResolver:
    """Finds the snippets and code files that pages include from the folders of a site."""

    def __init__(self, includes: IncludeLoader, folders: list[Path]) -> None:
        self.includes = includes
        self._folders = folders

    def find_includes(self, source: str, start: int = 0, depth: int = 0) -> list[Substitution]:
        """Find the snippets of a page after `start`, with their text."""
        substitutions: list[Substitution] = []
        block: re.Match[str] | None = None
        for match in _SNIPPET_MARKER.finditer(source, start):
            if match["escape"]:
                substitutions.append(Substitution(match.start("escape"), match.start("escape") + 1, ""))
            elif match["code"]:
                substitutions.append(Substitution(*match.span(), self._load_code(match["code"], match["options"])))
            elif match["plain"]:
                substitutions.append(Substitution(*match.span(), self._load(match["plain"].strip())))
            elif match["name"]:
                if block is None:
                    text = self._load_snippet(match["name"], match["indent"], depth)
                    substitutions.append(Substitution(*match.span(), text))
            elif block is None:
                block = match
            else:
                names = source[block.end() : match.start()].split("\n")
                text = "\n".join(self._load_snippet(name, "", depth) for name in names if name.strip())
                while substitutions and substitutions[-1].end > block.start():
                    substitutions.pop()
                substitutions.append(Substitution(block.start(), match.end(), text))
                block = None
        return substitutions

    def _load_snippet(self, name: str, indent: str, depth: int) -> str:
        target = _SNIPPET_TARGET.fullmatch(name.strip()[:_MAX_TARGET_LENGTH])
        if target is None or depth >= MAX_INCLUDE_DEPTH or name.startswith(";"):
            return indent
        text = self._load(target["file"])
        if target["section"]:
            lines = list(_section_lines(text, target["section"]))
        else:
            # Here a single number means from that line to the end.
            ranges = [each if ":" in each else f"{each}:" for each in (target["ranges"] or "").split(",")]
            lines = [line for line in _select_lines(text, ranges) if not _SECTION_MARKER.search(line)]
        text = "\n".join(lines)
        text = substitute(text, self.find_includes(text, depth=depth + 1)).text
        return "\n".join(indent + line for line in text.split("\n"))

    def _load_code(self, name: str, options: str) -> str:
        """Load a file as a code block, or only the lines that the options select."""
        chosen = _LINE_RANGES.search(options)
        lines = _select_lines(self._load(name), chosen["ranges"].replace("-", ":").split(",") if chosen else [":"])
        suffix = name.rpartition(".")[2] if "." in name else ""
        return f"```{'python' if suffix == 'py' else suffix}\n" + "\n".join(lines) + "\n```" if lines else ""

    def _load(self, name: str) -> str:
        paths = [path for folder in self._folders if (path := files.resolve_relative_path(folder, name))]
        path = next((path for path in paths if files.is_file(path)), None)
        return self.includes.load(path, name) or ""


def _select_lines(text: str, ranges: list[str]) -> list[str]:
    lines = text.splitlines()
    return [line for each in ranges for line in lines[parse_line_range(each)]]


def _section_lines(text: str, name: str) -> Iterator[str]:
    """Yield the lines between the markers of a section, without the markers of other sections."""
    is_inside = False
    for line in text.splitlines():
        marker = _SECTION_MARKER.search(line)
        if marker and marker["name"] == name:
            is_inside = marker["end"] == "start"
        elif is_inside and not marker:
            yield line
