"""Directives that describe things: of a program, of its command line, of a glossary."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.statemachine import StringList

from bookbound.read.docutils.fields import name_fields
from bookbound.read.docutils.shown import Shown, told
from bookbound.read.sphinx.things import Scope, Thing, holds, identified, kind_of, thing

_JOINED = re.compile(r"\\\n")


class Described(Shown):
    """Shows how a thing is called and what is said of it, as one block at the thing's anchor."""

    def run(self) -> list[nodes.Node]:
        named, scope = "\n".join(self.arguments), scope_of(self)
        if self.name.lower() == "class" and not (named[:1].isupper() or "(" in named or "." in named):
            return []
        kind = kind_of(self.name.lower(), scope)
        written = [named] if _JOINED.search(named) else [line.strip() for line in named.split("\n")]
        things = [thing(kind, one, self.options, scope) for one in written]
        node = nodes.container("", *map(self._signature, written, things, range(len(written))), thing=True)
        node["ids"] = self.taken(*things[0].ids)
        if kind == "confval":
            node += self._told("Type: ", "type") + self._told("Default: ", "default")
        held = scope.held
        scope.held = [*held, (kind.partition(":")[0], things[-1].name)] if holds(kind) else held
        self.body(node)
        scope.held = held
        name_fields(node, kind)
        return [node]

    def _signature(self, written: str, found: Thing, at: int) -> nodes.Element:
        block = nodes.literal_block(written, written)
        if found.before or found.after:
            words = (told(found.before), nodes.Text(written), told(found.after))
            block = nodes.literal_block(written, "", *(one for one in words if one.astext()))
        if at:
            block["ids"] = self.taken(*found.ids)
        return self.placed(block, self.line + at)

    def _told(self, label: str, name: str) -> list[nodes.paragraph]:
        found = self.option(name, nodes.paragraph)
        for one in found:
            one.insert(0, told(label))
        return found


class Module(Shown):
    """Says to which module the things after it belong, and shows what it says of it; a section that opens so is its."""

    def run(self) -> list[nodes.Node]:
        domain, _, kind = self.name.lower().rpartition(":")
        scope, named = scope_of(self), "".join(self.arguments).strip()
        scope.modules[domain or "py"] = "" if named == "None" else named
        shown: list[nodes.Node] = []
        if kind == "automodule":
            self.state.document.settings.extracts.described.append(named)
        if kind in ("module", "automodule") and not {"no-index", "noindex"} & self.options.keys():
            anchors, parent = self.taken(identified(f"module-{named}")), self.state.parent
            if isinstance(parent, nodes.section) and len(parent) == 1:
                parent["ids"][:0] = anchors
            else:
                shown = [nodes.target("", "", ids=anchors)]
        return [*shown, *self.body(nodes.container()).children]


class FromCode(Shown):
    """Shows what is said of a thing on the page; what its code says of it is not read."""

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.extracts.described.append("".join(self.arguments))
        return self.body(nodes.container()).children


class Program(Shown):
    """Says to which program the options after it belong."""

    def run(self) -> list[nodes.Node]:
        named = "-".join(" ".join(self.arguments).split())
        scope_of(self).program = "" if named == "None" else named
        return []


class Domain(Shown):
    """Says to which domain the things after it belong whose directives name none."""

    def run(self) -> list[nodes.Node]:
        scope_of(self).domain = "".join(self.arguments).lower() or "py"
        return []


class Glossary(Shown):
    """Shows terms and their meanings, each term at its own anchor; several terms may have one meaning."""

    def run(self) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        terms: list[tuple[str, int]] = []
        at = 0
        while at < len(self.content):
            line, start = self.content[at], at
            at += 1
            if not line.strip() or line.startswith(".. "):
                continue
            if line[0].isspace():
                at = self._end(at)
                shown.append(self._entry(terms, self.content[start:at], start))
                terms = []
                continue
            if terms and not self.content[start - 1].strip():
                shown.append(self._entry(terms, self.content[start:start], start))
                terms = []
            terms.append((line, start))
        return [*shown, self._entry(terms, self.content[at:at], at)] if terms else shown

    def _end(self, at: int) -> int:
        """Where the indented lines end that hold `at`."""
        while at < len(self.content) and (not self.content[at].strip() or self.content[at][0].isspace()):
            at += 1
        return at

    def _entry(self, terms: list[tuple[str, int]], meaning: StringList, at: int) -> nodes.Element:
        node = nodes.container(thing=True)
        for line, offset in terms:
            words = re.split(r"\s+:\s+", line, maxsplit=1)[0]
            shown, _ = self.state.inline_text(words, self.content_offset + offset)
            term = self.placed(nodes.term(words, "", *shown), self.at(self.content_offset + offset))
            term["ids"] = self.taken(identified(f"term-{term.astext()}"))
            node["ids"] = node["ids"] or term["ids"]
            node += term
        meaning.trim_left(min((len(line) - len(line.lstrip()) for line in meaning if line.strip()), default=0))
        self.state.nested_parse(meaning, self.content_offset + at, node)
        return node


class Productions(Shown):
    """Shows the rules of a grammar as they are written, without the name of their group."""

    def run(self) -> list[nodes.Node]:
        lines = "".join(self.arguments).split("\n")
        group = int(":" not in lines[0])
        rules = "\n".join(lines[group:])
        return [self.placed(nodes.literal_block(rules, rules), self.line + group)] if rules.strip() else []


def scope_of(directive: Shown) -> Scope:
    scope: Scope = directive.state.document.settings.extracts.scope
    return scope
