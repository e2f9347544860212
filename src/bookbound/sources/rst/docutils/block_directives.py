"""Renders the directives for admonitions, code, math, figures, cards, tabs and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst import states
from docutils.parsers.rst.directives.tables import CSVTable
from docutils.statemachine import StringList

from bookbound.sources.rst.docutils.content_directive import AnyOptions, ContentDirective, make_generated_text
from bookbound.sources.rst.shared_markup import MAX_TABLE_CELLS, applies_to_html, format_version_note

_CARD_HEADER_END, _CARD_FOOTER_START = re.compile(r"\^{3,}\s*"), re.compile(r"\+{3,}\s*")


def show_nothing(directive: ContentDirective) -> list[nodes.Node]:
    # A substitution definition must contain something.
    return [nodes.image()] if isinstance(directive.state, states.SubstitutionDef) else []


def show_only(directive: ContentDirective) -> list[nodes.Node]:
    return directive.body() if applies_to_html(directive.argument) else []


def show_admonition(directive: ContentDirective) -> list[nodes.Node]:
    if directive.name.lower() == "seealso":
        title = nodes.title("", "See also", generated=True)
    else:
        title = nodes.title("", directive.name, is_directive_name=True)
    return [directive.named(directive.parse_body(nodes.admonition("", directive.locate(title))))]


def show_todo(directive: ContentDirective) -> list[nodes.Node]:
    shown: Any = show_admonition(directive)
    directive.state.document.set_id(shown[0])  # Sphinx does so even if it hides the todo
    return shown if directive.context.project.markup.show_todos else []


def show_titled(directive: ContentDirective) -> list[nodes.Node]:
    titles = directive.parse_text(nodes.title, directive.argument)
    subtitles = directive.parse_text(nodes.subtitle, directive.options.get("subtitle"))
    return [directive.named(directive.parse_body(nodes.admonition("", *titles, *subtitles)))]


def show_version(directive: ContentDirective) -> list[nodes.Node]:
    version, *text = directive.argument.split(None, 1) or [""]
    note = format_version_note(directive.name.lower(), version, bool(text or directive.content))
    title = directive.locate(nodes.title("", note, generated=True))
    paragraphs = directive.parse_text(nodes.paragraph, "".join(text))
    return [directive.parse_body(nodes.admonition("", title, *paragraphs))]


def show_raw(directive: ContentDirective) -> list[nodes.Node]:
    from bookbound.sources.html import render_html

    html = "\n".join(directive.content)
    is_shown = "html" in directive.argument.lower() and not isinstance(directive.state, states.SubstitutionDef)
    text = " ".join(render_html(html).text.split()) if is_shown and html.strip() else ""
    if not text:
        return show_nothing(directive)
    return [directive.locate(nodes.paragraph(html, text), directive.line_at(directive.content_offset))]


def show_rubric(directive: ContentDirective) -> list[nodes.Node]:
    return [*directive.parse_text(nodes.rubric, directive.argument), *directive.body()]


def show_code(directive: ContentDirective) -> list[nodes.Node]:
    return directive.code("\n".join(directive.content))


def show_code_tab(directive: ContentDirective) -> list[nodes.Node]:
    language, _, title = directive.argument.partition(" ")
    return [*directive.parse_text(nodes.rubric, title or language), *show_code(directive)]


def show_code_tab_set(directive: ContentDirective) -> list[nodes.Node]:
    shown = directive.body()
    for block in [block for block in shown if isinstance(block, nodes.literal_block) and block.get("language")]:
        label = make_generated_text(block["language"].upper())
        shown.insert(shown.index(block), directive.locate(nodes.rubric("", "", label), block.line))
    return shown


def show_math(directive: ContentDirective) -> list[nodes.Node]:
    shown: list[Any] = [directive.locate(nodes.math_block(text, text)) for text in directive.arguments]
    body = "\n".join(directive.content)
    if body.strip():
        shown.append(directive.locate(nodes.math_block(body, body), directive.line_at(directive.content_offset)))
    label = directive.options.get("label") or directive.options.get("name")
    if label and shown:
        shown[-1]["ids"] = directive.reserve_ids(nodes.make_id(f"equation-{label}"))
        directive.context.formulas |= {f"equation-{label}": anchor for anchor in shown[-1]["ids"]}
    return shown


def show_figure(directive: ContentDirective) -> list[nodes.Node]:
    if isinstance(directive.state, states.SubstitutionDef):
        return [nodes.image()]
    node = directive.named(directive.parse_body(nodes.figure()))
    first = next(iter(node.children), None)
    if isinstance(first, nodes.paragraph):
        node.replace(first, directive.locate(nodes.caption(first.rawsource, "", *first.children), first.line))
    node.insert(0, nodes.image("", uri=directive.argument, alt=directive.options.get("alt") or ""))
    return [node]


def show_card(directive: ContentDirective) -> list[nodes.Node]:
    lines = list(directive.content)
    header = next((i for i, line in enumerate(lines) if _CARD_HEADER_END.fullmatch(line)), -1)
    footers = (i for i, line in enumerate(lines) if i > header and _CARD_FOOTER_START.fullmatch(line))
    footer = next(footers, len(lines))
    node = nodes.admonition("", *directive.parse_text(nodes.title, directive.argument))
    for start, end in ((0, header), (header + 1, footer), (footer + 1, len(lines))):
        if start < end:
            directive.state.nested_parse(directive.content[start:end], directive.content_offset + start, node)
    return [node] if node.children else []


def show_button(directive: ContentDirective) -> list[nodes.Node]:
    shown, target = directive.body(), directive.argument
    if shown or not target:
        return shown
    text = nodes.inline(target, target)
    if directive.name.endswith("ref"):
        text["reference"] = "ref" if directive.options.get("ref-type", "ref") == "ref" else "doc", target
    return [directive.locate(nodes.paragraph(target, "", text))]


class CsvTableDirective(CSVTable):
    """Shows a table that is written as comma-separated values in the page or in another file."""

    option_spec = AnyOptions(CSVTable.option_spec or {})

    def run(self) -> Sequence[Any]:
        file = self.options.pop("file", "")
        source, line = self.state_machine.get_source_and_line(self.lineno)
        text = self.state.document.settings.parse_context.load_text(file, source) if file else None
        if text is not None:
            self.content = StringList(text.splitlines(), source)
        lines = list(self.content)
        if max((line.count(",") for line in lines), default=0) * len(lines) > MAX_TABLE_CELLS:
            text = "\n".join(lines)
            block = nodes.literal_block(text, text, from_file=bool(file))
            block.source, block.line = source, line
            return [block]
        tables = super().run()
        for table in tables:
            for cell in table.findall(nodes.TextElement):
                # docutils does not know the lines of the cells.
                if not isinstance(cell, nodes.title):
                    cell.line, cell["from_file"] = (line, True) if file else (None, False)
        return tables
