"""Where a Docusaurus site keeps its documentation, and where it publishes it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import decode, files
from bookbound.read.tags import Braces

_CONFIGS = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_LINE_COMMENT = re.compile(r"^[ \t]*+//[^\n]*", re.MULTILINE)
_DOCS = re.compile(r"(?<![\w.])docs\s*:\s*(?=\{)")


@dataclass(frozen=True, slots=True)
class Site:
    """A site's documentation folder, its title and its public address."""

    docs: Path
    title: str = ""
    url: str = ""
    base: str = "/"
    route: str = "docs"
    trailing_slash: bool | None = None
    config: str = ""

    def address(self, slug: str) -> str:
        """Where the page with this route below the documentation's is published."""
        path = re.sub(r"/{2,}", "/", f"/{self.base}/{self.route}/{slug}")
        if self.trailing_slash is not None and len(path) > 1:
            path = path.rstrip("/") + "/" * self.trailing_slash
        return self.url.rstrip("/") + path


def find_site(root: Path) -> tuple[Site | None, list[Notice]]:
    """The site at `root`, beside it or in its `website` folder, and what is odd about its configuration."""
    notices = []
    for home in (root, root / "website"):
        site = _configured(home)
        if site and not files.is_inside(site.docs, root):
            notices.append(Notice(site.config, "its pages stand outside of this folder: name one that holds both"))
        elif site and files.is_folder(site.docs):
            return site, notices
    # A folder may be named from within it or by a link: its site stands above either of its places.
    for home in (root.absolute().parent, root.resolve().parent):
        beside = _configured(home)
        if beside and os.path.realpath(beside.docs) == os.path.realpath(root):
            return replace(beside, docs=root), notices
    for docs in (root / "docs", root, root / "website" / "docs"):
        if not files.is_folder(docs) or not files.is_inside(docs, root):
            continue
        categories = [*docs.glob("_category_.*"), *docs.glob("*/_category_.*")]
        if categories or docs.resolve().parts[-2:] == ("website", "docs"):
            return Site(docs), notices
    return None, notices


def _configured(home: Path) -> Site | None:
    config = next((home / name for name in _CONFIGS if files.is_file(home / name)), None)
    if config is None:
        return None
    text, _ = decode.load(config, config.name, decode.LARGEST_SETTINGS)
    source = _LINE_COMMENT.sub("", _without_comments(text or ""))
    found = _DOCS.search(source)
    end = Braces(source).end(found.end()) if found else -1
    options = source[found.end() : end] if found and end > 0 else ""
    slash = re.search(r"(?<!\w)trailingSlash\s*:\s*(true|false)", source)
    return Site(
        files.beside(home, _literal(options, "path") or "docs") or home / "docs",
        _literal(source, "title"),
        _literal(source, "url"),
        _literal(source, "baseUrl") or "/",
        _literal(options, "routeBasePath") or "docs",
        slash[1] == "true" if slash else None,
        config.name,
    )


def _without_comments(source: str) -> str:
    """The source without what stands between a slash with a star and a star with a slash."""
    parts, at = [], 0
    while (opened := source.find("/*", at)) >= 0 and (closed := source.find("*/", opened + 2)) >= 0:
        parts.append(source[at:opened])
        at = closed + 2
    return "".join(parts) + source[at:]


def _literal(source: str, name: str) -> str:
    """The plain string that a setting is given; of several, the one whose line is indented the least."""
    given = rf"{name}\s*+:\s*+(?:'((?:\\.|[^'\\\n$])*+)'|\"((?:\\.|[^\"\\\n$])*+)\"|`((?:\\.|[^`\\\n$])*+)`)"
    pattern = re.compile(rf"^(?P<indent>[ \t]*+)(?:{given})?|[{{,(][ \t]*+{given}", re.MULTILINE)
    found: list[tuple[int, str]] = []
    indent = 0
    for match in pattern.finditer(source):
        if match["indent"] is not None:
            indent = len(match["indent"].expandtabs(4))
        if (match.lastindex or 1) > 1:
            found.append((indent, match[match.lastindex or 0]))
    return re.sub(r"\\(.)", r"\1", min(found, key=lambda one: one[0])[1]) if found else ""
