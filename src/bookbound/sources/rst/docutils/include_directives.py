"""Implements the directives that include other files or list pages, within limits."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path

from docutils import nodes
from docutils.statemachine import string2lines

from bookbound.sources import files
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.rst.docutils.content_directive import ContentDirective, make_code_block
from bookbound.sources.rst.object_descriptions import ObjectScope
from bookbound.sources.rst.page_draft import Toctree, parse_toctree
from bookbound.sources.rst.shared_directives import select_lines

_TAB_WIDTH = 8
_MAX_LINE_LENGTH = 10_000
# What follows a list or a paragraph is copied for each of them, and the cells of a table are looked for among all.
_MAX_LINES = 50_000
_MAX_TABLE_COLUMNS = 200
# Python breaks lines where no editor does, and docutils marks with a null what was escaped.
_REPLACED_CHARACTERS = {**dict.fromkeys(map(ord, "\x1c\x1d\x1e\x85\u2028\u2029"), " "), 0: "\ufffd"}


def split_safe_lines(text: str) -> list[str] | None:
    """The lines of a text, with spaces for tabs; nothing where docutils would take too long over them."""
    lines = string2lines(text.translate(_REPLACED_CHARACTERS), _TAB_WIDTH, convert_whitespace=True) if text else []
    wide = any(len(line) > _MAX_LINE_LENGTH or _count_table_columns(line) > _MAX_TABLE_COLUMNS for line in lines)
    return None if wide or len(lines) > _MAX_LINES else lines


def _count_table_columns(line: str) -> int:
    """How many columns the edge of a drawn table has; none for any other line."""
    return 0 if line.strip(" +-=|") else line.count("+")


_MAX_INCLUDED_FILES = 200
_MAX_INCLUDED_CHARACTERS = 2_000_000


@dataclass(slots=True)
class ParseContext:
    """Takes texts from the shelf for the page at `path`; a target from the root begins at `home`.

    `origins` says on which line of the page a text that was included is asked for, `scope` where its things are
    described, `formulas` are the anchors of those that have labels, and `described` are the things of which only code
    says something.
    """

    shelf: IncludeLoader
    home: Path
    path: Path
    shorthands: dict[str, str] = field(default_factory=dict)
    todos: bool = True
    toctrees: list[Toctree] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)
    scope: ObjectScope = field(default_factory=ObjectScope)
    formulas: dict[str, str] = field(default_factory=dict)
    described: list[str] = field(default_factory=list)
    _paths: dict[str, Path] = field(default_factory=dict)
    _taken: int = 0

    def text(self, target: str, within: str) -> str | None:
        """The text of a file that is asked for in the page or in an included text; nothing where it cannot be had."""
        few = len(self._paths) < _MAX_INCLUDED_FILES and self._taken < _MAX_INCLUDED_CHARACTERS
        text = self.shelf.text(self._find(target, within) if few else None, target)
        self._taken += len(text or "")
        return text

    def include(self, target: str, within: str, line: int) -> str:
        """A name of its own for a text that is included on a line."""
        name = f"<included {len(self.origins)}>"
        self.origins[name] = self.origins.get(within, line)
        self._paths[name] = self._find(target, within) or self.path
        return name

    def _find(self, target: str, within: str) -> Path | None:
        below = self.home if target.startswith("/") else self._paths.get(within, self.path).parent
        return files.resolve_relative_path(below, target.lstrip("/"))


class IncludeDirective(ContentDirective):
    """Shows another file as if it stood here."""

    def run(self) -> list[nodes.Node]:
        found = _read_included_text(self)
        if found is None:
            return []
        if "literal" in self.options or "code" in self.options:
            return make_code_block(self, found, taken=True)
        lines = split_safe_lines(found)
        if lines is None:
            return make_code_block(self, found, taken=True)
        extracts = _get_parse_context(self)
        self.state_machine.insert_input(lines, extracts.include(self.arguments[0], self.source, self.line))
        return []


class LiteralIncludeDirective(ContentDirective):
    """Shows another file, or some of it, as code."""

    def run(self) -> list[nodes.Node]:
        found = _read_included_text(self)
        if found is None:
            return []
        if self.options.get("caption") == "":
            self.options["caption"] = posixpath.basename(self.arguments[0])
        around = (self.options.get("prepend"), found.rstrip("\n"), self.options.get("append"))
        return make_code_block(self, "\n".join(filter(None, around)), taken=True)


class ToctreeDirective(ContentDirective):
    """Lists pages, and shows nothing that is not shown on them."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        listed = _get_parse_context(self).toctrees
        listed.append(parse_toctree(self.content, self.options))
        return [nodes.container(toctree=len(listed) - 1)]


class AutosummaryDirective(ContentDirective):
    """Lists the pages that are made of the things it names, where it makes such."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        folder = self.options.get("toctree")
        if folder is not None:
            extracts = _get_parse_context(self)
            named = [line.split("(")[0].strip().lstrip("~") for line in self.content]
            module = extracts.scope.modules.get("py", "")
            module = f"{module}." * bool(module)
            lines = tuple(("", f"{folder}/{prefix}{name}") for name in named if name for prefix in ("", module))
            extracts.toctrees.append(Toctree(lines, made=True))
        return []


def _get_parse_context(directive: ContentDirective) -> ParseContext:
    extracts: ParseContext = directive.state.document.settings.extracts
    return extracts


def _read_included_text(directive: ContentDirective) -> str | None:
    """What of a file a directive takes; nothing where the file cannot be had."""
    target = "".join(directive.arguments)
    found = _get_parse_context(directive).text(target, directive.source) if target else None
    return None if found is None else select_lines(found, directive.options)
