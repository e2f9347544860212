"""Loads a Hugo site's configuration for one language, merged from all its files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookbound.sources import files
from bookbound.sources.generators import enclosing_folders, find_file
from bookbound.sources.safe_config import ConfigFields, deep_merge, load_config

_CONFIG_STEMS = ("hugo", "config")
_CONFIG_SUFFIXES = (".toml", ".yaml", ".yml", ".json")
# Later folders override earlier ones.
_CONFIG_FOLDERS = ("config/_default", "config/production")
_MAX_DEPTH = 10
# The content of a language can be a folder inside the content folder.
_MAX_PARENTS = 2


@dataclass(frozen=True, slots=True)
class HugoSite:
    """A site in one language, with the settings and the content folder of that language.

    `languages` are all languages of the site, the default one first. If `has_unmarked_pages`, files without a language
    in their name belong to this language. `url_prefix` precedes the paths of its pages.
    """

    home: Path
    settings: ConfigFields
    content: Path
    nested_contents: tuple[Path, ...] = ()
    language: str = ""
    languages: tuple[str, ...] = ()
    has_unmarked_pages: bool = True
    url_prefix: str = ""

    def contains(self, path: Path) -> bool:
        """Whether a file below the content folder is in this language."""
        language = self._language_of(path)
        is_nested = any(path.is_relative_to(other) for other in self.nested_contents)
        return not is_nested and (language == self.language if language else self.has_unmarked_pages)

    def relative_path(self, path: Path) -> Path:
        """Return a file's path below the content folder without the language in its name."""
        relative, language = path.relative_to(self.content), self._language_of(path)
        return relative.with_name(relative.stem[: -len(language) - 1] + relative.suffix) if language else relative

    def _language_of(self, path: Path) -> str:
        """Return the language in a file name such as `page.fr.md`, or nothing."""
        language = path.stem.rpartition(".")[2].lower()
        return language if language in self.languages and language != path.stem.lower() else ""


def find_hugo_site(root: Path, language: str | None = None) -> HugoSite | None:
    """Find the site at `root`, or the one whose content `root` has, in the named or the default language."""
    for home in (root, *enclosing_folders(root, _MAX_PARENTS)):
        settings = _load_settings(home)
        folders = _content_folders(settings, home, root) if settings is not None else {}
        if settings is not None and folders:
            chosen = language if language in folders else next(iter(folders))
            return _build_site(home, settings, folders, chosen)
    return None


def _content_folders(settings: dict[str, Any], home: Path, root: Path) -> dict[str, Path]:
    """Return the content folder of each language, the default one first; a site without languages has one, named ''.

    Folders outside of the site or of `root` do not count.
    """
    folders: dict[str, Path] = {}
    for language in _enabled_languages(settings) or [""]:
        name = _settings_for_language(settings, language).text("contentdir") or "content"
        folder = files.resolve_relative_path(home, name)
        if folder and files.is_folder(folder) and files.is_inside(folder, home) and files.is_inside(folder, root):
            folders[language] = folder
    return folders


def _build_site(home: Path, settings: dict[str, Any], folders: dict[str, Path], language: str) -> HugoSite:
    languages, content = _enabled_languages(settings), folders[language]
    own = _settings_for_language(settings, language)
    has_own_hosts = any("baseurl" in fields for fields in _language_fields(settings).values())
    is_default = not languages or language == languages[0]
    is_at_top = is_default and not (languages and own.flag("defaultcontentlanguageinsubdir"))
    return HugoSite(
        home,
        own,
        content,
        tuple(other for other in folders.values() if other != content and other.is_relative_to(content)),
        language,
        tuple(filter(None, folders)),
        has_unmarked_pages=is_default or list(folders.values()).count(content) == 1,
        url_prefix="" if is_at_top or has_own_hosts else f"{language}/",
    )


def _language_fields(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    languages = ConfigFields(settings).section("languages").fields
    return {language: fields for language, fields in languages.items() if isinstance(fields, dict)}


def _enabled_languages(settings: dict[str, Any]) -> list[str]:
    """List the languages that are not disabled, the default one first, then by weight."""
    disabled = ConfigFields(settings).list_items("disablelanguages")
    enabled = {
        language: ConfigFields(fields)
        for language, fields in _language_fields(settings).items()
        if fields.get("disabled") is not True and language not in disabled
    }
    default = ConfigFields(settings).text("defaultcontentlanguage").lower() or "en"
    return sorted(enabled, key=lambda name: (name != default, enabled[name].number("weight") or float("inf"), name))


def _settings_for_language(settings: dict[str, Any], language: str) -> ConfigFields:
    return ConfigFields(deep_merge(settings, _language_fields(settings).get(language, {})))


def _load_settings(root: Path) -> dict[str, Any] | None:
    """Merge all settings with their names in lower case; return nothing if there is no configuration file."""
    settings = None
    for path, sections in _config_files(root):
        parsed = lowercase_keys(load_config(path))
        for section in reversed(sections):
            parsed = {section.lower(): parsed}
        settings = deep_merge(settings or {}, parsed)
    return settings


def _config_files(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the configuration files, each with the path of sections that its settings belong to."""
    main = find_file(root, [stem + suffix for stem in _CONFIG_STEMS for suffix in _CONFIG_SUFFIXES])
    if main:
        yield main, []
    for folder in _CONFIG_FOLDERS:
        try:
            paths = sorted(path for path in (root / folder).iterdir() if path.suffix in _CONFIG_SUFFIXES)
        except OSError:
            continue
        for path in paths:
            if files.is_file(path) and files.is_inside(path, root):
                yield path, [] if path.stem in _CONFIG_STEMS else path.stem.split(".")[:_MAX_DEPTH]


def lowercase_keys(value: object) -> dict[str, Any]:
    """Return a mapping with lower case keys at any depth, because Hugo ignores their case."""

    def convert(inner: object, depth: int) -> object:
        if not isinstance(inner, dict) or depth > _MAX_DEPTH:
            return inner
        return {str(name).lower(): convert(each, depth + 1) for name, each in inner.items()}

    converted = convert(value, 0)
    return converted if isinstance(converted, dict) else {}
