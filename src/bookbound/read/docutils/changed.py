"""Directives that say since when something is so."""

from __future__ import annotations

from docutils import nodes

from bookbound.read.docutils.shown import Shown
from bookbound.read.sphinx.versions import since


class Version(Shown):
    """Shows since when something is so, and what there is to say of it."""

    def run(self) -> list[nodes.Node]:
        version, *words = "".join(self.arguments).split(None, 1) or [""]
        shown = since(self.name.lower(), version, bool(words or self.content))
        node = nodes.admonition("", self.placed(nodes.title("", shown, told=True)))
        if words:
            node += self.words(nodes.paragraph, words[0])
        return [self.body(node)]
