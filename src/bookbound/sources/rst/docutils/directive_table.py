"""Renders the directives that include files or list pages, and lists every directive by name."""

from __future__ import annotations

import posixpath

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.parsers.rst.directives.tables import ListTable, RSTTable

from bookbound.sources.rst.docutils import block_directives as blocks
from bookbound.sources.rst.docutils import object_directives as objects
from bookbound.sources.rst.docutils.content_directive import (
    AnyOptions,
    ContentDirective,
    make_directive,
    split_safe_lines,
)
from bookbound.sources.rst.page_draft import Toctree, parse_toctree
from bookbound.sources.rst.shared_markup import (
    ADMONITION_DIRECTIVES,
    CODE_DIRECTIVES,
    HIDDEN_DIRECTIVES,
    TITLED_DIRECTIVES,
    VERSION_DIRECTIVES,
    select_lines,
)


def include_file(directive: ContentDirective) -> list[nodes.Node]:
    """Parse another file as part of the page."""
    text = _load_lines(directive)
    if text is None:
        return []
    lines = None if {"literal", "code"} & directive.options.keys() else split_safe_lines(text)
    if lines is None:
        return directive.code(text, from_file=True)
    name = directive.context.add_include(directive.argument, directive.source, directive.line)
    directive.state_machine.insert_input(lines, name)
    return []


def include_code(directive: ContentDirective) -> list[nodes.Node]:
    """Render another file as code."""
    text = _load_lines(directive)
    if text is None:
        return []
    options = directive.options
    if options.get("caption") == "":
        options["caption"] = posixpath.basename(directive.argument)
    parts = (options.get("prepend"), text.rstrip("\n"), options.get("append"))
    return directive.code("\n".join(filter(None, parts)), from_file=True)


def _load_lines(directive: ContentDirective) -> str | None:
    target = directive.argument
    text = directive.context.load_text(target, directive.source) if target else None
    return None if text is None else select_lines(text, directive.options)


def add_toctree(directive: ContentDirective) -> list[nodes.Node]:
    toctrees = directive.context.toctrees
    toctrees.append(parse_toctree(directive.content, directive.options))
    return [nodes.container(toctree=len(toctrees) - 1)]


def add_autosummary(directive: ContentDirective) -> list[nodes.Node]:
    """List the pages that Sphinx generates for the objects that the directive names."""
    folder = directive.options.get("toctree")
    if folder is not None:
        names = [line.split("(")[0].strip().lstrip("~") for line in directive.content]
        module = directive.context.scope.modules.get("py", "")
        prefixes = ("", f"{module}." if module else "")
        entries = tuple(("", f"{folder}/{prefix}{name}") for name in names if name for prefix in prefixes)
        directive.context.toctrees.append(Toctree(entries, is_generated=True))
    return []


_OBJECT_KINDS = {
    "py:": "function class method attribute data exception property decorator type staticmethod classmethod",
    "c:": "function type member var macro struct union enum enumerator",
    "cpp:": "function class type member var enum enum-class enumerator struct union concept",
    "js:": "function class method attribute data",
    "rst:": "directive role directive:option",
    "": "function class method attribute data exception property decorator staticmethod classmethod option envvar"
    " confval describe object cmdoption",
    "auto": "function class exception method attribute data property decorator type",
}
_RENDERERS = {
    **dict.fromkeys(TITLED_DIRECTIVES, blocks.show_titled),
    **dict.fromkeys(VERSION_DIRECTIVES, blocks.show_version),
    **dict.fromkeys(CODE_DIRECTIVES, blocks.show_code),
    **dict.fromkeys(HIDDEN_DIRECTIVES, blocks.show_nothing),
    **{
        prefix + name: objects.show_autodoc if prefix == "auto" else objects.show_object
        for prefix, names in _OBJECT_KINDS.items()
        for name in names.split()
    },
    **dict.fromkeys(("card", "grid-item-card"), blocks.show_card),
    **dict.fromkeys(("button-link", "button-ref"), blocks.show_button),
    **dict.fromkeys(("rubric", "centered"), blocks.show_rubric),
    **dict.fromkeys(("image", "figure", "thumbnail"), blocks.show_figure),
    **dict.fromkeys(
        "currentmodule py:currentmodule module py:module automodule js:module".split(), objects.show_module
    ),
    **dict.fromkeys(("container", "compound", ""), ContentDirective.body),
    "tab-set-code": blocks.show_code_tab_set,
    "code-tab": blocks.show_code_tab,
    "math": blocks.show_math,
    "only": blocks.show_only,
    "raw": blocks.show_raw,
    "program": objects.set_program,
    "default-domain": objects.set_default_domain,
    "glossary": objects.show_glossary,
    "productionlist": objects.show_productions,
    "include": include_file,
    "literalinclude": include_code,
}
_RENDERERS_WITHOUT_ARGUMENT = {
    **dict.fromkeys(ADMONITION_DIRECTIVES, blocks.show_admonition),
    "todo": blocks.show_todo,
    "toctree": add_toctree,
    "autosummary": add_autosummary,
}
DIRECTIVES: dict[str, type[Directive]] = {
    **{name: make_directive(render) for name, render in _RENDERERS.items()},
    **{name: make_directive(render, arguments=0) for name, render in _RENDERERS_WITHOUT_ARGUMENT.items()},
    **{
        name: type(name, (table,), {"option_spec": AnyOptions(table.option_spec or {})})
        for name, table in (("table", RSTTable), ("list-table", ListTable))
    },
    "csv-table": blocks.CsvTableDirective,
}
"""Every directive by name; the empty name is for unknown directives."""
