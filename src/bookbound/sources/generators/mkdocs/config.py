"""Finds an MkDocs site's configuration, Markdown extensions and excluded files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, files
from bookbound.sources.markdown.dialect import HIDDEN_BY_EXTENSION, MKDOCS_MARKDOWN, MarkdownDialect
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.safe_config import SafeYamlLoader, deep_merge, parse_yaml
from bookbound.sources.slugs import SlugRule, pymdown_slug, python_markdown_rule, python_markdown_slug

_CONFIG_NAMES = ("mkdocs.yml", "mkdocs.yaml")
_MAX_INHERITANCE = 10


class TaggedValue(NamedTuple):
    """A value that the configuration would have a program make: the program's name and what it is given."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class MkDocsSite:
    """A site's configuration file, its fields, and the folder of its pages."""

    config: Path
    docs: Path
    fields: FrontMatter = field(default_factory=FrontMatter)

    @property
    def extensions(self) -> dict[str, dict[str, Any]]:
        """The extensions of Markdown with their options."""
        return _options_by_name(self.fields.fields.get("markdown_extensions"))

    @property
    def plugins(self) -> dict[str, dict[str, Any]]:
        return _options_by_name(self.fields.fields.get("plugins"))

    @property
    def dialect(self) -> MarkdownDialect:
        used = self.extensions
        unseen = [pattern for name, pattern in HIDDEN_BY_EXTENSION.items() if name in used]
        return replace(
            MKDOCS_MARKDOWN,
            rule=_heading_id_rule(used.get("toc", {})),
            unseen="|".join((*unseen, MKDOCS_MARKDOWN.unseen)),
            languages="pymdownx.inlinehilite" in used,
        )

    def address(self, relative: Path) -> str:
        """Where a page is published; a README opens its folder as an index does."""
        opens = relative.stem in ("index", "README")
        if self.fields.fields.get("use_directory_urls") is False:
            path = quote(relative.with_name("index.html" if opens else f"{relative.stem}.html").as_posix())
        else:
            folder = relative.parent if opens else relative.with_suffix("")
            path = "" if folder == Path() else quote(folder.as_posix()) + "/"
        return f"{self.fields.text('site_url').rstrip('/')}/{path}"


def find_mkdocs_site(root: Path) -> tuple[MkDocsSite | None, list[SourceNotice]]:
    """The site at `root`, the one whose pages these are, or the first among its languages."""
    notices: list[SourceNotice] = []
    try:
        languages = sorted(path.parent for name in _CONFIG_NAMES for path in root.glob(f"docs/*/{name}"))
    except OSError:
        languages = []
    for home in (root, *languages):
        site = _load_config(home, root, notices)
        if site and not files.is_inside(site.docs, root):
            notices.append(
                SourceNotice(site.config.name, "its pages stand outside of this folder: name one that holds both")
            )
        elif site and files.is_folder(site.docs):
            return site, notices
    beside = _load_config(root.resolve().parent, root.resolve().parent, [])
    if beside and beside.docs.resolve() == root.resolve():
        return replace(beside, docs=root), notices
    return None, notices


def _load_config(home: Path, root: Path, notices: list[SourceNotice]) -> MkDocsSite | None:
    config = next((home / name for name in _CONFIG_NAMES if files.is_file(home / name)), None)
    if config is None:
        return None
    fields: dict[Any, Any] = {}
    for path, read in _load_inherited(config, root):
        if not isinstance(read, dict):
            notices.append(SourceNotice(path.name, "is no YAML that can be read; passed over"))
            continue
        fields = deep_merge(read, fields)
    docs = files.resolve_relative_path(home, FrontMatter(fields).text("docs_dir") or "docs")
    return MkDocsSite(config, docs or home / "docs", FrontMatter(fields))


def _load_inherited(config: Path, root: Path) -> Iterator[tuple[Path, object]]:
    """The configuration and those that it inherits from, as far as they stand inside of the folder."""
    for _ in range(_MAX_INHERITANCE):
        text, _odd = decoding.load_text(config, config.name, decoding.MAX_CONFIG_BYTES)
        read = parse_yaml(text, _TolerantYamlLoader) if text else {}
        yield config, read
        parent = read.get("INHERIT") if isinstance(read, dict) else None
        above = files.resolve_relative_path(config.parent, parent) if isinstance(parent, str) else None
        if above is None or not files.is_inside(above, root):
            return
        config = above


def _options_by_name(listed: object) -> dict[str, dict[str, Any]]:
    """Names with their options, which are written as a list or as a mapping."""
    items: list[tuple[object, object]] = []
    for one in listed if isinstance(listed, list) else [listed]:
        items += one.items() if isinstance(one, dict) else [(one, {})]
    return {name: options if isinstance(options, dict) else {} for name, options in items if isinstance(name, str)}


def _heading_id_rule(toc: dict[str, Any]) -> SlugRule:
    """The anchors that a site chose; what it names is known by its name and never run."""
    chosen, separator = toc.get("slugify"), toc.get("separator", "-")
    separator = separator if isinstance(separator, str) and separator else "-"
    tagged = chosen if isinstance(chosen, TaggedValue) else TaggedValue(chosen if isinstance(chosen, str) else "", None)
    name = tagged.name.rpartition(".")[2]
    if name == "slugify_unicode":
        return python_markdown_rule(partial(python_markdown_slug, separator=separator, ascii_only=False))
    if "slugs" in tagged.name:
        given = tagged.value.get("kwds", tagged.value) if isinstance(tagged.value, dict) else {}
        own = given.get("case", "none") if isinstance(given, dict) else "none"
        case = {"slugify": str(own), "uslugify_cased": "none"}.get(name, "lower")
        return python_markdown_rule(partial(pymdown_slug, separator=separator, case=case))
    return python_markdown_rule(partial(python_markdown_slug, separator=separator))


class _TolerantYamlLoader(SafeYamlLoader):
    """Reads what it does not know as its name and its value, and nothing from the environment."""


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


class _GitignorePattern(NamedTuple):
    parts: tuple[str, ...]
    folders: bool
    brings_back: bool


class GitignorePatterns:
    """The patterns of one list; of those that match a path the last counts."""

    def __init__(self, *lines: str) -> None:
        self._patterns = [_parse_pattern(line) for line in lines if line.strip() and not line.startswith("#")]

    def __contains__(self, path: str) -> bool:
        parts = tuple(path.split("/"))
        matching = (pattern for pattern in reversed(self._patterns) if _matches_path(pattern, parts))
        found = next(matching, None)
        return found is not None and not found.brings_back


def _parse_pattern(line: str) -> _GitignorePattern:
    brings_back = line.startswith("!")
    written = line.removeprefix("!").strip()
    anchored = "/" in written.rstrip("/")
    parts = tuple(part for part in written.split("/") if part)
    return _GitignorePattern(parts if anchored else ("**", *parts), written.endswith("/"), brings_back)


def _matches_path(pattern: _GitignorePattern, path: tuple[str, ...]) -> bool:
    """Whether the pattern matches the path or a folder above it; no two parts are compared twice."""
    reached = {0}
    for depth, name in enumerate(path):
        forward = {at + 1 for at in reached if at < len(pattern.parts) and pattern.parts[at] == "**"}
        reached |= forward
        stays = {at for at in reached if at < len(pattern.parts) and pattern.parts[at] == "**"}
        moved = {
            at + 1
            for at in reached
            if at < len(pattern.parts) and pattern.parts[at] != "**" and fnmatchcase(name, pattern.parts[at])
        }
        reached = stays | moved
        if len(pattern.parts) in reached and (depth + 1 < len(path) or not pattern.folders):
            return True
    return False
