"""Directives of the extensions that lay pages out in cards, tabs and buttons."""

from __future__ import annotations

import re

from docutils import nodes

from bookbound.read.docutils.shown import Shown, told

_HEADER, _FOOTER = re.compile(r"\^{3,}\s*"), re.compile(r"\+{3,}\s*")


class Card(Shown):
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


class Button(Shown):
    """Shows the words of a button or, where it has none, those of what it leads to."""

    def run(self) -> list[nodes.Node]:
        shown = self.body(nodes.container()).children
        target = "".join(self.arguments)
        if shown or not target:
            return shown
        kind = {"doc": "doc", "ref": "ref"}.get(str(self.options.get("ref-type", "ref")))
        words = nodes.inline(target, target, **({"refers": (kind, target)} if self.name.endswith("ref") else {}))
        return [self.placed(nodes.paragraph(target, "", words))]


class CodeTabs(Shown):
    """Shows blocks of code, each below its language."""

    def run(self) -> list[nodes.Node]:
        shown = self.body(nodes.container()).children
        tabs: list[nodes.Node] = []
        for block in shown:
            language = block.get("language", "") if isinstance(block, nodes.literal_block) else ""
            label = self.placed(nodes.rubric("", "", told(language.upper())), block.line) if language else None
            tabs += [label, block] if label else [block]
        return tabs
