"""Finds a Docusaurus site's documentation folders, public URL and versions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, files
from bookbound.sources.generators.docusaurus.javascript_literals import JavaScriptFile
from bookbound.sources.safe_config import parse_json

_CONFIG_NAMES = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_DOCS_PLUGINS = ("content-docs", "@docusaurus/content-docs", "@docusaurus/plugin-content-docs")
_PRESETS = ("classic", "@docusaurus/classic", "@docusaurus/preset-classic")


@dataclass(frozen=True, slots=True)
class DocusaurusSite:
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
    others: tuple[DocusaurusSite, ...] = ()

    def address(self, slug: str) -> str:
        """Where the page with this route below the documentation's is published."""
        path = re.sub(r"/{2,}", "/", f"/{self.base}/{self.route}/{slug}")
        if self.trailing_slash is not None and len(path) > 1:
            path = path.rstrip("/") + "/" * self.trailing_slash
        return self.url.rstrip("/") + path


def find_docusaurus_site(root: Path) -> tuple[DocusaurusSite | None, list[SourceNotice]]:
    """The site at `root`, beside it or in its `website` folder, and what is odd about its configuration."""
    notices = []
    for home in (root, root / "website"):
        sites = _load_config(home)
        outside = [site for site in sites if not files.is_inside(site.docs, root)]
        notices += [
            SourceNotice(site.config, "its pages stand outside of this folder: name one that holds both")
            for site in outside
        ]
        inside = [site for site in sites if site not in outside and files.is_folder(site.docs)]
        if inside:
            return replace(inside[0], others=tuple(inside[1:])), notices
    # A folder may be named from within it or by a link: its site stands above either of its places.
    for home in (root.absolute().parent, root.resolve().parent):
        for beside in _load_config(home):
            if os.path.realpath(beside.docs) == os.path.realpath(root):
                return beside, notices
    for docs in (root / "docs", root, root / "website" / "docs"):
        if not files.is_folder(docs) or not files.is_inside(docs, root):
            continue
        categories = [*docs.glob("_category_.*"), *docs.glob("*/_category_.*")]
        if categories or docs.resolve().parts[-2:] == ("website", "docs"):
            return DocusaurusSite(docs, home=docs.parent if docs != root else None), notices
    return None, notices


def _load_config(home: Path) -> list[DocusaurusSite]:
    """The documentation that a configuration names, that of the preset first; without any, the usual one."""
    config = next((home / name for name in _CONFIG_NAMES if files.is_file(home / name)), None)
    if config is None:
        return []
    text, _ = decoding.load_text(config, config.name, decoding.MAX_CONFIG_BYTES)
    exported = JavaScriptFile(text or "").exported()
    fields = exported if isinstance(exported, dict) else {}
    slash = fields.get("trailingSlash")
    whole = DocusaurusSite(
        home / "docs",
        _text_field(fields, "title"),
        _text_field(fields, "url"),
        _text_field(fields, "baseUrl") or "/",
        trailing_slash=slash if isinstance(slash, bool) else None,
        config=config.name,
        home=home,
    )
    return [_build_instance(whole, options) for options in _plugin_options(fields)] or [whole]


def _build_instance(whole: DocusaurusSite, options: Mapping[str, object]) -> DocusaurusSite:
    assert whole.home
    docs = files.resolve_relative_path(whole.home, _text_field(options, "path") or "docs") or whole.docs
    route = options.get("routeBasePath")
    named = _text_field(options, "id")
    return replace(
        whole,
        docs=docs,
        route=route if isinstance(route, str) else "docs",
        id="" if named == "default" else named,
        options=options,
    )


def _plugin_options(fields: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
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
            elif kind == "plugins" and name in _DOCS_PLUGINS:
                yield options


def _text_field(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


CURRENT_VERSION = "current"
"""The version that is still being written."""


def list_versions(site: DocusaurusSite) -> list[str]:
    """The released versions, the newest first, as far as their pages are there; then the current one."""
    listed = _load_json(site.home / f"{instance_prefix(site)}versions.json") if site.home else None
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if site.options.get("disableVersioning") is True:
        names = []
    there = [name for name in names if (folder := _version_folder(site, name)) and files.is_folder(folder)]
    current = [CURRENT_VERSION] if not there or site.options.get("includeCurrentVersion") is not False else []
    return there + current


def select_version(site: DocusaurusSite, wanted: str | None) -> DocusaurusSite | None:
    """The site as it shows one version: the one that readers see first where none is wanted; nothing without it."""
    known = list_versions(site)
    last = site.options.get("lastVersion")
    first = last if isinstance(last, str) and last in known else known[0]
    name = wanted or first
    if name not in known:
        return None
    route = _version_route(site, name, first, alone=len(known) == 1)
    folder = site.docs if name == CURRENT_VERSION else _version_folder(site, name)
    return replace(site, docs=folder or site.docs, route=f"{site.route}/{route}")


def _version_route(site: DocusaurusSite, name: str, first: str, alone: bool) -> str:
    """A version's part of the address: none for the one that readers see first, `next` for the current one."""
    options = site.options.get("versions")
    own = options.get(name) if isinstance(options, dict) else None
    path = own.get("path") if isinstance(own, dict) else None
    if isinstance(path, str):
        return path
    return "" if alone or name == first else "next" if name == CURRENT_VERSION else name


def instance_prefix(site: DocusaurusSite) -> str:
    return f"{site.id}_" if site.id else ""


def _version_folder(site: DocusaurusSite, name: str) -> Path | None:
    path = (
        files.resolve_relative_path(site.home / f"{instance_prefix(site)}versioned_docs", f"version-{name}")
        if site.home
        else None
    )
    return path if path and site.home and files.is_inside(path, site.home) else None


def _load_json(path: Path) -> object:
    text = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES)[0] if files.is_file(path) else None
    return parse_json(text or "")
