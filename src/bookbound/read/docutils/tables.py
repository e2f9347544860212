"""Tables that are written as directives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst.directives.tables import CSVTable, ListTable, RSTTable
from docutils.statemachine import StringList

from bookbound.read.docutils.shown import Options

# Rows are filled up to the longest: a long one among many would fill any memory.
_MOST_CELLS = 50_000


class Drawn(RSTTable):
    """Shows a table that is drawn, below its title."""

    option_spec = Options(RSTTable.option_spec or {})


class Listed(ListTable):
    """Shows a table that is written as a list of lists."""

    option_spec = Options(ListTable.option_spec or {})


class Commas(CSVTable):
    """Shows a table that is written with commas, here or in another file, and whose cells do not know their lines.

    One of more cells than any is shown as it is written.
    """

    option_spec = Options(CSVTable.option_spec or {})

    def run(self) -> Sequence[Any]:
        name = self.options.pop("file", "")
        source, line = self.state_machine.get_source_and_line(self.lineno)
        text = self.state.document.settings.extracts.text(name, source) if name else None
        if text is not None:
            self.content = StringList(text.splitlines(), source)
        lines = list(self.content)
        if max((line.count(",") for line in lines), default=0) * len(lines) > _MOST_CELLS:
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
