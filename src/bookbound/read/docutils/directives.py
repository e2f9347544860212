"""What the directives of Sphinx, and of the extensions that books use, show."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, states

from bookbound.read.docutils.changed import Version
from bookbound.read.docutils.design import Button, Card, CodeTabs
from bookbound.read.docutils.includes import Include, LiteralInclude, MadePages, Pages
from bookbound.read.docutils.objects import Described, Domain, FromCode, Glossary, Module, Productions, Program
from bookbound.read.docutils.shown import Shown, code, formula
from bookbound.read.docutils.tables import Commas, Drawn, Listed
from bookbound.read.sphinx.only import is_for_html
from bookbound.read.sphinx.versions import VERSIONS

_TOLD = {"seealso": "See also"}


class Body(Shown):
    """Shows its body."""

    def run(self) -> list[nodes.Node]:
        return self.body(nodes.container()).children


class Unseen(Shown):
    """Shows nothing, also in the place of a name that stands for it."""

    def run(self) -> list[nodes.Node]:
        return [nodes.image()] if isinstance(self.state, states.SubstitutionDef) else []


class Titled(Shown):
    """Shows a title and a body, as one."""

    def run(self) -> list[nodes.Node]:
        titles = (*self.argument(nodes.title), *self.option("subtitle", nodes.subtitle))
        return [self.named(self.body(nodes.admonition("", *titles)))]


class Named(Shown):
    """Shows its own name above its body."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        told = _TOLD.get(self.name.lower())
        title = self.placed(nodes.title("", told or self.name, **({"told": True} if told else {"named": True})))
        return [self.named(self.body(nodes.admonition("", title)))]


class Todo(Named):
    """Shows its name and body where the configuration says so; it has an id in any case."""

    def run(self) -> list[nodes.Node]:
        shown: Any = super().run()
        self.state.document.set_id(shown[0])
        return shown if self.state.document.settings.extracts.todos else []


class Raw(Unseen):
    """Shows the words of HTML that stands in the page as it is."""

    def run(self) -> list[nodes.Node]:
        from bookbound.read.html import typeset_html

        body = "\n".join(self.content)
        wanted = "html" in "".join(self.arguments).lower() and not isinstance(self.state, states.SubstitutionDef)
        words = " ".join(typeset_html(body).text.split()) if wanted and body.strip() else ""
        if not words:
            return super().run()
        return [self.placed(nodes.paragraph(body, words), self.at(self.content_offset))]


class Label(Shown):
    """Shows its argument and then its body."""

    def run(self) -> list[nodes.Node]:
        return [*self.argument(nodes.rubric), *self.body(nodes.container()).children]


class Code(Shown):
    """Shows its body as it is written, below its caption."""

    def run(self) -> list[nodes.Node]:
        return code(self, "\n".join(self.content))


class CodeTab(Shown):
    """Shows a tab's title, or the language that its code is in, and the code."""

    def run(self) -> list[nodes.Node]:
        language, _, title = " ".join(self.arguments).partition(" ")
        return [self.words(nodes.rubric, title or language), *code(self, "\n".join(self.content))]


class Formula(Shown):
    """Shows formulas: its argument, and its body."""

    def run(self) -> list[nodes.Node]:
        return formula(self)


class Picture(Shown):
    """Shows what stands for a picture, and what is said below it."""

    def run(self) -> list[nodes.Node]:
        if isinstance(self.state, states.SubstitutionDef):
            return [nodes.image()]
        alt = self.option("alt", nodes.paragraph)
        node = self.body(nodes.figure("", *alt))
        self.add_name(node)
        first = next((child for child in node.children[len(alt) :]), None)
        if isinstance(first, nodes.paragraph):
            node.replace(first, self.placed(nodes.caption(first.rawsource, "", *first.children), first.line))
        return [node]


class Only(Shown):
    """Shows its body where a built site does."""

    def run(self) -> list[nodes.Node]:
        return self.body(nodes.container()).children if is_for_html(" ".join(self.arguments)) else []


_DOMAINS = {
    "py:": "function class method attribute data exception property decorator type staticmethod classmethod",
    "c:": "function type member var macro struct union enum enumerator",
    "cpp:": "function class type member var enum enum-class enumerator struct union concept",
    "js:": "function class method attribute data",
    "rst:": "directive role directive:option",
    "": "function method attribute data exception property decorator staticmethod classmethod option envvar confval"
    " describe object cmdoption",
}
_CODE_TELLS = "function class exception method attribute data property decorator type"
_TABLE: tuple[tuple[str, type[Directive]], ...] = (
    ("note tip warning attention caution danger error hint important seealso", Named),
    ("todo", Todo),
    ("admonition dropdown details topic sidebar tab-item tab group-tab collapse toggle", Titled),
    ("card grid-item-card", Card),
    ("button-link button-ref", Button),
    ("tab-set-code", CodeTabs),
    (" ".join(VERSIONS), Version),
    ("rubric centered", Label),
    ("code-block code sourcecode prompt testcode testoutput doctest ipython jupyter-execute code-cell console", Code),
    ("code-tab", CodeTab),
    ("math", Formula),
    ("image figure thumbnail", Picture),
    (" ".join(domain + name for domain, names in _DOMAINS.items() for name in names.split()) + " class", Described),
    ("only", Only),
    ("include", Include),
    ("literalinclude", LiteralInclude),
    ("toctree", Pages),
    ("autosummary", MadePages),
    ("currentmodule py:currentmodule module py:module automodule js:module", Module),
    ("program", Program),
    (" ".join(f"auto{name}" for name in _CODE_TELLS.split()), FromCode),
    ("default-domain", Domain),
    ("glossary", Glossary),
    ("productionlist", Productions),
    (
        "contents redirect-from highlight meta index tags bibliography"
        " sectnum section-numbering header footer title date testsetup testcleanup video youtube vimeo plot graphviz"
        " digraph graph mermaid uml inheritance-diagram tabularcolumns target-notes"
        " sphinx_gallery_thumbnail restructuredtext-test-directive",
        Unseen,
    ),
    ("table", Drawn),
    ("list-table", Listed),
    ("csv-table", Commas),
    ("container compound", Body),
    ("raw", Raw),
)
DIRECTIVES: dict[str, Any] = {name: shows for names, shows in _TABLE for name in names.split()} | {"": Body}
