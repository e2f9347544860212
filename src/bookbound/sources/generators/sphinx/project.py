"""Finds a Sphinx project and reads the settings in its `conf.py` without running it."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.domain.document import SourceNotice
from bookbound.sources import file_loader, files
from bookbound.sources.generators.sphinx.numbering import NumberingConfig
from bookbound.sources.generators.sphinx.page_order import compile_glob
from bookbound.sources.html.search_index_formats import Inventory, parse_inventory
from bookbound.sources.rst.page_draft import MarkupConfig
from bookbound.sources.safe_config import ConfigFields, sanitize

_SOURCE_FOLDERS = ("", "source", "src", "docs", "doc", "docs/source", "doc/source", "docs/src")
_BUILD_FOLDERS = ("", "_build/html", "build/html", "../build/html", "../_build/html")
_OPTIONAL_SUFFIXES = (".md", ".ipynb")
# Detection must stay quick in folders that are not of Sphinx.
_MAX_SEARCHED_PAGES = 200
_MARKDOWN_EXTENSIONS = ("myst_parser", "myst_nb", "recommonmark", "m2r", "m2r2", "sphinx_mdinclude")
_NOTEBOOK_EXTENSIONS = ("myst_nb", "nbsphinx")
_ALWAYS_EXCLUDED = ("_templates", "_static")
_EXCLUDING_SETTINGS = ("exclude_patterns", "templates_path", "html_static_path")


@dataclass(frozen=True, slots=True)
class SphinxConfig:
    """The settings of a project; `root` is the name of its first page."""

    title: str = ""
    url: str = ""
    root: str = "index"
    suffixes: tuple[str, ...] = (".rst",)
    excluded: tuple[str, ...] = _ALWAYS_EXCLUDED
    markup: MarkupConfig = field(default_factory=MarkupConfig)
    numbering: NumberingConfig = field(default_factory=NumberingConfig)


def load_sphinx_config(path: Path) -> tuple[SphinxConfig, list[SourceNotice]]:
    """Load the settings that a `conf.py` assigns as plain values."""
    text, notices = file_loader.load_text(path, path.name, file_loader.MAX_CONFIG_BYTES)
    try:
        return _build_config(_evaluate_assignments(ast.parse(text))) if text is not None else SphinxConfig(), notices
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        notice = SourceNotice(path.name, "is not valid Python; its settings are ignored")
        return SphinxConfig(), [*notices, notice]


def _evaluate_assignments(module: ast.Module) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for node in module.body:
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value):
                names = [name]
            case ast.AugAssign(target=ast.Name(name), op=ast.Add(), value=more) if name in values:
                value, names = ast.BinOp(ast.Name(name), ast.Add(), more), [name]
            case _:
                continue
        try:
            found = sanitize(_evaluate(value, values))
        except (ValueError, TypeError, KeyError):
            continue
        # A value that is added to itself again and again could exhaust the memory.
        if not isinstance(found, str | list | tuple) or len(found) <= file_loader.MAX_CONFIG_BYTES:
            values |= dict.fromkeys(names, found)
    return values


def _evaluate(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            return known[name]
        case ast.BinOp(left, ast.Add(), right):
            return _evaluate(left, known) + _evaluate(right, known)
    return ast.literal_eval(node)


def _build_config(values: dict[str, Any]) -> SphinxConfig:
    fields = ConfigFields(values)
    extensions = _get_names(values, "extensions")
    suffixes = _get_names(values, "source_suffix") or (".rst",)
    suffixes += (".md",) * any(name in extensions for name in _MARKDOWN_EXTENSIONS)
    suffixes += (".ipynb",) * any(name in extensions for name in _NOTEBOOK_EXTENSIONS)
    release = fields.text("release") or fields.text("version")
    version = fields.text("version") or release
    excluded = [name for setting in _EXCLUDING_SETTINGS for name in _get_names(values, setting)]
    depth = values.get("numfig_secnum_depth")
    return SphinxConfig(
        title=fields.text("html_title") or fields.text("project"),
        url=fields.text("html_baseurl"),
        root=fields.text("root_doc") or fields.text("master_doc") or "index",
        suffixes=tuple(dict.fromkeys(suffixes)),
        excluded=(*_ALWAYS_EXCLUDED, *excluded),
        markup=MarkupConfig(
            prolog=_get_string(values, "rst_prolog"),
            epilog=_get_string(values, "rst_epilog"),
            show_todos=fields.flag("todo_include_todos"),
            release_names={"version": version, "release": release} if release else {},
            link_captions=_get_link_captions(values),
            substitutions=_get_strings(values, "myst_substitutions"),
        ),
        numbering=NumberingConfig(
            numfig=fields.flag("numfig"),
            section_depth=depth if isinstance(depth, int) and depth >= 0 else 1,
            formats=_get_strings(values, "numfig_format"),
            section_suffix=_get_string(values, "html_secnumber_suffix", ". "),
        ),
    )


def _get_string(values: Mapping[str, Any], name: str, default: str = "") -> str:
    value = values.get(name)
    return value if isinstance(value, str) else default


def _get_names(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the names that a setting lists; a single name counts as a list."""
    value = values.get(name)
    names = [value] if isinstance(value, str) else value if isinstance(value, list | tuple | dict) else []
    return tuple(name for name in names if isinstance(name, str) and name)


def _get_strings(values: Mapping[str, Any], name: str) -> dict[str, str]:
    pairs = ConfigFields.of(values.get(name)).fields.items()
    return {key: text for key, text in pairs if isinstance(key, str) and isinstance(text, str)}


def _get_link_captions(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what each role of `extlinks` shows; without a caption it shows the URL."""
    return {
        name: caption if isinstance(caption, str) else str(url)
        for name, value in ConfigFields.of(values.get("extlinks")).fields.items()
        if isinstance(name, str) and isinstance(value, tuple | list) and len(value) == 2
        for url, caption in [value]
    }


@dataclass(frozen=True, slots=True)
class SphinxProject:
    """The folder of a project's pages and its settings."""

    folder: Path
    config: SphinxConfig = field(default_factory=SphinxConfig)
    notices: tuple[SourceNotice, ...] = ()

    def find_files(self) -> tuple[list[Path], list[Path], list[SourceNotice]]:
        """Find the files of pages, and other files that are pages if a toctree lists them."""
        suffixes = (*self.config.suffixes, *_OPTIONAL_SUFFIXES)
        found, notices = files.find_files(self.folder, frozenset(Path(f"x{end}").suffix.lower() for end in suffixes))
        excluded = [compile_glob(name.rstrip("/")) for name in self.config.excluded]
        pages: list[Path] = []
        others: list[Path] = []
        for path in found:
            relative = path.relative_to(self.folder)
            names = [each.as_posix() for each in (relative, *relative.parents)]
            if any(pattern.fullmatch(name) for pattern in excluded for name in names):
                continue
            if path.name.endswith(self.config.suffixes):
                pages.append(path)
            elif path.suffix.lower() in _OPTIONAL_SUFFIXES:
                others.append(path)
        return pages, others, notices

    def page_name(self, path: Path) -> str:
        name = path.relative_to(self.folder).as_posix()
        return name.removesuffix(next((end for end in self.config.suffixes if name.endswith(end)), path.suffix))

    def make_url(self, name: str) -> str:
        return f"{self.config.url.rstrip('/')}/{quote(name)}.html"

    def load_inventory(self) -> Inventory:
        """Load the inventory of a built copy in the project or next to it."""
        for name in _BUILD_FOLDERS:
            path = self.folder / name / "objects.inv"
            data = file_loader.load_bytes(path, path.name).value if files.is_inside(path, self.folder / "..") else None
            if data is not None:
                return parse_inventory(data)
        return {}


def has_toc_file(folder: Path) -> bool:
    """Whether a folder has the table of contents of a Jupyter Book."""
    return any(files.is_file(folder / name) for name in ("_toc.yml", "myst.yml"))


def find_sphinx_project(source: Path) -> SphinxProject | None:
    """Find the project in a folder; without one in a usual place, it is where the pages with a toctree are."""
    if project := find_sphinx_root(source):
        return project
    # Pages that list others are usually above them.
    pages = sorted(files.find_files(source, frozenset((".rst",)))[0], key=lambda path: len(path.parts))
    folders = [path.parent for path in pages[:_MAX_SEARCHED_PAGES] if _contains_toctree(path)]
    return SphinxProject(Path(os.path.commonpath(folders))) if folders else None


def find_sphinx_root(source: Path) -> SphinxProject | None:
    """Find the project in one of the usual places: by its `conf.py`, or by an index with a toctree."""
    folders = [source / name for name in _SOURCE_FOLDERS if files.is_folder(source / name)]
    for folder in folders:
        if files.is_file(folder / "conf.py"):
            config, notices = load_sphinx_config(folder / "conf.py")
            if any(files.is_file(folder / f"{config.root}{end}") for end in (*config.suffixes, *_OPTIONAL_SUFFIXES)):
                return SphinxProject(folder, config, tuple(notices))
    for folder in folders:
        with suppress(OSError):
            for index in filter(_contains_toctree, sorted(folder.glob("index*.rst"))):
                # The name of the index tells the suffix of all pages.
                return SphinxProject(folder, SphinxConfig(suffixes=(index.name.removeprefix("index"),)))
    return None


def _contains_toctree(path: Path) -> bool:
    text = file_loader.load_config_text(path) if files.is_file(path) else None
    return ".. toctree::" in (text or "")
