"""What the directives of Sphinx, and of the extensions that books use, show."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, states
from docutils.parsers.rst.directives.tables import CSVTable, ListTable, RSTTable

from bookbound.read.docutils.includes import Include, LiteralInclude, MadePages, Module, Pages
from bookbound.read.docutils.shown import Options, Shown, code, formula

_VERSIONS = {
    "versionadded": "Added in version",
    "version-added": "Added in version",
    "versionchanged": "Changed in version",
    "version-changed": "Changed in version",
    "deprecated": "Deprecated since version",
    "version-deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
    "version-removed": "Removed in version",
}
_BUILT = frozenset(("html", "builder_html", "format_html"))


class Body(Shown):
    """Shows its body."""

    def run(self) -> list[nodes.Node]:
        return self.body(nodes.container()).children


class Unseen(Shown):
    """Shows nothing."""

    def run(self) -> list[nodes.Node]:
        return []


class Titled(Shown):
    """Shows a title and a body, as one."""

    def run(self) -> list[nodes.Node]:
        return [self.body(nodes.admonition("", *self.argument(nodes.title)))]


class Named(Shown):
    """Shows its own name above its body."""

    optional_arguments = 0

    def run(self) -> list[nodes.Node]:
        return [self.body(nodes.admonition("", self.placed(nodes.title("", self.name, named=True))))]


class Version(Shown):
    """Shows since when something is so, and what there is to say of it."""

    def run(self) -> list[nodes.Node]:
        version, _, words = " ".join(self.arguments).partition(" ")
        shown = f"{_VERSIONS[self.name.lower()]} {version}{':' * bool(words or self.content)}"
        node = nodes.admonition("", self.placed(nodes.title("", shown, told=True)))
        if words:
            node += self.words(nodes.paragraph, self.arguments[0].split(None, 1)[1])
        return [self.body(node)]


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
        first = next((child for child in node.children[len(alt) :]), None)
        if isinstance(first, nodes.paragraph):
            node.replace(first, self.placed(nodes.caption(first.rawsource, "", *first.children), first.line))
        return [node]


class Thing(Shown):
    """Shows how a thing of a program is called, and what is said of it."""

    def run(self) -> list[nodes.Node]:
        named = "\n".join(self.arguments)
        styles = self.name.lower() == "class" and not (named[:1].isupper() or "(" in named)
        signature = [] if styles or not named else [self.placed(nodes.literal_block(named, named))]
        return [self.body(nodes.container("", *signature))]


class Commas(CSVTable):
    """Shows a table that is written with commas, whose cells do not know their lines."""

    option_spec = Options(CSVTable.option_spec or {})

    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        made = super().run()
        for table in made:
            for words in table.findall(nodes.TextElement):
                words.line = words.line if isinstance(words, nodes.title) else None
        return made


class Only(Shown):
    """Shows its body where a built site does."""

    def run(self) -> list[nodes.Node]:
        return self.body(nodes.container()).children if _holds(" ".join(self.arguments)) else []


def _holds(expression: str) -> bool:
    """Whether an expression of tags is true of a built site; one that cannot be read is."""
    try:
        return _true(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _true(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp(ast.And(), values):
            return all(map(_true, values))
        case ast.BoolOp(ast.Or(), values):
            return any(map(_true, values))
        case ast.UnaryOp(ast.Not(), operand):
            return not _true(operand)
        case ast.Name(name):
            return name in _BUILT
    raise ValueError


def _lenient(directive: type[Directive]) -> type[Directive]:
    """A directive of docutils that takes any option."""
    return type(directive.__name__, (directive,), {"option_spec": Options(directive.option_spec or {})})


_DOMAINS = {
    "py:": "function class method attribute data exception property decorator type staticmethod classmethod",
    "c:": "function type member var macro struct union enum enumerator",
    "cpp:": "function class type member var enum enum-class enumerator struct union concept",
    "js:": "function class method attribute data module",
    "rst:": "directive role directive:option",
    "": "function method attribute data exception property decorator staticmethod classmethod option envvar confval"
    " describe object cmdoption",
}
_TABLE: tuple[tuple[str, type[Directive]], ...] = (
    ("note tip warning attention caution danger error hint important seealso todo", Named),
    ("admonition dropdown details topic sidebar card tab-item tab group-tab grid-item-card collapse toggle", Titled),
    (" ".join(_VERSIONS), Version),
    ("rubric centered", Label),
    ("code-block code sourcecode prompt testcode testoutput doctest ipython jupyter-execute code-cell console", Code),
    ("code-tab", CodeTab),
    ("math", Formula),
    ("image figure thumbnail", Picture),
    (" ".join(domain + name for domain, names in _DOMAINS.items() for name in names.split()) + " class", Thing),
    ("only", Only),
    ("include", Include),
    ("literalinclude", LiteralInclude),
    ("toctree", Pages),
    ("autosummary", MadePages),
    ("currentmodule py:currentmodule module py:module automodule", Module),
    (
        "contents redirect-from highlight raw meta index tags bibliography"
        " sectnum section-numbering header footer title date testsetup testcleanup video youtube vimeo plot graphviz"
        " digraph graph mermaid uml inheritance-diagram default-domain tabularcolumns target-notes"
        " sphinx_gallery_thumbnail restructuredtext-test-directive program",
        Unseen,
    ),
    ("table", _lenient(RSTTable)),
    ("list-table", _lenient(ListTable)),
    ("csv-table", Commas),
    ("container compound", Body),
)
DIRECTIVES: dict[str, Any] = {name: shows for names, shows in _TABLE for name in names.split()} | {"": Body}
