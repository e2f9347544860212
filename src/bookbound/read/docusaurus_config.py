"""Where a Docusaurus site keeps its documentation, and where it publishes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bookbound.read import decode
from bookbound.read.tags import Braces

_CONFIGS = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_COMMENT = re.compile(r"/\*.*?\*/|^[ \t]*//[^\n]*", re.DOTALL | re.MULTILINE)
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

    def address(self, slug: str) -> str:
        """Where the page with this route below the documentation's is published."""
        path = re.sub(r"/{2,}", "/", f"/{self.base}/{self.route}/{slug}")
        if self.trailing_slash is not None and len(path) > 1:
            path = path.rstrip("/") + "/" * self.trailing_slash
        return self.url.rstrip("/") + path


def find_site(root: Path) -> Site | None:
    """The site at `root`, beside it or in its `website` folder; nothing where there is none."""
    for home in (root, root / "website"):
        site = _configured(home)
        if site and site.docs.is_dir():
            return site
    beside = _configured(root.parent)
    if beside and beside.docs.resolve() == root.resolve():
        return beside
    for docs in (root / "docs", root, root / "website" / "docs"):
        categories = [*docs.glob("_category_.*"), *docs.glob("*/_category_.*")]
        if categories or (docs.is_dir() and docs.parts[-2:] == ("website", "docs")):
            return Site(docs)
    return None


def _configured(home: Path) -> Site | None:
    config = next((home / name for name in _CONFIGS if (home / name).is_file()), None)
    if config is None:
        return None
    text, _ = decode.load(config, config.name)
    source = _COMMENT.sub("", text or "")
    found = _DOCS.search(source)
    end = Braces(source).end(found.end()) if found else -1
    options = source[found.end() : end] if found and end > 0 else ""
    slash = re.search(r"(?<!\w)trailingSlash\s*:\s*(true|false)", source)
    return Site(
        home / (_literal(options, "path") or "docs"),
        _literal(source, "title"),
        _literal(source, "url"),
        _literal(source, "baseUrl") or "/",
        _literal(options, "routeBasePath") or "docs",
        slash[1] == "true" if slash else None,
    )


def _literal(source: str, name: str) -> str:
    """The plain string that a setting is given; of several, the one that is nested the least."""
    pattern = re.compile(rf"^([ \t]*)(?:.*[{{,(]\s*)?{name}\s*:\s*(['\"`])((?:\\.|(?!\2)[^\\\n$])*)\2", re.MULTILINE)
    found = sorted(pattern.findall(source), key=lambda groups: len(groups[0].expandtabs(4)))
    return re.sub(r"\\(.)", r"\1", found[0][2]) if found else ""
