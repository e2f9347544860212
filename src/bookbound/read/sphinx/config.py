"""What the `conf.py` of a Sphinx project says, read and never run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bookbound.book import Notice
from bookbound.read import decode
from bookbound.read.sound import sound

_UNSEEN = ("_templates", "_static")
_MARKDOWN = ("myst_parser", "myst_nb", "recommonmark", "m2r", "m2r2", "sphinx_mdinclude")
_NOTEBOOKS = ("myst_nb", "nbsphinx")
_FORMATS = {"section": "Section %s", "figure": "Fig. %s", "table": "Table %s", "code-block": "Listing %s"}


@dataclass(frozen=True, slots=True)
class Config:
    """How a project is put together, as far as plain assignments tell."""

    title: str = ""
    address: str = ""
    root: str = "index"
    suffixes: tuple[str, ...] = (".rst",)
    excluded: tuple[str, ...] = _UNSEEN
    prolog: str = ""
    epilog: str = ""
    words: tuple[tuple[str, str], ...] = ()
    shorthands: tuple[tuple[str, str], ...] = ()
    substitutions: tuple[tuple[str, str], ...] = ()
    numfig: bool = False
    numfig_depth: int = 1
    numfig_formats: tuple[tuple[str, str], ...] = ()
    number_suffix: str = ". "
    todos: bool = True

    @property
    def formats(self) -> dict[str, str]:
        """What is set around the number of each kind of thing."""
        return _FORMATS | dict(self.numfig_formats)


def load_config(path: Path) -> tuple[Config, list[Notice]]:
    """The configuration in a file, and that it cannot be read where it cannot."""
    text, notices = decode.load(path, path.name, decode.LARGEST_SETTINGS)
    if text is None:
        return Config(), notices
    try:
        values = _values(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Config(), [*notices, Notice(path.name, "is no Python that can be read; its settings are passed over")]
    return _config(values), notices


def _values(module: ast.Module) -> dict[str, Any]:
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
            found = sound(_value(value, values))
        except (ValueError, TypeError, KeyError):
            continue
        # What is added to itself again and again would fill any memory.
        if not isinstance(found, str | list | tuple) or len(found) <= decode.LARGEST_SETTINGS:
            values |= dict.fromkeys(names, found)
    return values


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            return known[name]
        case ast.BinOp(left, ast.Add(), right):
            return _value(left, known) + _value(right, known)
    return ast.literal_eval(node)


def _config(values: Mapping[str, Any]) -> Config:
    used = _listed(values.get("extensions"))
    suffixes = _listed(values.get("source_suffix")) or (".rst",)
    suffixes += (".md",) * any(name in used for name in _MARKDOWN)
    suffixes += (".ipynb",) * any(name in used for name in _NOTEBOOKS)
    unseen = [_listed(values.get(name)) for name in ("exclude_patterns", "templates_path", "html_static_path")]
    release = _text(values.get("release")) or _text(values.get("version"))
    version = _text(values.get("version")) or release
    links = values.get("extlinks")
    depth, formats, suffix = (
        values.get(name) for name in ("numfig_secnum_depth", "numfig_format", "html_secnumber_suffix")
    )
    return Config(
        title=_text(values.get("html_title")) or _text(values.get("project")),
        address=_text(values.get("html_baseurl")),
        root=_text(values.get("root_doc")) or _text(values.get("master_doc")) or "index",
        suffixes=tuple(dict.fromkeys(suffixes)),
        excluded=(*_UNSEEN, *(name for names in unseen for name in names)),
        prolog=_text(values.get("rst_prolog")),
        epilog=_text(values.get("rst_epilog")),
        words=tuple((name, said) for name, said in (("version", version), ("release", release)) if said),
        shorthands=tuple(_shorthands(links)) if isinstance(links, dict) else (),
        substitutions=_pairs(values.get("myst_substitutions")),
        numfig=values.get("numfig") is True,
        numfig_depth=depth if isinstance(depth, int) and depth >= 0 else 1,
        numfig_formats=_pairs(formats),
        number_suffix=suffix if isinstance(suffix, str) else ". ",
        todos=values.get("todo_include_todos") is True,
    )


def _shorthands(links: dict[Any, Any]) -> list[tuple[str, str]]:
    """What each shorthand for a link shows; without a caption it shows the address."""
    return [
        (name, caption if isinstance(caption, str) else str(address))
        for name, given in links.items()
        if isinstance(name, str) and isinstance(given, tuple | list) and len(given) == 2
        for address, caption in [given]
    ]


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """The names that a setting gives texts to."""
    pairs = value.items() if isinstance(value, dict) else ()
    return tuple((name, text) for name, text in pairs if isinstance(name, str) and isinstance(text, str))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _listed(value: Any) -> tuple[str, ...]:
    """The names that a setting lists; one alone may stand for the list."""
    names = [value] if isinstance(value, str) else value if isinstance(value, list | tuple | dict) else []
    return tuple(name for name in names if isinstance(name, str) and name)
