"""Where a Docusaurus site keeps its documentation, and where it publishes it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import decode, files
from bookbound.read.docusaurus.literal import Script

_CONFIGS = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_PLUGINS = ("content-docs", "@docusaurus/content-docs", "@docusaurus/plugin-content-docs")
_PRESETS = ("classic", "@docusaurus/classic", "@docusaurus/preset-classic")


@dataclass(frozen=True, slots=True)
class Site:
    """A site's documentation folder, its title and its public address.

    `options` are those of the plugin that shows the folder; a site may have `others`, each with an `id`.
    """

    docs: Path
    title: str = ""
    url: str = ""
    base: str = "/"
    route: str = "docs"
    trailing_slash: bool | None = None
    config: str = ""
    home: Path | None = None
    id: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    others: tuple[Site, ...] = ()

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
        sites = _configured(home)
        outside = [site for site in sites if not files.is_inside(site.docs, root)]
        notices += [
            Notice(site.config, "its pages stand outside of this folder: name one that holds both") for site in outside
        ]
        inside = [site for site in sites if site not in outside and files.is_folder(site.docs)]
        if inside:
            return replace(inside[0], others=tuple(inside[1:])), notices
    # A folder may be named from within it or by a link: its site stands above either of its places.
    for home in (root.absolute().parent, root.resolve().parent):
        for beside in _configured(home):
            if os.path.realpath(beside.docs) == os.path.realpath(root):
                return beside, notices
    for docs in (root / "docs", root, root / "website" / "docs"):
        if not files.is_folder(docs) or not files.is_inside(docs, root):
            continue
        categories = [*docs.glob("_category_.*"), *docs.glob("*/_category_.*")]
        if categories or docs.resolve().parts[-2:] == ("website", "docs"):
            return Site(docs, home=docs.parent if docs != root else None), notices
    return None, notices


def _configured(home: Path) -> list[Site]:
    """The documentation that a configuration names, that of the preset first; without any, the usual one."""
    config = next((home / name for name in _CONFIGS if files.is_file(home / name)), None)
    if config is None:
        return []
    text, _ = decode.load(config, config.name, decode.LARGEST_SETTINGS)
    exported = Script(text or "").exported()
    fields = exported if isinstance(exported, dict) else {}
    slash = fields.get("trailingSlash")
    whole = Site(
        home / "docs",
        _text(fields, "title"),
        _text(fields, "url"),
        _text(fields, "baseUrl") or "/",
        trailing_slash=slash if isinstance(slash, bool) else None,
        config=config.name,
        home=home,
    )
    return [_instance(whole, options) for options in _instances(fields)] or [whole]


def _instance(whole: Site, options: Mapping[str, object]) -> Site:
    assert whole.home
    docs = files.beside(whole.home, _text(options, "path") or "docs") or whole.docs
    route = options.get("routeBasePath")
    named = _text(options, "id")
    return replace(
        whole,
        docs=docs,
        route=route if isinstance(route, str) else "docs",
        id="" if named == "default" else named,
        options=options,
    )


def _instances(fields: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The options of each plugin for documentation, in the order of presets and plugins."""
    own = fields.get("docs")
    if isinstance(own, dict):
        yield own
    for kind in ("presets", "plugins"):
        listed = fields.get(kind)
        for entry in listed if isinstance(listed, list) else ():
            name, options = (entry[0], entry[1]) if isinstance(entry, list) and len(entry) > 1 else (entry, {})
            if not isinstance(options, dict):
                continue
            docs = options.get("docs")
            if kind == "presets" and (isinstance(docs, dict) or (name in _PRESETS and docs is not False)):
                yield docs if isinstance(docs, dict) else {}
            elif kind == "plugins" and name in _PLUGINS:
                yield options


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
