"""Where an MkDocs site keeps its pages, and how its configuration says they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

from bookbound.book import Notice
from bookbound.read import decode, files
from bookbound.read.dialect import EXTENSIONS, MKDOCS, Dialect
from bookbound.read.frontmatter import FrontMatter, Plain, load
from bookbound.read.headings import Rule, pymdown_slug, python_markdown, python_slug
from bookbound.read.layered import layered

_CONFIGS = ("mkdocs.yml", "mkdocs.yaml")
_DEEPEST = 10


class Tagged(NamedTuple):
    """A value that the configuration would have a program make: the program's name and what it is given."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Site:
    """A site's configuration file, its fields, and the folder of its pages."""

    config: Path
    docs: Path
    fields: FrontMatter = field(default_factory=FrontMatter)

    @property
    def extensions(self) -> dict[str, dict[str, Any]]:
        """The extensions of Markdown with their options."""
        return _named(self.fields.fields.get("markdown_extensions"))

    @property
    def plugins(self) -> dict[str, dict[str, Any]]:
        return _named(self.fields.fields.get("plugins"))

    @property
    def dialect(self) -> Dialect:
        used = self.extensions
        unseen = [pattern for name, pattern in EXTENSIONS.items() if name in used]
        return replace(
            MKDOCS,
            rule=_rule(used.get("toc", {})),
            unseen="|".join((*unseen, MKDOCS.unseen)),
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


def find_site(root: Path) -> tuple[Site | None, list[Notice]]:
    """The site at `root`, the one whose pages these are, or the first among its languages."""
    notices: list[Notice] = []
    try:
        languages = sorted(path.parent for name in _CONFIGS for path in root.glob(f"docs/*/{name}"))
    except OSError:
        languages = []
    for home in (root, *languages):
        site = _configured(home, root, notices)
        if site and not files.is_inside(site.docs, root):
            notices.append(Notice(site.config.name, "its pages stand outside of this folder: name one that holds both"))
        elif site and files.is_folder(site.docs):
            return site, notices
    beside = _configured(root.resolve().parent, root.resolve().parent, [])
    if beside and beside.docs.resolve() == root.resolve():
        return replace(beside, docs=root), notices
    return None, notices


def _configured(home: Path, root: Path, notices: list[Notice]) -> Site | None:
    config = next((home / name for name in _CONFIGS if files.is_file(home / name)), None)
    if config is None:
        return None
    fields: dict[Any, Any] = {}
    for path, read in _inherited(config, root):
        if not isinstance(read, dict):
            notices.append(Notice(path.name, "is no YAML that can be read; passed over"))
            continue
        fields = layered(read, fields)
    docs = files.beside(home, FrontMatter(fields).text("docs_dir") or "docs")
    return Site(config, docs or home / "docs", FrontMatter(fields))


def _inherited(config: Path, root: Path) -> Iterator[tuple[Path, object]]:
    """The configuration and those that it inherits from, as far as they stand inside of the folder."""
    for _ in range(_DEEPEST):
        text, _odd = decode.load(config, config.name, decode.LARGEST_SETTINGS)
        read = load(text, _Tolerant) if text else {}
        yield config, read
        parent = read.get("INHERIT") if isinstance(read, dict) else None
        above = files.beside(config.parent, parent) if isinstance(parent, str) else None
        if above is None or not files.is_inside(above, root):
            return
        config = above


def _named(listed: object) -> dict[str, dict[str, Any]]:
    """Names with their options, which are written as a list or as a mapping."""
    items: list[tuple[object, object]] = []
    for one in listed if isinstance(listed, list) else [listed]:
        items += one.items() if isinstance(one, dict) else [(one, {})]
    return {name: options if isinstance(options, dict) else {} for name, options in items if isinstance(name, str)}


def _rule(toc: dict[str, Any]) -> Rule:
    """The anchors that a site chose; what it names is known by its name and never run."""
    chosen, separator = toc.get("slugify"), toc.get("separator", "-")
    separator = separator if isinstance(separator, str) and separator else "-"
    tagged = chosen if isinstance(chosen, Tagged) else Tagged(chosen if isinstance(chosen, str) else "", None)
    name = tagged.name.rpartition(".")[2]
    if name == "slugify_unicode":
        return python_markdown(partial(python_slug, separator=separator, ascii_only=False))
    if "slugs" in tagged.name:
        given = tagged.value.get("kwds", tagged.value) if isinstance(tagged.value, dict) else {}
        own = given.get("case", "none") if isinstance(given, dict) else "none"
        case = {"slugify": str(own), "uslugify_cased": "none"}.get(name, "lower")
        return python_markdown(partial(pymdown_slug, separator=separator, case=case))
    return python_markdown(partial(python_slug, separator=separator))


class _Tolerant(Plain):
    """Reads what it does not know as its name and its value, and nothing from the environment."""


def _unknown(loader: _Tolerant, suffix: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        value: object = loader.construct_mapping(node, deep=True)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = node.value
    if suffix == "!ENV":
        return value[-1] if isinstance(value, list) and len(value) > 1 else ""
    return Tagged(suffix.rpartition(":")[2], value)


_Tolerant.add_multi_constructor("", _unknown)
