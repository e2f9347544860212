"""Directives that take from other files of the book's folder, or list its pages."""

from __future__ import annotations

import posixpath

from docutils import nodes

from bookbound.read.docutils.extracts import Extracts
from bookbound.read.docutils.lines import trusted_lines
from bookbound.read.docutils.shown import Shown, code
from bookbound.read.sphinx.extract import chosen
from bookbound.read.sphinx.toctree import Toctree, toctree


class Include(Shown):
    """Shows another file as if it stood here."""

    def run(self) -> list[nodes.Node]:
        found = _text(self)
        if found is None:
            return []
        if "literal" in self.options or "code" in self.options:
            return code(self, found, taken=True)
        lines = trusted_lines(found)
        if lines is None:
            return code(self, found, taken=True)
        extracts = _extracts(self)
        self.state_machine.insert_input(lines, extracts.include(self.arguments[0], self.source, self.line))
        return []


class LiteralInclude(Shown):
    """Shows another file, or some of it, as code."""

    def run(self) -> list[nodes.Node]:
        found = _text(self)
        if found is None:
            return []
        if self.options.get("caption") == "":
            self.options["caption"] = posixpath.basename(self.arguments[0])
        around = (self.options.get("prepend"), found.rstrip("\n"), self.options.get("append"))
        return code(self, "\n".join(filter(None, around)), taken=True)


class Pages(Shown):
    """Lists pages, and shows nothing that is not shown on them."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        listed = _extracts(self).toctrees
        listed.append(toctree(self.content, self.options))
        return [nodes.container(toctree=len(listed) - 1)]


class MadePages(Shown):
    """Lists the pages that are made of the things it names, where it makes such."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        folder = self.options.get("toctree")
        if folder is not None:
            extracts = _extracts(self)
            named = [line.split("(")[0].strip().lstrip("~") for line in self.content]
            module = extracts.scope.modules.get("py", "")
            module = f"{module}." * bool(module)
            lines = tuple(("", f"{folder}/{prefix}{name}") for name in named if name for prefix in ("", module))
            extracts.toctrees.append(Toctree(lines, made=True))
        return []


def _extracts(directive: Shown) -> Extracts:
    extracts: Extracts = directive.state.document.settings.extracts
    return extracts


def _text(directive: Shown) -> str | None:
    """What of a file a directive takes; nothing where the file cannot be had."""
    target = "".join(directive.arguments)
    found = _extracts(directive).text(target, directive.source) if target else None
    return None if found is None else chosen(found, directive.options)
