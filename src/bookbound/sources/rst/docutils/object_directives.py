"""Implements the directives that document program objects, command lines, glossaries and grammars."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList

from bookbound.sources.rst.docutils.content_directive import ContentDirective, make_generated_text
from bookbound.sources.rst.object_descriptions import (
    ObjectDescription,
    ObjectScope,
    contains_members,
    describe_object,
    make_object_id,
    qualify_object_kind,
)

_PARAMETER_FIELDS = dict.fromkeys("param parameter arg argument key keyword kwarg kwparam".split(), "Parameters")
_TYPE_FIELDS = frozenset("type paramtype vartype".split())
_FIELD_LABELS = {
    **_PARAMETER_FIELDS,
    **dict.fromkeys(("var", "ivar", "cvar"), "Variables"),
    **dict.fromkeys(("raises", "raise", "exception", "except"), "Raises"),
    **dict.fromkeys(("throws", "throw"), "Throws"),
    **dict.fromkeys(("returns", "return"), "Returns"),
    **dict.fromkeys(("retval", "retvals"), "Return values"),
    "rtype": "Return type",
}
_JAVASCRIPT_FIELD_LABELS = {**_FIELD_LABELS, **dict.fromkeys(_PARAMETER_FIELDS, "Arguments")}


def label_fields(thing: nodes.Element, kind: str) -> None:
    """Let the fields of a thing of this kind begin with what Sphinx shows for their names."""
    fields: Any
    for fields in [child for child in thing.children if isinstance(child, nodes.field_list)]:
        names = [field[0].astext().split(None, 1) or [""] for field in fields]
        types = {
            name[1]: " ".join(field[1].astext().split())
            for name, field in zip(names, fields, strict=True)
            if name[0] in _TYPE_FIELDS and len(name) > 1
        }
        before = ""
        for field, (first, *rest) in zip(list(fields), names, strict=True):
            group = (_JAVASCRIPT_FIELD_LABELS if kind.startswith("js:") else _FIELD_LABELS).get(first, "")
            if first == "meta" or (first in _TYPE_FIELDS and rest):
                fields.remove(field)
            elif group:
                begin = f"{group}: " * (group != before)
                _prepend_to_field(field, begin + _describe_parameter(first, rest, types))
            before = group or before


def _describe_parameter(field: str, rest: list[str], types: dict[str, str]) -> str:
    """What is shown of an argument: its name, and its type where one is given."""
    if not rest:
        return ""
    kind, _, name = rest[0].rpartition(" ")
    if field not in _PARAMETER_FIELDS:
        kind, name = "", rest[0]
    kind = kind or types.get(name, "")
    return f"{name} ({kind}) \u2013 " if kind else f"{name} \u2013 "


def _prepend_to_field(field: Any, words: str) -> None:
    """Set words before the first paragraph of a field, in the place of its name."""
    name, body = field[0], field[1]
    first = body[0] if len(body) and isinstance(body[0], nodes.paragraph) else None
    if first is not None:
        first.insert(0, make_generated_text(words))
        field.remove(name)
    else:
        name.rawsource, name.children = "", []
        name += nodes.Text(words.rstrip(" \u2013"))


_LINE_CONTINUATION = re.compile(r"\\\n")


class ObjectDirective(ContentDirective):
    """Shows how a thing is called and what is said of it, as one block at the thing's anchor."""

    def run(self) -> list[nodes.Node]:
        named, scope = "\n".join(self.arguments), get_object_scope(self)
        if self.name.lower() == "class" and not (named[:1].isupper() or "(" in named or "." in named):
            return []
        kind = qualify_object_kind(self.name.lower(), scope)
        written = [named] if _LINE_CONTINUATION.search(named) else [line.strip() for line in named.split("\n")]
        things = [describe_object(kind, one, self.options, scope) for one in written]
        node = nodes.container("", *map(self._signature, written, things, range(len(written))), thing=True)
        node["ids"] = self.taken(*things[0].ids)
        if kind == "confval":
            node += self._told("Type: ", "type") + self._told("Default: ", "default")
        held = scope.held
        scope.held = [*held, (kind.partition(":")[0], things[-1].name)] if contains_members(kind) else held
        self.body(node)
        scope.held = held
        label_fields(node, kind)
        return [node]

    def _signature(self, written: str, found: ObjectDescription, at: int) -> nodes.Element:
        block = nodes.literal_block(written, written)
        if found.before or found.after:
            words = (make_generated_text(found.before), nodes.Text(written), make_generated_text(found.after))
            block = nodes.literal_block(written, "", *(one for one in words if one.astext()))
        if at:
            block["ids"] = self.taken(*found.ids)
        return self.placed(block, self.line + at)

    def _told(self, label: str, name: str) -> list[nodes.paragraph]:
        found = self.option(name, nodes.paragraph)
        for one in found:
            one.insert(0, make_generated_text(label))
        return found


class ModuleDirective(ContentDirective):
    """Says to which module the things after it belong, and shows what it says of it; a section that opens so is its."""

    def run(self) -> list[nodes.Node]:
        domain, _, kind = self.name.lower().rpartition(":")
        scope, named = get_object_scope(self), "".join(self.arguments).strip()
        scope.modules[domain or "py"] = "" if named == "None" else named
        shown: list[nodes.Node] = []
        if kind == "automodule":
            self.state.document.settings.extracts.described.append(named)
        if kind in ("module", "automodule") and not {"no-index", "noindex"} & self.options.keys():
            anchors, parent = self.taken(make_object_id(f"module-{named}")), self.state.parent
            if isinstance(parent, nodes.section) and len(parent) == 1:
                parent["ids"][:0] = anchors
            else:
                shown = [nodes.target("", "", ids=anchors)]
        return [*shown, *self.body(nodes.container()).children]


class AutodocDirective(ContentDirective):
    """Shows what is said of a thing on the page; what its code says of it is not read."""

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.extracts.described.append("".join(self.arguments))
        return self.body(nodes.container()).children


class ProgramDirective(ContentDirective):
    """Says to which program the options after it belong."""

    def run(self) -> list[nodes.Node]:
        named = "-".join(" ".join(self.arguments).split())
        get_object_scope(self).program = "" if named == "None" else named
        return []


class DefaultDomainDirective(ContentDirective):
    """Says to which domain the things after it belong whose directives name none."""

    def run(self) -> list[nodes.Node]:
        get_object_scope(self).domain = "".join(self.arguments).lower() or "py"
        return []


class GlossaryDirective(ContentDirective):
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
            term["ids"] = self.taken(make_object_id(f"term-{term.astext()}"))
            node["ids"] = node["ids"] or term["ids"]
            node += term
        meaning.trim_left(min((len(line) - len(line.lstrip()) for line in meaning if line.strip()), default=0))
        self.state.nested_parse(meaning, self.content_offset + at, node)
        return node


class ProductionListDirective(ContentDirective):
    """Shows the rules of a grammar as they are written, without the name of their group."""

    def run(self) -> list[nodes.Node]:
        lines = "".join(self.arguments).split("\n")
        group = int(":" not in lines[0])
        rules = "\n".join(lines[group:])
        return [self.placed(nodes.literal_block(rules, rules), self.line + group)] if rules.strip() else []


def get_object_scope(directive: ContentDirective) -> ObjectScope:
    scope: ObjectScope = directive.state.document.settings.extracts.scope
    return scope
