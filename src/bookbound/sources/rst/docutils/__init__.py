"""Parses reStructuredText into a docutils tree, including the markup that Sphinx adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

from docutils import nodes, utils
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, states
from docutils.parsers.rst import directives as docutils_directives
from docutils.parsers.rst import roles as docutils_roles
from docutils.parsers.rst.languages import en
from docutils.statemachine import StringList
from docutils.transforms.references import PropagateTargets

from bookbound.sources.rst.docutils.content_directive import ParseContext, split_safe_lines
from bookbound.sources.rst.docutils.directive_table import DIRECTIVES
from bookbound.sources.rst.shared_markup import CODE_ROLES, SPHINX_ROLES, find_role_target, render_role

DocutilsNode: TypeAlias = Any
"""An element of a tree or a text in it; only its `tagname` tells which attributes it has."""
_DOCUTILS_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    # Above all levels, so that docutils reports nothing and never stops.
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "auto_id_prefix": "id",
    "syntax_highlight": "none",
    "_disable_config": True,
}
_MIN_INLINE_BUDGET = 10_000
# How often docutils may search a whole page for the ends of inline markup.
_MAX_INLINE_PASSES = 50
_MAX_TARGETS = 1_000
_INLINE_MARKS = re.compile(r"[*`|_]")
# The tables of docutils belong to its module, so two threads cannot parse at once.
_REGISTRY_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class RstTree:
    """A parsed page."""

    root: DocutilsNode
    context: ParseContext

    @property
    def title(self) -> str:
        section = self.root.next_node(nodes.section)
        return " ".join(section[0].astext().split()) if section else ""

    @property
    def is_orphan(self) -> bool:
        fields: DocutilsNode = next((node for node in self.root.children if isinstance(node, nodes.field_list)), None)
        return bool(fields) and any(name.astext() == "orphan" for name in fields.findall(nodes.field_name))

    @property
    def targets(self) -> dict[str, str]:
        """The ids of explicit targets by name."""
        ids, types = self.root.nameids, self.root.nametypes
        return {name: ids[name] for name in ids if ids[name] and types.get(name)} | self.context.formulas

    @property
    def labels(self) -> dict[str, str]:
        """The titles that references to explicit targets show."""
        titles = {name: _find_title(self.root.ids.get(anchor)) for name, anchor in self.targets.items()}
        return {name: " ".join(title.astext().split()) for name, title in titles.items() if title}

    @property
    def links(self) -> dict[str, str]:
        """The targets that references name: URLs, and places of this page."""
        places = {name: f"#{anchor}" for name, anchor in self.root.nameids.items() if anchor}
        targets = [node for node in self.root.findall(nodes.target) if node.get("refuri")]
        return places | {name: node["refuri"] for node in targets for name in node["names"]}

    def find_substitution(self, name: str) -> DocutilsNode | None:
        known = self.root.substitution_names.get(nodes.fully_normalize_name(name), name)
        return self.root.substitution_defs.get(known)


def parse_rst(source: str, context: ParseContext) -> RstTree | None:
    """Parse a page; return None if docutils fails or would take too long."""
    settings = get_default_settings(Parser())
    vars(settings).update(_DOCUTILS_SETTINGS, parse_context=context)
    path, markup = str(context.path), context.project.markup
    document = utils.new_document(path, settings)
    lines = StringList([], path)
    for text, name in ((markup.prolog, "<prolog>"), (source, path), (markup.epilog, "<epilog>")):
        safe_lines = split_safe_lines(text)
        if safe_lines is None:
            return None
        lines.extend(StringList([*safe_lines, ""], name))
    inliner = _make_limited_inliner(_MAX_INLINE_PASSES * (len(source) + _MIN_INLINE_BUDGET))
    try:
        with _use_our_registries():
            states.RSTStateMachine(states.state_classes, "Body").run(lines, document, inliner=inliner)
            node: DocutilsNode
            for node in list(document.findall(nodes.Element)):
                can_have_caption = node.tagname in ("figure", "table", "container") and not node["ids"]
                if can_have_caption and _find_title(node) is not None:
                    document.set_id(node)
            # Each target passes on the ids of all targets before it, which is quadratic.
            if sum(1 for _ in document.findall(nodes.target)) <= _MAX_TARGETS:
                PropagateTargets(document).apply()
    except Exception:  # nested too deeply, or one of the many ways in which markup surprises the parser
        return None
    # As in Sphinx, a heading's own id comes after explicit ones if it begins with `id`.
    for section in document.findall(nodes.section):
        if len(section["ids"]) > 1 and section["ids"][0].startswith("id"):
            section["ids"].append(section["ids"].pop(0))
    return RstTree(document, context)


@contextmanager
def _use_our_registries() -> Iterator[None]:
    """Replace the global tables of docutils with ours for as long as one page is parsed."""
    with _REGISTRY_LOCK, ExitStack() as restore:
        for owner, name, ours in (
            (docutils_directives, "_directives", _RegistryWithDefault(DIRECTIVES)),
            (docutils_roles, "_roles", _RegistryWithDefault(dict.fromkeys((*SPHINX_ROLES, ""), _run_role))),
            (states.RSTState, "nested_sm", _LazyStateMachine),
            (states.RSTState, "nested_sm_cache", []),
        ):
            restore.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, ours)
        yield


class _RegistryWithDefault(dict[str, Any]):
    """A table with every name: those unknown to it and to docutils have the entry of the empty name."""

    def __init__(self, table: dict[str, Any]) -> None:
        super().__init__({name: entry for name, entry in table.items() if name})
        self._default = table[""]
        self._docutils = {*en.directives, *en.roles, ""}

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name not in self._docutils

    def __missing__(self, name: str) -> Any:
        return self._default


def _run_role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any) -> Any:
    """Make an element with the text of a role; its reference is resolved once all pages are known."""
    markup = inliner.document.settings.parse_context.project.markup
    shown = render_role(name, nodes.unescape(text), markup.link_captions)
    node = nodes.inline(rawtext, shown.text) if shown.text else nodes.inline(rawtext)
    if shown.reference:
        node["reference"] = shown.reference
    node["target"], node["is_code"] = find_role_target(name, nodes.unescape(text)), name in CODE_ROLES
    return [node], []


_run_role.options = {"class": str}  # type: ignore[attr-defined]


class _LazyStateMachine(states.NestedStateMachine):
    """Creates its states on demand: most parts of a page need three of seventeen."""

    def add_states(self, state_classes: Iterable[Any]) -> None:
        self.states = _LazyStates(self, state_classes)


class _LazyStates(dict[str, Any]):
    """The states of one machine by name."""

    def __init__(self, machine: _LazyStateMachine, classes: Iterable[Any]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {each.__name__: each for each in classes}

    def __missing__(self, name: str) -> Any:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if getattr(self._machine, "memo", None) is not None:
            state.runtime_init()
        return state


def _make_limited_inliner(budget: int) -> states.Inliner:
    """Make an inliner that stops looking for markup when a page would take too long."""
    inliner = states.Inliner()  # docutils reads patterns from its very class, so a subclass does not work
    parse = inliner.parse

    def parse_within_budget(text: str, lineno: int, memo: Any, parent: Any) -> Any:
        nonlocal budget
        budget -= len(text) * len(_INLINE_MARKS.findall(text))
        return parse(text, lineno, memo, parent) if budget > 0 else ([nodes.Text(text)], [])

    inliner.parse = parse_within_budget  # type: ignore[method-assign]
    return inliner


def _find_title(node: DocutilsNode | None) -> DocutilsNode | None:
    if node is None or isinstance(node, nodes.rubric):
        return node
    return next((child for child in node.children if isinstance(child, nodes.title | nodes.caption)), None)
