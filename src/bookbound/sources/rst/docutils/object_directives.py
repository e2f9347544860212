"""Renders the directives that document program objects, command lines, glossaries and grammars."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

from bookbound.sources.rst.docutils.content_directive import ContentDirective, make_generated_text
from bookbound.sources.rst.object_descriptions import (
    ObjectDescription,
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


def show_object(directive: ContentDirective) -> list[nodes.Node]:
    """Render the signatures of an object and its description as one block at the anchor of the object."""
    argument, scope = directive.argument, directive.context.scope
    if directive.name.lower() == "class" and not (argument[:1].isupper() or "(" in argument or "." in argument):
        return []  # the docutils directive that sets a CSS class
    kind = qualify_object_kind(directive.name.lower(), scope)
    signatures = [argument] if "\\\n" in argument else [line.strip() for line in argument.split("\n")]
    objects = [describe_object(kind, signature, directive.options, scope) for signature in signatures]
    node = nodes.container("", is_object=True, ids=directive.reserve_ids(*objects[0].ids))
    for index, (signature, description) in enumerate(zip(signatures, objects, strict=True)):
        block = _make_signature(signature, description)
        block["ids"] = directive.reserve_ids(*description.ids) if index else []
        node += directive.locate(block, directive.line + index)
    for label, name in (("Type: ", "type"), ("Default: ", "default")) if kind == "confval" else ():
        for paragraph in directive.parse_text(nodes.paragraph, directive.options.get(name)):
            paragraph.insert(0, make_generated_text(label))
            node += paragraph
    parents = scope.parents
    if contains_members(kind):
        scope.parents = [*parents, (kind.partition(":")[0], objects[-1].name)]
    directive.parse_body(node)
    scope.parents = parents
    _label_fields(node, _JAVASCRIPT_FIELD_LABELS if kind.startswith("js:") else _FIELD_LABELS)
    return [node]


def _make_signature(text: str, description: ObjectDescription) -> nodes.literal_block:
    if not description.before and not description.after:
        return nodes.literal_block(text, text)
    parts = (make_generated_text(description.before), nodes.Text(text), make_generated_text(description.after))
    return nodes.literal_block(text, "", *(part for part in parts if part.astext()))


def _label_fields(node: nodes.Element, labels: dict[str, str]) -> None:
    """Replace the names of the fields of an object with the labels that Sphinx shows."""
    fields: Any
    for fields in [child for child in node.children if isinstance(child, nodes.field_list)]:
        names = [field[0].astext().split(None, 1) or [""] for field in fields]
        types = {
            name[1]: " ".join(field[1].astext().split())
            for name, field in zip(names, fields, strict=True)
            if name[0] in _TYPE_FIELDS and len(name) > 1
        }
        last_label = ""
        for field, (name, *rest) in zip(list(fields), names, strict=True):
            label = labels.get(name, "")
            if name == "meta" or (name in _TYPE_FIELDS and rest):
                fields.remove(field)
            elif label:
                prefix = f"{label}: " if label != last_label else ""
                _prepend_to_field(field, prefix + _describe_parameter(name, rest, types))
            last_label = label or last_label


def _describe_parameter(field: str, rest: list[str], types: dict[str, str]) -> str:
    if not rest:
        return ""
    kind, _, name = rest[0].rpartition(" ") if field in _PARAMETER_FIELDS else ("", "", rest[0])
    kind = kind or types.get(name, "")
    return f"{name} ({kind}) \u2013 " if kind else f"{name} \u2013 "


def _prepend_to_field(field: Any, text: str) -> None:
    """Put a text before the first paragraph of a field, instead of its name."""
    name, body = field[0], field[1]
    if len(body) and isinstance(body[0], nodes.paragraph):
        body[0].insert(0, make_generated_text(text))
        field.remove(name)
    else:
        name.rawsource, name.children = "", []
        name += nodes.Text(text.rstrip(" \u2013"))


def show_module(directive: ContentDirective) -> list[nodes.Node]:
    """Set the module of the objects below; a section that begins with a module gets its anchor."""
    domain, _, kind = directive.name.lower().rpartition(":")
    name = directive.argument.strip()
    directive.context.scope.modules[domain or "py"] = "" if name == "None" else name
    shown: list[nodes.Node] = []
    if kind == "automodule":
        directive.context.autodoc_names.append(name)
    if kind in ("module", "automodule") and not {"no-index", "noindex"} & directive.options.keys():
        ids, parent = directive.reserve_ids(make_object_id(f"module-{name}")), directive.state.parent
        if isinstance(parent, nodes.section) and len(parent) == 1:
            parent["ids"][:0] = ids
        else:
            shown = [nodes.target("", "", ids=ids)]
    return [*shown, *directive.body()]


def show_autodoc(directive: ContentDirective) -> list[nodes.Node]:
    directive.context.autodoc_names.append(directive.argument)
    return directive.body()


def set_program(directive: ContentDirective) -> list[nodes.Node]:
    name = "-".join(directive.argument.split())
    directive.context.scope.program = "" if name == "None" else name
    return []


def set_default_domain(directive: ContentDirective) -> list[nodes.Node]:
    directive.context.scope.domain = directive.argument.lower() or "py"
    return []


def show_glossary(directive: ContentDirective) -> list[nodes.Node]:
    """Render terms and their definitions; consecutive terms share the definition after them."""
    content, shown = directive.content, list[nodes.Node]()
    terms: list[int] = []
    at = 0
    while at < len(content):
        start = at
        at += 1
        if not content[start].strip() or content[start].startswith(".. "):
            continue
        if content[start][0].isspace():
            while at < len(content) and (not content[at].strip() or content[at][0].isspace()):
                at += 1
            shown.append(_make_glossary_entry(directive, terms, start, at))
            terms = []
            continue
        if terms and not content[start - 1].strip():
            shown.append(_make_glossary_entry(directive, terms, start, start))
            terms = []
        terms.append(start)
    return [*shown, _make_glossary_entry(directive, terms, at, at)] if terms else shown


def _make_glossary_entry(directive: ContentDirective, terms: list[int], start: int, end: int) -> nodes.Element:
    """Make the entry of the terms on some lines, whose definition is on the lines `start` to `end`."""
    node = nodes.container(is_object=True)
    for term_line in terms:
        text = re.split(r"\s+:\s+", directive.content[term_line], maxsplit=1)[0]
        offset = directive.content_offset + term_line
        shown, _ = directive.state.inline_text(text, offset)
        term = directive.locate(nodes.term(text, "", *shown), directive.line_at(offset))
        term["ids"] = directive.reserve_ids(make_object_id(f"term-{term.astext()}"))
        node["ids"] = node["ids"] or term["ids"]
        node += term
    definition = directive.content[start:end]
    definition.trim_left(min((len(line) - len(line.lstrip()) for line in definition if line.strip()), default=0))
    directive.state.nested_parse(definition, directive.content_offset + start, node)
    return node


def show_productions(directive: ContentDirective) -> list[nodes.Node]:
    """Render the rules of a grammar as they are written, without the name of their group."""
    lines = directive.argument.split("\n")
    has_group = int(":" not in lines[0])
    rules = "\n".join(lines[has_group:])
    return [directive.locate(nodes.literal_block(rules, rules), directive.line + has_group)] if rules.strip() else []
