"""Finds a Docusaurus site's documentation folders, public URL and versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bookbound.domain.document import SourceNotice
from bookbound.sources import file_loader, files
from bookbound.sources.generators import find_file, find_sites
from bookbound.sources.generators.docusaurus.javascript_literals import JavaScriptFile
from bookbound.sources.safe_config import ConfigFields, load_config

CURRENT_VERSION = "current"
"""The version that the author still writes."""
_CONFIG_NAMES = ("docusaurus.config.js", "docusaurus.config.ts", "docusaurus.config.mjs", "docusaurus.config.cjs")
_DOCS_PLUGINS = ("content-docs", "@docusaurus/content-docs", "@docusaurus/plugin-content-docs")
_PRESETS = ("classic", "@docusaurus/classic", "@docusaurus/preset-classic")


@dataclass(frozen=True, slots=True)
class DocusaurusSite:
    """One documentation of a site, with the options of its plugin and the site's public URL.

    A site can have several: `others` are those after the first.
    """

    docs: Path
    home: Path
    title: str = ""
    url: str = ""
    base: str = "/"
    route: str = "docs"
    trailing_slash: bool | None = None
    id: str = ""
    options: ConfigFields = field(default_factory=ConfigFields)
    others: tuple[DocusaurusSite, ...] = ()

    @property
    def prefix(self) -> str:
        """What the names of the version files of this documentation begin with."""
        return f"{self.id}_" if self.id else ""

    def page_url(self, slug: str) -> str:
        path = re.sub(r"/{2,}", "/", f"/{self.base}/{self.route}/{slug}")
        if self.trailing_slash is not None and len(path) > 1:
            path = path.rstrip("/") + "/" * self.trailing_slash
        return self.url.rstrip("/") + path


def find_docusaurus_site(root: Path) -> tuple[DocusaurusSite | None, list[SourceNotice]]:
    """Find the site in `root`, in its `website` folder or above it; `_category_` files alone also make one."""
    sites, notices = find_sites(root, _CONFIG_NAMES, _load_sites, below=[root / "website"])
    if sites:
        return replace(sites[0], others=tuple(sites[1:])), notices
    for docs in (root / "docs", root, root / "website" / "docs"):
        if not files.is_folder(docs) or not files.is_inside(docs, root):
            continue
        categories = [*docs.glob("_category_.*"), *docs.glob("*/_category_.*")]
        if categories or docs.resolve().parts[-2:] == ("website", "docs"):
            return DocusaurusSite(docs, docs.parent if docs != root else docs), notices
    return None, notices


def _load_sites(config: Path) -> list[DocusaurusSite]:
    """Load each documentation that a configuration names, or the default one."""
    fields = ConfigFields.of(JavaScriptFile(file_loader.load_config_text(config) or "").exported_value())
    slash = fields.get("trailingSlash")
    home = config.parent
    site = DocusaurusSite(
        home / "docs",
        home,
        fields.text("title"),
        fields.text("url"),
        fields.text("baseUrl") or "/",
        trailing_slash=slash if isinstance(slash, bool) else None,
    )
    return [_apply_options(site, options) for options in _plugin_options(fields)] or [site]


def _apply_options(site: DocusaurusSite, options: ConfigFields) -> DocusaurusSite:
    docs = files.resolve_relative_path(site.home, options.text("path") or "docs") or site.docs
    route = options.get("routeBasePath")
    return replace(
        site,
        docs=docs,
        route=route if isinstance(route, str) else "docs",
        id="" if options.text("id") == "default" else options.text("id"),
        options=options,
    )


def _plugin_options(fields: ConfigFields) -> Iterator[ConfigFields]:
    """Yield the options of each documentation plugin, first of presets, then of plugins."""
    if fields.section("docs").fields:
        yield fields.section("docs")
    for kind in ("presets", "plugins"):
        for entry in fields.list_items(kind):
            name, options = (entry[0], entry[1]) if isinstance(entry, list) and len(entry) > 1 else (entry, {})
            if not isinstance(options, dict):
                continue
            docs = options.get("docs")
            if kind == "presets" and (isinstance(docs, dict) or (name in _PRESETS and docs is not False)):
                yield ConfigFields.of(docs)
            elif kind == "plugins" and name in _DOCS_PLUGINS:
                yield ConfigFields(options)


def list_versions(site: DocusaurusSite) -> list[str]:
    """List the released versions that have pages, the newest first, then the current one."""
    file = find_file(site.home, [f"{site.prefix}versions.json"])
    listed = load_config(file) if file and not site.options.flag("disableVersioning") else None
    listed = listed if isinstance(listed, list) else []
    released = [name for name in listed if isinstance(name, str) and _version_folder(site, name)]
    has_current = not released or site.options.get("includeCurrentVersion") is not False
    return released + [CURRENT_VERSION] * has_current


def select_version(site: DocusaurusSite, wanted: str | None) -> DocusaurusSite | None:
    """Return the site with the folder and route of one version, by default the one that readers see first."""
    versions = list_versions(site)
    last = site.options.text("lastVersion")
    first = last if last in versions else versions[0]
    name = wanted or first
    if name not in versions:
        return None
    route = site.options.section("versions").section(name).get("path")
    if not isinstance(route, str):
        route = "" if name == first else "next" if name == CURRENT_VERSION else name
    folder = None if name == CURRENT_VERSION else _version_folder(site, name)
    return replace(site, docs=folder or site.docs, route=f"{site.route}/{route}")


def _version_folder(site: DocusaurusSite, name: str) -> Path | None:
    path = files.resolve_relative_path(site.home / f"{site.prefix}versioned_docs", f"version-{name}")
    return path if path and files.is_folder(path) and files.is_inside(path, site.home) else None
