"""Implements the directives for cards, buttons, tabs and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst.directives.tables import CSVTable, ListTable, RSTTable
from docutils.statemachine import StringList

from bookbound.sources.rst.docutils.content_directive import AnyOptions, ContentDirective, make_generated_text

_HEADER, _FOOTER = re.compile(r"\^{3,}\s*"), re.compile(r"\+{3,}\s*")


class CardDirective(ContentDirective):
    """Shows a card: its title, what stands above a line of carets, its body, what stands below a line of pluses."""

    def run(self) -> list[nodes.Node]:
        lines = list(self.content)
        header = next((at for at, line in enumerate(lines) if _HEADER.fullmatch(line)), -1)
        footer = next((at for at, line in enumerate(lines) if at > header and _FOOTER.fullmatch(line)), len(lines))
        node = nodes.admonition("", *self.argument(nodes.title))
        for start, end in ((0, header), (header + 1, footer), (footer + 1, len(lines))):
            if start < end:
                self.state.nested_parse(self.content[start:end], self.content_offset + start, node)
        return [node] if node.children else []


class ButtonDirective(ContentDirective):
    """Shows the words of a button or, where it has none, those of what it leads to."""

    def run(self) -> list[nodes.Node]:
        shown = self.body(nodes.container()).children
        target = "".join(self.arguments)
        if shown or not target:
            return shown
        kind = {"doc": "doc", "ref": "ref"}.get(str(self.options.get("ref-type", "ref")))
        words = nodes.inline(target, target, **({"refers": (kind, target)} if self.name.endswith("ref") else {}))
        return [self.placed(nodes.paragraph(target, "", words))]


class CodeTabSetDirective(ContentDirective):
    """Shows blocks of code, each below its language."""

    def run(self) -> list[nodes.Node]:
        shown = self.body(nodes.container()).children
        tabs: list[nodes.Node] = []
        for block in shown:
            language = block.get("language", "") if isinstance(block, nodes.literal_block) else ""
            label = (
                self.placed(nodes.rubric("", "", make_generated_text(language.upper())), block.line)
                if language
                else None
            )
            tabs += [label, block] if label else [block]
        return tabs


# Rows are filled up to the longest: a long one among many would fill any memory.
_MAX_TABLE_CELLS = 50_000


class TableDirective(RSTTable):
    """Shows a table that is drawn, below its title."""

    option_spec = AnyOptions(RSTTable.option_spec or {})


class ListTableDirective(ListTable):
    """Shows a table that is written as a list of lists."""

    option_spec = AnyOptions(ListTable.option_spec or {})


class CsvTableDirective(CSVTable):
    """Shows a table that is written with commas, here or in another file, and whose cells do not know their lines.

    One of more cells than any is shown as it is written.
    """

    option_spec = AnyOptions(CSVTable.option_spec or {})

    def run(self) -> Sequence[Any]:
        name = self.options.pop("file", "")
        source, line = self.state_machine.get_source_and_line(self.lineno)
        text = self.state.document.settings.extracts.text(name, source) if name else None
        if text is not None:
            self.content = StringList(text.splitlines(), source)
        lines = list(self.content)
        if max((line.count(",") for line in lines), default=0) * len(lines) > _MAX_TABLE_CELLS:
            words = "\n".join(lines)
            block = nodes.literal_block(words, words, taken=bool(name))
            block.source, block.line = source, line
            return [block]
        made = super().run()
        for table in made:
            for cell in table.findall(nodes.TextElement):
                if not isinstance(cell, nodes.title):
                    cell.line, cell["taken"] = (line, True) if name else (None, False)
        return made
