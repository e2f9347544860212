"""The versions of a Docusaurus site's documentation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.read import decode, files
from bookbound.read.docusaurus.config import Site
from bookbound.read.docusaurus.literal import Script
from bookbound.read.frontmatter import plain_json

CURRENT = "current"
"""The version that is still being written."""

_SIDEBARS = ("sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.mjs", "sidebars.cjs")


def versions(site: Site) -> list[str]:
    """The released versions, the newest first, as far as their pages are there; then the current one."""
    listed = _json(site.home / f"{_prefix(site)}versions.json") if site.home else None
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if site.options.get("disableVersioning") is True:
        names = []
    there = [name for name in names if (folder := _folder(site, name)) and files.is_folder(folder)]
    current = [CURRENT] if not there or site.options.get("includeCurrentVersion") is not False else []
    return there + current


def at_version(site: Site, wanted: str | None) -> Site | None:
    """The site as it shows one version: the one that readers see first where none is wanted; nothing without it."""
    known = versions(site)
    last = site.options.get("lastVersion")
    first = last if isinstance(last, str) and last in known else known[0]
    name = wanted or first
    if name not in known:
        return None
    route = _route(site, name, first, alone=len(known) == 1)
    folder = site.docs if name == CURRENT else _folder(site, name)
    return replace(site, docs=folder or site.docs, route=f"{site.route}/{route}")


def sidebars(site: Site, version: str) -> tuple[dict[str, object] | None, str]:
    """The sidebars that an author wrote for a version, and the file; nothing where that is no plain data."""
    if site.home is None:
        return None, ""
    if version != CURRENT:
        path = site.home / f"{_prefix(site)}versioned_sidebars" / f"version-{version}-sidebars.json"
        named = [path]
    else:
        own = site.options.get("sidebarPath")
        if own is False:
            return None, ""
        given = files.beside(site.home, own) if isinstance(own, str) else None
        named = [given] if given else [site.home / name for name in _SIDEBARS if not site.id]
    found = next((path for path in named if files.is_file(path) and files.is_inside(path, site.home)), None)
    if found is None:
        return None, ""
    text, _ = decode.load(found, found.name, decode.LARGEST_SETTINGS)
    value = plain_json(text or "") if found.suffix == ".json" else Script(text or "").exported()
    return (value if isinstance(value, dict) else {}), found.name


def _route(site: Site, name: str, first: str, alone: bool) -> str:
    """A version's part of the address: none for the one that readers see first, `next` for the current one."""
    options = site.options.get("versions")
    own = options.get(name) if isinstance(options, dict) else None
    path = own.get("path") if isinstance(own, dict) else None
    if isinstance(path, str):
        return path
    return "" if alone or name == first else "next" if name == CURRENT else name


def _prefix(site: Site) -> str:
    return f"{site.id}_" if site.id else ""


def _folder(site: Site, name: str) -> Path | None:
    path = files.beside(site.home / f"{_prefix(site)}versioned_docs", f"version-{name}") if site.home else None
    return path if path and site.home and files.is_inside(path, site.home) else None


def _json(path: Path) -> object:
    text = decode.load(path, path.name, decode.LARGEST_SETTINGS)[0] if files.is_file(path) else None
    return plain_json(text or "")
