"""What the things of a program are called on a page that describes them, and which anchors they get."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bookbound.read.headings import in_ascii

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9._]+")
_PYTHON = re.compile(r"(?P<prefix>[\w.]*\.)?(?P<name>\w+)\s*(?P<rest>[\[(].*)?", re.DOTALL)
_LAST_NAME = re.compile(r"(?<![\w.])[A-Za-z_@][\w.]*+(?=[^\w.]*\Z)")
_NESTED = re.compile(r"(?:\w+::)*\w+")
_OPTION = re.compile(r"(?:/|--|-|\+)?[^\s=\[]+")
_DIRECTIVE = re.compile(r"\.\.\s*(?P<name>.+?)::")
_HELD = frozenset("py:class py:exception js:class c:struct c:union c:enum rst:directive".split())
_CALLED = frozenset("py:function py:method py:staticmethod py:classmethod".split())
_BEFORE = {
    "py:class": "class ",
    "py:exception": "exception ",
    "py:property": "property ",
    "py:type": "type ",
    "py:decorator": "@",
    "py:staticmethod": "static ",
    "py:classmethod": "classmethod ",
    "js:class": "class ",
    "c:struct": "struct ",
    "c:union": "union ",
    "c:enum": "enum ",
    "c:enumerator": "enumerator ",
    "c:type": "type ",
    "cpp:class": "class ",
    "cpp:struct": "struct ",
    "cpp:union": "union ",
    "cpp:enum": "enum ",
    "cpp:enum-class": "enum class ",
    "cpp:enum-struct": "enum struct ",
    "cpp:enumerator": "enumerator ",
    "cpp:type": "type ",
    "cpp:concept": "concept ",
}
_MARKED = {
    "final": "final ",
    "abstract": "abstract ",
    "abstractmethod": "abstract ",
    "async": "async ",
    "classmethod": "classmethod ",
    "staticmethod": "static ",
}
_AFTER = (("type", ": "), ("value", " = "), ("canonical", " = "))


class Thing(NamedTuple):
    """How a thing is shown around what is written of it, its anchors, and its name for those that it holds."""

    before: str = ""
    after: str = ""
    ids: tuple[str, ...] = ()
    name: str = ""


@dataclass(slots=True)
class Scope:
    """Where on a page the next thing is described: in which modules and program, and within which other things."""

    domain: str = "py"
    modules: dict[str, str] = field(default_factory=dict)
    program: str = ""
    held: list[tuple[str, str]] = field(default_factory=list)

    def within(self, domain: str) -> str:
        """The name of the innermost thing of a domain that holds the next one."""
        return next((name for one, name in reversed(self.held) if one == domain), "")


def identified(text: str) -> str:
    """An anchor made of a name: letters, digits, dots and underscores, all else a hyphen."""
    return _NOT_IN_A_NAME.sub("-", " ".join(in_ascii(text).split())).lstrip("-0123456789._").rstrip("-")


def kind_of(directive: str, scope: Scope) -> str:
    """The full name of a directive that describes a thing, with its domain."""
    if ":" in directive or directive in _STANDARD:
        return directive
    return f"{scope.domain}:{directive}"


def holds(kind: str) -> bool:
    """Whether things that are described within one of this kind belong to it."""
    return kind in _HELD or kind.startswith("cpp:")


def thing(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    """The thing that a directive of a kind describes by the words written after its name."""
    domain = kind.partition(":")[0]
    found = _DOMAINS.get(kind, _DOMAINS.get(domain, _unnamed))(kind, written.strip(), options, scope)
    unlisted = any(name in options for name in ("no-index", "noindex"))
    return found._replace(ids=() if unlisted else tuple(filter(None, found.ids)))


def _python(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    found = _PYTHON.match(written)
    if not found:
        return Thing()
    prefix, name = found["prefix"] or "", found["name"]
    module, holder = str(options.get("module") or scope.modules.get("py", "")), scope.within("py")
    inside = not holder or prefix == f"{holder}." or prefix.startswith(f"{holder}.")
    full = f"{prefix}{name}" if inside else f"{holder}.{prefix}{name}"
    marks = "".join(words for option, words in _MARKED.items() if option in options)
    shown = f"{module}." * bool(module and not holder and not prefix)
    after = "()" * (kind in _CALLED and "(" not in written)
    after += "".join(f"{mark}{options[option]}" for option, mark in _AFTER if options.get(option))
    before = f"{marks}{_BEFORE.get(kind, '')}{shown}"
    return Thing(before, after, (identified(f"{module}." * bool(module) + full),), full)


def _javascript(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    module, holder = scope.modules.get("js", ""), scope.within("js")
    name = written.partition("(")[0].strip()
    full = f"{holder}.{name}" if holder else name
    shown = holder or ("" if "." in name else module)
    before = f"{_BEFORE.get(kind, '')}{shown}{'.' * bool(shown)}"
    return Thing(before, "", (identified(f"{module}." * bool(module) + full),), full)


def _c(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    declared = re.split(r"[=\[:]|\((?!\s*\*)", written, maxsplit=1)[0]
    found = _LAST_NAME.search(declared.rstrip(") \t"))
    holder = scope.within("c")
    full = f"{holder}." * bool(holder) + (found[0] if found else "")
    return Thing(_BEFORE.get(kind, ""), "", (f"c.{full}" if found else "",), full)


def _cpp(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    """The anchor of a function is made of the types it takes, and is left out."""
    plain = re.split(r"[=:](?!:)(?<!::)|\[|\(", written, maxsplit=1)[0]
    found = _NESTED.fullmatch((plain.split() or [""])[-1])
    holder = scope.within("cpp")
    full = f"{holder}::" * bool(holder) + (found[0] if found else "")
    names = "".join(f"{len(name)}{name}" for name in full.split("::"))
    known = found and kind != "cpp:function" and "<" not in written
    mangled = f"N{names}E" if "::" in full else names
    return Thing(_BEFORE.get(kind, ""), "", (f"_CPPv4{mangled}" if known else "",), full)


def _rst_directive(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    found = _DIRECTIVE.match(written)
    name = found["name"] if found else written
    marks = ("", "") if found else (".. ", "::")
    return Thing(*marks, ids=(identified(f"directive-{name}"),), name=name)


def _rst_option(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    name = written.partition(":")[0]
    after = f" ({options['type']})" if options.get("type") else ""
    return Thing(":", f":{after}", (identified(f"directive-option-{scope.within('rst')}-{name}"),), name)


def _rst_role(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    return Thing(":", ":", (identified(f"role-{written}"),))


def _option(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    names = [found[0] for part in written.split(", ") if (found := _OPTION.match(part.strip()))]
    program = f"{scope.program}-" * bool(scope.program)
    return Thing(ids=tuple(identified(f"cmdoption-{program}{'arg-' * (one[0] not in '-/')}{one}") for one in names))


def _standard(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    return Thing(ids=(identified(f"{kind}-{written}"),))


def _unnamed(kind: str, written: str, options: Mapping[str, Any], scope: Scope) -> Thing:
    return Thing()


_STANDARD = frozenset("option cmdoption envvar confval describe object".split())
_DOMAINS: dict[str, Callable[[str, str, Mapping[str, Any], Scope], Thing]] = {
    "py": _python,
    "js": _javascript,
    "c": _c,
    "cpp": _cpp,
    "rst:directive": _rst_directive,
    "rst:directive:option": _rst_option,
    "rst:role": _rst_role,
    "option": _option,
    "cmdoption": _option,
    "envvar": _standard,
    "confval": _standard,
}
