"""Parses reStructuredText into a docutils tree, including the markup that Sphinx adds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

from docutils import nodes, utils
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, states
from docutils.parsers.rst import directives as known_directives
from docutils.parsers.rst import roles as known_roles
from docutils.parsers.rst.languages import en
from docutils.statemachine import StringList
from docutils.transforms.references import PropagateTargets

from bookbound.sources.rst.docutils.block_directives import DIRECTIVES
from bookbound.sources.rst.docutils.include_directives import ParseContext, split_safe_lines
from bookbound.sources.rst.roles import SPHINX_ROLES, render_role


class LazyStateMachine(states.NestedStateMachine):
    """Makes its states as it comes to them: most parts of a page need three of seventeen."""

    def add_states(self, state_classes: Iterable[Any]) -> None:
        self.states = _LazyStates(self, state_classes)


class _LazyStates(dict[str, Any]):
    """The states of one machine, by name."""

    def __init__(self, machine: LazyStateMachine, classes: Iterable[Any]) -> None:
        super().__init__()
        self._machine = machine
        self._classes = {each.__name__: each for each in classes}

    def __missing__(self, name: str) -> Any:
        state = self[name] = self._classes[name](self._machine, self._machine.debug)
        if getattr(self._machine, "memo", None) is not None:
            state.runtime_init()
        return state


def _run_role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any) -> Any:
    """An element that shows what the role says; what it refers to is looked up once all pages are known."""
    shown = render_role(name, nodes.unescape(text), inliner.document.settings.extracts.shorthands)
    node = nodes.inline(rawtext, shown.text) if shown.text else nodes.inline(rawtext)
    if shown.refers:
        node["refers"] = shown.refers
    return [node], []


_run_role.options = {"class": str}  # type: ignore[attr-defined]
_ROLES = dict.fromkeys((*SPHINX_ROLES, ""), _run_role)
__all__ = ["DocutilsNode", "ParseContext", "RstTree", "parse_rst"]
DocutilsNode: TypeAlias = Any
"""An element of a tree, or the words in it; what elements have is known by their `tagname` alone."""
_DOCUTILS_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "auto_id_prefix": "id",
    "syntax_highlight": "none",
    "_disable_config": True,
}
_MIN_INLINE_BUDGET = 10_000
_MAX_TARGETS = 1_000
# How many times a page is looked through, at the most, for the ends of its inline markup.
_MAX_INLINE_PASSES = 50
_INLINE_MARKS = re.compile(r"[*`|_]")
_REGISTRY_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class RstTree:
    """A page as docutils understands it, what it takes from other files, and what other pages may want of it."""

    root: DocutilsNode
    extracts: ParseContext
    labels: dict[str, str] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        section = self.root.next_node(nodes.section)
        return " ".join(section[0].astext().split()) if section else ""

    @property
    def orphan(self) -> bool:
        """Whether a field above the page says that it is in no list."""
        fields: DocutilsNode = next((node for node in self.root.children if isinstance(node, nodes.field_list)), None)
        return bool(fields) and any(name.astext() == "orphan" for name in fields.findall(nodes.field_name))

    def substitute(self, name: str) -> DocutilsNode | None:
        """What the page defines to stand for a name between bars."""
        known = self.root.substitution_names.get(nodes.fully_normalize_name(name), name)
        return self.root.substitution_defs.get(known)


def parse_rst(source: str, extracts: ParseContext, prolog: str = "", epilog: str = "") -> RstTree | None:
    """The tree of a page; nothing where docutils cannot make one of it."""
    settings = get_default_settings(Parser())
    for name, value in _DOCUTILS_SETTINGS.items():
        setattr(settings, name, value)
    settings.extracts = extracts
    path = str(extracts.path)
    document = utils.new_document(path, settings)
    lines = StringList([], path)
    for text, name in ((prolog, "<prolog>"), (source, path), (epilog, "<epilog>")):
        written = split_safe_lines(text)
        if written is None:
            return None
        lines.extend(StringList([*written, ""], name))
    try:
        with _use_our_registries():
            machine = states.RSTStateMachine(states.state_classes, "Body")
            machine.run(
                lines, document, inliner=_make_limited_inliner(_MAX_INLINE_PASSES * (len(source) + _MIN_INLINE_BUDGET))
            )
            node: DocutilsNode
            for node in list(document.findall(_needs_caption_id)):
                document.set_id(node)
            # Each target hands on those of all before it.
            if sum(1 for _ in document.findall(nodes.target)) <= _MAX_TARGETS:
                PropagateTargets(document).apply()
    except Exception:  # nested too deeply, or one of the many ways in which markup surprises the parser
        return None
    _put_written_ids_first(document)
    return RstTree(document, extracts, dict(_collect_labels(document)), _collect_targets(document) | extracts.formulas)


@contextmanager
def _use_our_registries() -> Iterator[None]:
    """Our directives, roles and machine in the place of docutils' own, which are the same for all who parse."""
    with _REGISTRY_LOCK, ExitStack() as changes:
        for holder, name, ours in (
            (known_directives, "_directives", _RegistryWithDefault(DIRECTIVES)),
            (known_roles, "_roles", _RegistryWithDefault(_ROLES)),
            (states.RSTState, "nested_sm", LazyStateMachine),
            (states.RSTState, "nested_sm_cache", []),
        ):
            changes.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, ours)
        yield


class _RegistryWithDefault(dict[str, Any]):
    """A table that knows every name: those that neither it nor docutils has are treated as the unnamed one."""

    def __init__(self, table: dict[str, Any]) -> None:
        super().__init__({name: entry for name, entry in table.items() if name})
        self._unknown = table[""]
        self._docutils = {*en.directives, *en.roles, ""}

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name not in self._docutils

    def __missing__(self, name: str) -> Any:
        return self._unknown


def _make_limited_inliner(effort: int) -> states.Inliner:
    """Finds inline markup until so many marks were looked after that the page would take too long."""
    inliner = states.Inliner()
    finds = inliner.parse

    def parse(text: str, lineno: int, memo: Any, parent: Any) -> Any:
        nonlocal effort
        effort -= len(text) * len(_INLINE_MARKS.findall(text))
        return finds(text, lineno, memo, parent) if effort > 0 else ([nodes.Text(text)], [])

    inliner.parse = parse  # type: ignore[method-assign]
    return inliner


def _put_written_ids_first(document: DocutilsNode) -> None:
    """Sphinx puts a heading's own id behind those that its author wrote where it begins as the counted ones do."""
    for section in document.findall(nodes.section):
        if len(section["ids"]) > 1 and section["ids"][0].startswith("id"):
            section["ids"].append(section["ids"].pop(0))


def _needs_caption_id(node: DocutilsNode) -> bool:
    """Whether this is something with a caption of its own, and no id yet."""
    named = {"figure": nodes.caption, "table": nodes.title, "container": nodes.caption}.get(node.tagname)
    return bool(named and not node["ids"] and any(isinstance(child, named) for child in node.children))


def _collect_targets(document: DocutilsNode) -> dict[str, str]:
    """The ids that explicit names lead to."""
    return {name: found for name, found in document.nameids.items() if found and document.nametypes.get(name)}


def _collect_labels(document: DocutilsNode) -> Iterator[tuple[str, str]]:
    """The names that other pages can refer to, each with the title that is shown for it."""
    for name, explicit in document.nametypes.items():
        node = document.ids.get(document.nameids.get(name)) if explicit else None
        titled = (child for child in node.children if isinstance(child, nodes.title | nodes.caption)) if node else ()
        title: DocutilsNode = node if isinstance(node, nodes.rubric) else next(iter(titled), None)
        if title:
            yield name, " ".join(title.astext().split())
