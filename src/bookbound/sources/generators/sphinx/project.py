"""Finds a Sphinx project and reads the settings in its `conf.py` without running it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, files
from bookbound.sources.generators.sphinx.page_order import compile_glob
from bookbound.sources.rst.page_draft import ALWAYS_EXCLUDED, ProjectConfig
from bookbound.sources.safe_config import sanitize
from bookbound.sources.sphinx_inventory import Inventory, parse_inventory

_MARKDOWN_EXTENSIONS = ("myst_parser", "myst_nb", "recommonmark", "m2r", "m2r2", "sphinx_mdinclude")
_NOTEBOOK_EXTENSIONS = ("myst_nb", "nbsphinx")


def load_sphinx_config(path: Path) -> tuple[ProjectConfig, list[SourceNotice]]:
    """The configuration in a file, and that it cannot be read where it cannot."""
    text, notices = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES)
    if text is None:
        return ProjectConfig(), notices
    try:
        values = _evaluate_assignments(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ProjectConfig(), [
            *notices,
            SourceNotice(path.name, "is no Python that can be read; its settings are passed over"),
        ]
    return _build_config(values), notices


def _evaluate_assignments(module: ast.Module) -> dict[str, Any]:
    """The names that are given a plain value, in the order of the file."""
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
        # What is added to itself again and again would fill any memory.
        if not isinstance(found, str | list | tuple) or len(found) <= decoding.MAX_CONFIG_BYTES:
            values |= dict.fromkeys(names, found)
    return values


def _evaluate(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            return known[name]
        case ast.BinOp(left, ast.Add(), right):
            return _evaluate(left, known) + _evaluate(right, known)
    return ast.literal_eval(node)


def _build_config(values: Mapping[str, Any]) -> ProjectConfig:
    used = _get_string_list(values.get("extensions"))
    suffixes = _get_string_list(values.get("source_suffix")) or (".rst",)
    suffixes += (".md",) * any(name in used for name in _MARKDOWN_EXTENSIONS)
    suffixes += (".ipynb",) * any(name in used for name in _NOTEBOOK_EXTENSIONS)
    unseen = [_get_string_list(values.get(name)) for name in ("exclude_patterns", "templates_path", "html_static_path")]
    release = _string_or_empty(values.get("release")) or _string_or_empty(values.get("version"))
    version = _string_or_empty(values.get("version")) or release
    links = values.get("extlinks")
    depth, formats, suffix = (
        values.get(name) for name in ("numfig_secnum_depth", "numfig_format", "html_secnumber_suffix")
    )
    return ProjectConfig(
        title=_string_or_empty(values.get("html_title")) or _string_or_empty(values.get("project")),
        address=_string_or_empty(values.get("html_baseurl")),
        root=_string_or_empty(values.get("root_doc")) or _string_or_empty(values.get("master_doc")) or "index",
        suffixes=tuple(dict.fromkeys(suffixes)),
        excluded=(*ALWAYS_EXCLUDED, *(name for names in unseen for name in names)),
        prolog=_string_or_empty(values.get("rst_prolog")),
        epilog=_string_or_empty(values.get("rst_epilog")),
        words=tuple((name, said) for name, said in (("version", version), ("release", release)) if said),
        shorthands=tuple(_get_extlink_captions(links)) if isinstance(links, dict) else (),
        substitutions=_get_string_pairs(values.get("myst_substitutions")),
        numfig=values.get("numfig") is True,
        numfig_depth=depth if isinstance(depth, int) and depth >= 0 else 1,
        numfig_formats=_get_string_pairs(formats),
        number_suffix=suffix if isinstance(suffix, str) else ". ",
        todos=values.get("todo_include_todos") is True,
    )


def _get_extlink_captions(links: dict[Any, Any]) -> list[tuple[str, str]]:
    """What each shorthand for a link shows; without a caption it shows the address."""
    return [
        (name, caption if isinstance(caption, str) else str(address))
        for name, given in links.items()
        if isinstance(name, str) and isinstance(given, tuple | list) and len(given) == 2
        for address, caption in [given]
    ]


def _get_string_pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """The names that a setting gives texts to."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple((name, text) for name, text in pairs if isinstance(name, str) and isinstance(text, str))


def _string_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _get_string_list(value: Any) -> tuple[str, ...]:
    """The names that a setting lists; one alone may stand for the list."""
    names = [value] if isinstance(value, str) else value if isinstance(value, list | tuple | dict) else []
    return tuple(name for name in names if isinstance(name, str) and name)


_SOURCE_FOLDERS = ("", "source", "src", "docs", "doc", "docs/source", "doc/source", "docs/src")
_BUILD_FOLDERS = ("", "_build/html", "build/html", "../build/html", "../_build/html")
_OPTIONAL_SUFFIXES = (".md", ".ipynb")
_MAX_SEARCHED_PAGES = 200


@dataclass(frozen=True, slots=True)
class SphinxProject:
    """The folder of a project's pages, and its configuration."""

    home: Path
    config: ProjectConfig = field(default_factory=ProjectConfig)
    notices: tuple[SourceNotice, ...] = ()

    def files(self) -> tuple[list[Path], list[Path], list[SourceNotice]]:
        """The files of its pages, others that become pages where they are listed, and what is odd about files."""
        ends = frozenset(Path(f"x{end}").suffix.lower() for end in (*self.config.suffixes, *_OPTIONAL_SUFFIXES))
        found, notices = files.find_files(self.home, ends)
        excluded = [compile_glob(name.rstrip("/")) for name in self.config.excluded]
        kept = [path for path in found if not _is_excluded(path.relative_to(self.home), excluded)]
        pages = [path for path in kept if path.name.endswith(self.config.suffixes)]
        others = [path for path in kept if not path.name.endswith(self.config.suffixes)]
        return pages, [path for path in others if path.suffix.lower() in _OPTIONAL_SUFFIXES], notices

    def name(self, path: Path) -> str:
        """What a page is called within the project: its path without its ending."""
        name = path.relative_to(self.home).as_posix()
        ending = next((end for end in self.config.suffixes if name.endswith(end)), path.suffix)
        return name.removesuffix(ending)

    def address(self, name: str) -> str:
        """Where a page opens: below the project's own address, where it has one."""
        return f"{self.config.address.rstrip('/')}/{quote(name)}.html"

    def inventory(self) -> Inventory:
        """What a built copy in the project or beside it lists."""
        for name in _BUILD_FOLDERS:
            path = self.home / name / "objects.inv"
            data = decoding.load_bytes(path, path.name)[0] if files.is_inside(path, self.home / "..") else None
            if data is not None:
                return parse_inventory(data)
        return {}


def find_sphinx_project(source: Path) -> SphinxProject | None:
    """The project of a folder; where it shows none, the home is what the pages that list others have in common."""
    own = find_sphinx_root(source)
    if own:
        return own
    # What lists the pages of others stands above them.
    pages = sorted(files.find_files(source, frozenset((".rst",)))[0], key=lambda path: len(path.parts))
    listing = [path for path in pages[:_MAX_SEARCHED_PAGES] if _contains_toctree(path)]
    return SphinxProject(Path(os.path.commonpath([path.parent for path in listing]))) if listing else None


def find_sphinx_root(source: Path) -> SphinxProject | None:
    """The project that stands where a folder would keep one: that of a `conf.py`, else of an index that lists pages."""
    homes = [source / name for name in _SOURCE_FOLDERS if files.is_folder(source / name)]
    for home in homes:
        if files.is_file(home / "conf.py"):
            config, notices = load_sphinx_config(home / "conf.py")
            if any(files.is_file(home / f"{config.root}{end}") for end in (*config.suffixes, *_OPTIONAL_SUFFIXES)):
                return SphinxProject(home, config, tuple(notices))
    for home in homes:
        for root in _find_index_pages(home):
            if _contains_toctree(root):
                # An index that ends otherwise tells what all pages end in.
                return SphinxProject(home, ProjectConfig(suffixes=(root.name.removeprefix("index"),)))
    return None


def _find_index_pages(home: Path) -> Iterable[Path]:
    try:
        return sorted(home.glob("index*.rst"))
    except OSError:
        return ()


def _contains_toctree(path: Path) -> bool:
    text, _ = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES) if files.is_file(path) else (None, [])
    return ".. toctree::" in (text or "")


def _is_excluded(path: Path, excluded: list[re.Pattern[str]]) -> bool:
    """Whether a pattern takes in a path, or a folder that it stands in."""
    names = [path.as_posix(), *(folder.as_posix() for folder in path.parents)]
    return any(each.fullmatch(name) for each in excluded for name in names)
