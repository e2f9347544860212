"""Loads a Hugo site's configuration for one language, merged from all its files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookbound.sources import decoding, files, safe_config
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.safe_config import deep_merge, parse_json, parse_yaml

_CONFIG_NAMES = ("hugo", "config")
_CONFIG_SUFFIXES = (".toml", ".yaml", ".yml", ".json")
# What Hugo builds with, the later over the earlier.
_CONFIG_FOLDERS = ("config/_default", "config/production")
_MAX_DEPTH = 10
# Content may stand in a folder of its language.
_MAX_PARENTS = 2


@dataclass(frozen=True, slots=True)
class HugoSite:
    """A site in one language: its home and settings, the folder of its pages, and what stands before their addresses.

    `languages` are all of them, the one that readers see first before the others. Where they share a folder, `shared`
    says that a page which names no language in its file's name is in this one.
    """

    home: Path
    settings: FrontMatter
    content: Path
    others: tuple[Path, ...] = ()
    language: str = ""
    languages: tuple[str, ...] = ()
    shared: bool = True
    prefix: str = ""

    def holds(self, path: Path) -> bool:
        """Whether a file below the content is a page in this language."""
        code = self.code(path)
        inside = any(path.is_relative_to(other) for other in self.others)
        return not inside and (code == self.language if code else self.shared)

    def code(self, path: Path) -> str:
        """The language that a file's name says it is in, such as `page.fr.md`, or nothing."""
        code = path.stem.rpartition(".")[2].lower()
        return code if code in self.languages and code != path.stem.lower() else ""

    def placed(self, path: Path) -> Path:
        """Where a file stands below the content, without the language in its name."""
        relative, code = path.relative_to(self.content), self.code(path)
        return relative.with_name(relative.stem[: -len(code) - 1] + relative.suffix) if code else relative


def find_hugo_site(root: Path, language: str | None = None) -> HugoSite | None:
    """The site at `root`, or the one whose content it is, in the language that readers see first or in the named one.

    Nothing where no content stands at or below `root`.
    """
    places = (root.absolute(), root.resolve())
    for home in (root, *dict.fromkeys(folder for place in places for folder in list(place.parents)[:_MAX_PARENTS])):
        whole = _load_settings(home)
        if whole is not None:
            folders = _content_folders(whole, home, root)
            chosen = language if language in folders else next(iter(folders), None)
            if chosen is not None:
                return _build_site(home, whole, folders, chosen)
    return None


def _content_folders(whole: dict[str, Any], home: Path, root: Path) -> dict[str, Path]:
    """The folders of the pages in each language, the one that readers see first before the others.

    Only those inside of the site and of what was named count; a site without languages has one folder without a name.
    """
    codes = _enabled_languages(whole) or [""]
    found = {
        code: files.resolve_relative_path(home, _settings_for_language(whole, code).text("contentdir") or "content")
        for code in codes
    }
    return {
        code: folder
        for code, folder in found.items()
        if folder and files.is_folder(folder) and all(files.is_inside(folder, outer) for outer in (home, root))
    }


def _build_site(home: Path, whole: dict[str, Any], folders: dict[str, Path], chosen: str) -> HugoSite:
    codes, content, settings = _enabled_languages(whole), folders[chosen], _settings_for_language(whole, chosen)
    several_hosts = any("baseurl" in fields for fields in _language_fields(whole).values())
    first = not codes or (chosen == codes[0] and not settings.flag("defaultcontentlanguageinsubdir"))
    return HugoSite(
        home,
        settings,
        content,
        tuple(other for other in folders.values() if other != content and other.is_relative_to(content)),
        chosen,
        tuple(filter(None, folders)),
        shared=not codes or chosen == codes[0] or list(folders.values()).count(content) == 1,
        prefix="" if first or several_hosts else f"{chosen}/",
    )


def list_languages(root: Path) -> list[str]:
    """The languages of the site at `root`, the one that readers see first before the others by their weight."""
    site = find_hugo_site(root)
    return list(site.languages) if site else []


def _language_fields(whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    named = whole.get("languages")
    return {code: own for code, own in named.items() if isinstance(own, dict)} if isinstance(named, dict) else {}


def _enabled_languages(whole: dict[str, Any]) -> list[str]:
    disabled = whole.get("disablelanguages")
    fields = {
        code: FrontMatter(own)
        for code, own in _language_fields(whole).items()
        if own.get("disabled") is not True and code not in (disabled if isinstance(disabled, list) else ())
    }
    first = FrontMatter(whole).text("defaultcontentlanguage").lower() or "en"
    return sorted(fields, key=lambda code: (code != first, fields[code].number("weight") or float("inf"), code))


def _settings_for_language(whole: dict[str, Any], language: str) -> FrontMatter:
    return FrontMatter(deep_merge(whole, _language_fields(whole).get(language, {})))


def _load_settings(root: Path) -> dict[str, Any] | None:
    """All settings with their names in lower case; nothing where no file holds any."""
    found = None
    for path, names in _config_files(root):
        text, _ = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES)
        read: Any = _lowercase_keys(_parse_config(text or "", path.suffix))
        for name in reversed(names):
            read = {name.lower(): read}
        if isinstance(read, dict):
            found = deep_merge(found or {}, read)
    return found


def _config_files(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """The files of a configuration, each with the names below which its settings belong."""
    whole = [root / f"{name}{ending}" for name in _CONFIG_NAMES for ending in _CONFIG_SUFFIXES]
    yield from [(path, []) for path in whole if files.is_file(path)][:1]
    for folder in _CONFIG_FOLDERS:
        try:
            inside = sorted(path for path in (root / folder).iterdir() if path.suffix in _CONFIG_SUFFIXES)
        except OSError:
            continue
        for path in inside:
            if files.is_file(path) and files.is_inside(path, root):
                yield path, [] if path.stem in _CONFIG_NAMES else path.stem.split(".")[:_MAX_DEPTH]


def _parse_config(text: str, ending: str) -> object:
    if ending == ".json":
        return parse_json(text)
    if ending != ".toml":
        return parse_yaml(text)
    try:
        return safe_config.parse_toml(text)
    except (ValueError, RecursionError):
        return None


def _lowercase_keys(value: object, depth: int = 0) -> object:
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return value if depth else {}
    return {str(name).lower(): _lowercase_keys(inner, depth + 1) for name, inner in value.items()}
