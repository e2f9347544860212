"""Finds an MkDocs site's configuration, Markdown extensions and excluded files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

from bookbound.domain.document import SourceNotice
from bookbound.sources import file_loader, files
from bookbound.sources.generators import find_sites
from bookbound.sources.markdown.dialect import HIDDEN_BY_EXTENSION, MKDOCS_MARKDOWN, MarkdownDialect
from bookbound.sources.safe_config import ConfigFields, SafeYamlLoader, deep_merge, parse_yaml
from bookbound.sources.slugs import SlugRule, pymdown_slug, python_markdown_rule, python_markdown_slug

_CONFIG_NAMES = ("mkdocs.yml", "mkdocs.yaml")
# Configurations can inherit from each other in a circle.
_MAX_INHERITANCE = 10


class TaggedValue(NamedTuple):
    """A YAML value with a tag, which MkDocs would build by running Python code."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class MkDocsSite:
    """A site's configuration and the folder of its pages."""

    config: Path
    docs: Path
    fields: ConfigFields = field(default_factory=ConfigFields)

    @property
    def extensions(self) -> dict[str, dict[str, Any]]:
        """The Markdown extensions with their options."""
        return _options_by_name(self.fields.get("markdown_extensions"))

    @property
    def plugins(self) -> dict[str, dict[str, Any]]:
        return _options_by_name(self.fields.get("plugins"))

    @property
    def dialect(self) -> MarkdownDialect:
        extensions = self.extensions
        hidden = [pattern for name, pattern in HIDDEN_BY_EXTENSION.items() if name in extensions]
        return replace(
            MKDOCS_MARKDOWN,
            slug_rule=_heading_id_rule(extensions.get("toc", {})),
            hidden_pattern="|".join((*hidden, MKDOCS_MARKDOWN.hidden_pattern)),
            has_code_language="pymdownx.inlinehilite" in extensions,
        )

    def page_url(self, relative: Path) -> str:
        is_index = relative.stem in ("index", "README")
        if self.fields.get("use_directory_urls") is False:
            path = quote(relative.with_name("index.html" if is_index else f"{relative.stem}.html").as_posix())
        else:
            folder = relative.parent if is_index else relative.with_suffix("")
            path = "" if folder == Path() else quote(folder.as_posix()) + "/"
        return f"{self.fields.text('site_url').rstrip('/')}/{path}"


def find_mkdocs_site(root: Path) -> tuple[MkDocsSite | None, list[SourceNotice]]:
    """Find the site in `root`, that of the first language below it, or the one whose pages `root` has."""
    broken: list[SourceNotice] = []

    def load(config: Path) -> list[MkDocsSite]:
        is_inside = config.is_relative_to(root)
        fields: dict[Any, Any] = {}
        for path, parsed in _load_inherited(config, root if is_inside else config.parent):
            if isinstance(parsed, dict):
                fields = deep_merge(parsed, fields)
            elif is_inside:
                broken.append(SourceNotice(path.name, "is not valid YAML; ignored"))
        docs = files.resolve_relative_path(config.parent, ConfigFields(fields).text("docs_dir") or "docs")
        return [MkDocsSite(config, docs or config.parent / "docs", ConfigFields(fields))]

    try:
        languages = sorted(path.parent for name in _CONFIG_NAMES for path in root.glob(f"docs/*/{name}"))
    except OSError:
        languages = []
    sites, notices = find_sites(root, _CONFIG_NAMES, load, below=languages)
    if not sites:
        return None, broken + notices
    is_root = os.path.realpath(sites[0].docs) == os.path.realpath(root)
    return replace(sites[0], docs=root) if is_root else sites[0], broken + notices


def _load_inherited(config: Path, root: Path) -> Iterator[tuple[Path, object]]:
    """Yield the configuration and those inside `root` that it inherits from."""
    for _ in range(_MAX_INHERITANCE):
        text = file_loader.load_config_text(config)
        parsed = parse_yaml(text, _TolerantYamlLoader) if text else {}
        yield config, parsed
        parent = ConfigFields.of(parsed).get("INHERIT")
        path = files.resolve_relative_path(config.parent, parent) if isinstance(parent, str) else None
        if path is None or not files.is_inside(path, root):
            return
        config = path


def _options_by_name(listed: object) -> dict[str, dict[str, Any]]:
    """Return names with their options from a list or a mapping."""
    items: list[tuple[object, object]] = []
    for entry in listed if isinstance(listed, list) else [listed]:
        items += entry.items() if isinstance(entry, dict) else [(entry, {})]
    return {name: options if isinstance(options, dict) else {} for name, options in items if isinstance(name, str)}


def _heading_id_rule(toc: dict[str, Any]) -> SlugRule:
    """Choose the slug function that a site names; it is recognised by its name and never run."""
    chosen, separator = toc.get("slugify"), toc.get("separator", "-")
    separator = separator if isinstance(separator, str) and separator else "-"
    tagged = chosen if isinstance(chosen, TaggedValue) else TaggedValue(chosen if isinstance(chosen, str) else "", None)
    name = tagged.name.rpartition(".")[2]
    if name == "slugify_unicode":
        return python_markdown_rule(partial(python_markdown_slug, separator=separator, ascii_only=False))
    if "slugs" in tagged.name:
        options = ConfigFields.of(tagged.value)
        options = options.section("kwds") if "kwds" in options.fields else options
        case = {"slugify": options.text("case") or "none", "uslugify_cased": "none"}.get(name, "lower")
        return python_markdown_rule(partial(pymdown_slug, separator=separator, case=case))
    return python_markdown_rule(partial(python_markdown_slug, separator=separator))


class _TolerantYamlLoader(SafeYamlLoader):
    """Loads unknown tags as TaggedValue and environment variables as their default."""


def _construct_unknown_tag(loader: _TolerantYamlLoader, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        value: object = loader.construct_mapping(node, deep=True)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = node.value
    if suffix == "!ENV":
        return value[-1] if isinstance(value, list) and len(value) > 1 else ""
    return TaggedValue(suffix.rpartition(":")[2], value)


_TolerantYamlLoader.add_multi_constructor("", _construct_unknown_tag)


class _IgnorePattern(NamedTuple):
    parts: list[str]
    only_folders: bool
    is_negated: bool

    def matches(self, path: list[str]) -> bool:
        """Whether the pattern matches a path, in time linear in its length."""
        reached = {0}
        for name in path:
            reached |= {at + 1 for at in reached if self.parts[at : at + 1] == ["**"]}
            stays = {at for at in reached if self.parts[at : at + 1] == ["**"]}
            moves = {at + 1 for at in reached - stays if at < len(self.parts) and fnmatchcase(name, self.parts[at])}
            reached = stays | moves
        return len(self.parts) in reached


class GitignorePatterns:
    """Matches paths like a .gitignore file: the last matching pattern decides."""

    def __init__(self, *lines: str) -> None:
        self._patterns = [_parse_pattern(line) for line in lines if line.strip() and not line.startswith("#")]

    def __contains__(self, path: str) -> bool:
        parts = path.split("/")
        for pattern in reversed(self._patterns):
            # A pattern that matches a folder matches everything in it.
            folders = [parts[:end] for end in range(1, len(parts) + (not pattern.only_folders))]
            if any(map(pattern.matches, folders)):
                return not pattern.is_negated
        return False


def _parse_pattern(line: str) -> _IgnorePattern:
    text = line.removeprefix("!").strip()
    is_anchored = "/" in text.rstrip("/")
    parts = [part for part in text.split("/") if part]
    parts = parts if is_anchored else ["**", *parts]
    # A pattern that matches a folder matches everything in it, so `**` at the end means `*`.
    parts[-1:] = ["*" if part == "**" else part for part in parts[-1:]]
    parts = [part for i, part in enumerate(parts) if part != "**" or parts[i - 1 : i] != ["**"]]
    return _IgnorePattern(parts, text.endswith("/"), line.startswith("!"))
