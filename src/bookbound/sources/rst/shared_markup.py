"""Holds the rules for roles and directives that reStructuredText and MyST share."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

TITLE_AND_TARGET = re.compile(r"(?P<title>[^<]*[^<\s])\s*<(?P<target>[^<]*)>\Z")
TAB_WIDTH = 8
MAX_TABLE_CELLS = 50_000
"""A larger CSV table is shown as it is written: short rows are padded, which could exhaust the memory."""
_ACCELERATOR = re.compile(r"&(&|(?!\s|\Z))")
_INDEX_PREFIX = re.compile(r"^(?:!|(?:single|pair|triple|see|seealso|module)\s*:\s*)*")
_ABBREVIATION_MEANING = re.compile(r"\s*\([^()]*\)\Z")
_HIDDEN_ROLES = "icon octicon material-regular material-outlined material-round fas fab far fa cite:label"
_OBJECT_ROLES = "class exc mod attr obj data const type member macro var struct enum union"


class RoleText(NamedTuple):
    """The text of a role, to be replaced by the title of its `reference` (kind and target) if that has one."""

    text: str
    reference: tuple[str, str] | None = None


def render_role(role: str, text: str, link_captions: Mapping[str, str]) -> RoleText:
    """Compute what a role shows for its text."""
    if role in _TEXT_ROLES:
        return RoleText(_TEXT_ROLES[role](text))
    kind = role.removeprefix("std:")
    titled = TITLE_AND_TARGET.match(text)
    if kind == "numref":
        return RoleText(titled["title"] if titled else text, (kind, text))
    if titled:
        return RoleText(titled["title"])
    if role in link_captions:
        return RoleText(link_captions[role].replace("%s", text).replace("%%", "%"))
    return RoleText(_TARGET_ROLES.get(role, str)(text), (kind, text) if kind in ("ref", "doc", "eq") else None)


def find_role_target(role: str, text: str) -> tuple[str, str] | None:
    """Find the place of the book that a role links to, as its kind and target."""
    kind = role.removeprefix("std:")
    titled = TITLE_AND_TARGET.match(text)
    return (kind, titled["target"] if titled else text) if kind in ("ref", "doc", "numref") else None


def _format_object_name(text: str) -> str:
    """Show only the last part of a dotted name after a tilde."""
    text = text.removeprefix("!")
    return text[1:].rpartition(".")[2] if text.startswith("~") else text.lstrip(".")


def _format_function_name(text: str) -> str:
    name = _format_object_name(text)
    return name if name.endswith(")") else f"{name}()"


def _strip_accelerators(text: str) -> str:
    return _ACCELERATOR.sub(r"\1", text)


_TEXT_ROLES: dict[str, Callable[[str], str]] = {
    "guilabel": _strip_accelerators,
    "menuselection": lambda text: _strip_accelerators(text).replace("-->", "\u2023"),
    "abbr": lambda text: _ABBREVIATION_MEANING.sub("", text),
    **dict.fromkeys(("file", "samp"), lambda text: text.replace("{", "").replace("}", "")),
    **dict.fromkeys(("kbd", "command", "program", "math"), str),
    **dict.fromkeys(_HIDDEN_ROLES.split(), lambda text: ""),
}
_TARGET_ROLES: dict[str, Callable[[str], str]] = {
    **{name: f"{name.upper()} {{}}".format for name in ("pep", "rfc", "cve", "cwe")},
    "eq": lambda text: "",
    "index": lambda text: _INDEX_PREFIX.sub("", text),
    **{
        f"{domain}{name}": formatter
        for names, formatter in ((_OBJECT_ROLES, _format_object_name), ("func meth", _format_function_name))
        for name in names.split()
        for domain in ("", "py:", "c:", "cpp:", "js:")
    },
}
_PROSE_ROLES = set("pep rfc cve cwe eq index".split())
CODE_ROLES = {*_TARGET_ROLES, *"file samp kbd command program option envvar".split()} - _PROSE_ROLES
"""The roles whose text is code."""
SPHINX_ROLES = {*_TEXT_ROLES, *_TARGET_ROLES, "ref", "doc", "numref", "std:ref", "std:doc", "std:numref"} - {"math"}
"""The roles that docutils does not know or shows in another way."""

ADMONITION_DIRECTIVES = frozenset("note tip warning attention caution danger error hint important seealso".split())
TITLED_DIRECTIVES = frozenset(
    "admonition dropdown details topic sidebar card grid-item-card tab-item tab group-tab collapse toggle margin"
    " exercise solution definition theorem proof lemma example proposition remark".split()
)
CODE_DIRECTIVES = frozenset(
    "code code-block code-cell sourcecode prompt testcode testoutput doctest ipython jupyter-execute console".split()
)
HIDDEN_DIRECTIVES = frozenset(
    "contents tableofcontents redirect-from highlight meta index tags bibliography sectnum section-numbering header"
    " footer title date testsetup testcleanup video youtube vimeo iframe embed glue plot graphviz digraph graph mermaid"
    " uml inheritance-diagram tabularcolumns target-notes sphinx_gallery_thumbnail"
    " restructuredtext-test-directive".split()
)
VERSION_DIRECTIVES = frozenset(
    "versionadded versionchanged versionremoved deprecated"
    " version-added version-changed version-removed version-deprecated".split()
)
_VERSION_PHRASES = {
    "added": "Added in version",
    "changed": "Changed in version",
    "deprecated": "Deprecated since version",
    "removed": "Removed in version",
}


def format_version_note(directive: str, version: str, has_body: bool) -> str:
    """Format the words that Sphinx shows for a version directive."""
    return f"{_VERSION_PHRASES[directive.removeprefix('version').lstrip('-')]} {version}{':' if has_body else '.'}"


_HTML_TAGS = frozenset(("html", "builder_html", "format_html"))
_MAX_EXPRESSION_LENGTH = 1_000


def applies_to_html(expression: str) -> bool:
    """Evaluate the tags of an `only` directive for an HTML build; an invalid expression counts as true."""
    try:
        return _evaluate_tags(ast.parse(expression.strip()[:_MAX_EXPRESSION_LENGTH], mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _evaluate_tags(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp(ast.And(), values):
            return all(map(_evaluate_tags, values))
        case ast.BoolOp(ast.Or(), values):
            return any(map(_evaluate_tags, values))
        case ast.UnaryOp(ast.Not(), operand):
            return not _evaluate_tags(operand)
        case ast.Name(name):
            return name in _HTML_TAGS
    raise ValueError


def select_lines(text: str, options: Mapping[str, Any]) -> str:
    """Select the lines of an included file that the options of the directive name."""
    lines = text.split("\n")[slice(_parse_integer(options.get("start-line")), _parse_integer(options.get("end-line")))]
    if options.get("lines"):
        lines = [lines[number - 1] for number in _parse_line_numbers(str(options["lines"]), len(lines))]
    if options.get("pyobject"):
        lines = _select_python_object(lines, str(options["pyobject"]))
    if start := options.get("start-at") or options.get("start-after"):
        at = next((i for i, line in enumerate(lines) if str(start) in line), 0)
        lines = lines[at + (not options.get("start-at")) :]
    if end := options.get("end-at") or options.get("end-before"):
        at = next((i for i, line in enumerate(lines) if str(end) in line), len(lines))
        lines = lines[: at + bool(options.get("end-at"))]
    dedent = _parse_integer(options.get("dedent")) or 0
    return "\n".join(line[min(dedent, _measure_indentation(line)) :] for line in lines)


def _select_python_object(lines: list[str], name: str) -> list[str]:
    """Select a class or a function by its indentation; return all lines if there is none of this name."""
    for part in name.split("."):
        opening = re.compile(rf"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(part)}\b")
        start = next((i for i, line in enumerate(lines) if opening.match(line)), None)
        if start is None:
            return lines
        depth = _measure_indentation(lines[start])
        inner = enumerate(lines[start + 1 :], start + 1)
        after = (i for i, line in inner if line.strip() and _measure_indentation(line) <= depth)
        lines = lines[start : next(after, None)]
    return lines


def _measure_indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parse_line_numbers(text: str, last_line: int) -> list[int]:
    """Parse numbers and ranges such as `1-3, 7, 9-`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        start = _parse_integer(first) or 1
        stop = (_parse_integer(last) or last_line) if dash else start
        numbers += range(max(1, start), min(stop, last_line) + 1)
        if len(numbers) > last_line:
            break
    return numbers


def _parse_integer(text: Any) -> int | None:
    try:
        return int(text) if text else None
    except (ValueError, TypeError):
        return None
