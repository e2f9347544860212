"""Implements admonitions, code, math and figures, and lists every directive by name."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, states

from bookbound.sources.rst.docutils.content_directive import ContentDirective, make_code_block, make_math_blocks
from bookbound.sources.rst.docutils.include_directives import (
    AutosummaryDirective,
    IncludeDirective,
    LiteralIncludeDirective,
    ToctreeDirective,
)
from bookbound.sources.rst.docutils.layout_directives import (
    ButtonDirective,
    CardDirective,
    CodeTabSetDirective,
    CsvTableDirective,
    ListTableDirective,
    TableDirective,
)
from bookbound.sources.rst.docutils.object_directives import (
    AutodocDirective,
    DefaultDomainDirective,
    GlossaryDirective,
    ModuleDirective,
    ObjectDirective,
    ProductionListDirective,
    ProgramDirective,
)
from bookbound.sources.rst.shared_directives import VERSION_DIRECTIVES, applies_to_html, format_version_note


class VersionDirective(ContentDirective):
    """Shows since when something is so, and what there is to say of it."""

    def run(self) -> list[nodes.Node]:
        version, *words = "".join(self.arguments).split(None, 1) or [""]
        shown = format_version_note(self.name.lower(), version, bool(words or self.content))
        node = nodes.admonition("", self.placed(nodes.title("", shown, told=True)))
        if words:
            node += self.words(nodes.paragraph, words[0])
        return [self.body(node)]


_ADMONITION_TITLES = {"seealso": "See also"}


class BodyDirective(ContentDirective):
    """Shows its body."""

    def run(self) -> list[nodes.Node]:
        return self.body(nodes.container()).children


class HiddenDirective(ContentDirective):
    """Shows nothing, also in the place of a name that stands for it."""

    def run(self) -> list[nodes.Node]:
        return [nodes.image()] if isinstance(self.state, states.SubstitutionDef) else []


class TitledDirective(ContentDirective):
    """Shows a title and a body, as one."""

    def run(self) -> list[nodes.Node]:
        titles = (*self.argument(nodes.title), *self.option("subtitle", nodes.subtitle))
        return [self.named(self.body(nodes.admonition("", *titles)))]


class AdmonitionDirective(ContentDirective):
    """Shows its own name above its body."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        told = _ADMONITION_TITLES.get(self.name.lower())
        title = self.placed(nodes.title("", told or self.name, **({"told": True} if told else {"named": True})))
        return [self.named(self.body(nodes.admonition("", title)))]


class TodoDirective(AdmonitionDirective):
    """Shows its name and body where the configuration says so; it has an id in any case."""

    def run(self) -> list[nodes.Node]:
        shown: Any = super().run()
        self.state.document.set_id(shown[0])
        return shown if self.state.document.settings.extracts.todos else []


class RawHtmlDirective(HiddenDirective):
    """Shows the words of HTML that stands in the page as it is."""

    def run(self) -> list[nodes.Node]:
        from bookbound.sources.html import render_html

        body = "\n".join(self.content)
        wanted = "html" in "".join(self.arguments).lower() and not isinstance(self.state, states.SubstitutionDef)
        words = " ".join(render_html(body).text.split()) if wanted and body.strip() else ""
        if not words:
            return super().run()
        return [self.placed(nodes.paragraph(body, words), self.at(self.content_offset))]


class RubricDirective(ContentDirective):
    """Shows its argument and then its body."""

    def run(self) -> list[nodes.Node]:
        return [*self.argument(nodes.rubric), *self.body(nodes.container()).children]


class CodeDirective(ContentDirective):
    """Shows its body as it is written, below its caption."""

    def run(self) -> list[nodes.Node]:
        return make_code_block(self, "\n".join(self.content))


class CodeTabDirective(ContentDirective):
    """Shows a tab's title, or the language that its code is in, and the code."""

    def run(self) -> list[nodes.Node]:
        language, _, title = " ".join(self.arguments).partition(" ")
        return [self.words(nodes.rubric, title or language), *make_code_block(self, "\n".join(self.content))]


class MathDirective(ContentDirective):
    """Shows formulas: its argument, and its body."""

    def run(self) -> list[nodes.Node]:
        return make_math_blocks(self)


class FigureDirective(ContentDirective):
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


class OnlyDirective(ContentDirective):
    """Shows its body where a built site does."""

    def run(self) -> list[nodes.Node]:
        return self.body(nodes.container()).children if applies_to_html(" ".join(self.arguments)) else []


_OBJECT_KINDS = {
    "py:": "function class method attribute data exception property decorator type staticmethod classmethod",
    "c:": "function type member var macro struct union enum enumerator",
    "cpp:": "function class type member var enum enum-class enumerator struct union concept",
    "js:": "function class method attribute data",
    "rst:": "directive role directive:option",
    "": "function method attribute data exception property decorator staticmethod classmethod option envvar confval"
    " describe object cmdoption",
}
_AUTODOC_KINDS = "function class exception method attribute data property decorator type"
_DIRECTIVE_CLASSES: tuple[tuple[str, type[Directive]], ...] = (
    ("note tip warning attention caution danger error hint important seealso", AdmonitionDirective),
    ("todo", TodoDirective),
    ("admonition dropdown details topic sidebar tab-item tab group-tab collapse toggle", TitledDirective),
    ("card grid-item-card", CardDirective),
    ("button-link button-ref", ButtonDirective),
    ("tab-set-code", CodeTabSetDirective),
    (" ".join(VERSION_DIRECTIVES), VersionDirective),
    ("rubric centered", RubricDirective),
    (
        "code-block code sourcecode prompt testcode testoutput doctest ipython jupyter-execute code-cell console",
        CodeDirective,
    ),
    ("code-tab", CodeTabDirective),
    ("math", MathDirective),
    ("image figure thumbnail", FigureDirective),
    (
        " ".join(domain + name for domain, names in _OBJECT_KINDS.items() for name in names.split()) + " class",
        ObjectDirective,
    ),
    ("only", OnlyDirective),
    ("include", IncludeDirective),
    ("literalinclude", LiteralIncludeDirective),
    ("toctree", ToctreeDirective),
    ("autosummary", AutosummaryDirective),
    ("currentmodule py:currentmodule module py:module automodule js:module", ModuleDirective),
    ("program", ProgramDirective),
    (" ".join(f"auto{name}" for name in _AUTODOC_KINDS.split()), AutodocDirective),
    ("default-domain", DefaultDomainDirective),
    ("glossary", GlossaryDirective),
    ("productionlist", ProductionListDirective),
    (
        "contents redirect-from highlight meta index tags bibliography"
        " sectnum section-numbering header footer title date testsetup testcleanup video youtube vimeo plot graphviz"
        " digraph graph mermaid uml inheritance-diagram tabularcolumns target-notes"
        " sphinx_gallery_thumbnail restructuredtext-test-directive",
        HiddenDirective,
    ),
    ("table", TableDirective),
    ("list-table", ListTableDirective),
    ("csv-table", CsvTableDirective),
    ("container compound", BodyDirective),
    ("raw", RawHtmlDirective),
)
DIRECTIVES: dict[str, Any] = {name: shows for names, shows in _DIRECTIVE_CLASSES for name in names.split()} | {
    "": BodyDirective
}
