"""Computes the signatures and anchors of the functions, classes and options that a page documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bookbound.sources.slugs import transliterate_to_ascii

_NOT_IN_OBJECT_ID = re.compile(r"[^a-zA-Z0-9._]+")
_PYTHON_SIGNATURE = re.compile(r"(?P<prefix>[\w.]*\.)?(?P<name>\w+)\s*(?P<rest>[\[(].*)?", re.DOTALL)
_LAST_NAME = re.compile(r"(?<![\w.])[A-Za-z_@][\w.]*+(?=[^\w.]*\Z)")
_CPP_NAME = re.compile(r"(?:\w+::)*\w+")
_COMMAND_OPTION = re.compile(r"(?:/|--|-|\+)?[^\s=\[]+")
_RST_DIRECTIVE = re.compile(r"\.\.\s*(?P<name>.+?)::")
_CONTAINER_KINDS = frozenset("py:class py:exception js:class c:struct c:union c:enum rst:directive".split())
_CALLABLE_KINDS = frozenset("py:function py:method py:staticmethod py:classmethod".split())
_KIND_PREFIXES = {
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
_OPTION_PREFIXES = {
    "final": "final ",
    "abstract": "abstract ",
    "abstractmethod": "abstract ",
    "async": "async ",
    "classmethod": "classmethod ",
    "staticmethod": "static ",
}
_OPTION_SUFFIXES = (("type", ": "), ("value", " = "), ("canonical", " = "))


class ObjectDescription(NamedTuple):
    """How a thing is shown around what is written of it, its anchors, and its name for those that it holds."""

    before: str = ""
    after: str = ""
    ids: tuple[str, ...] = ()
    name: str = ""


@dataclass(slots=True)
class ObjectScope:
    """Where on a page the next thing is described: in which modules and program, and within which other things."""

    domain: str = "py"
    modules: dict[str, str] = field(default_factory=dict)
    program: str = ""
    held: list[tuple[str, str]] = field(default_factory=list)

    def within(self, domain: str) -> str:
        """The name of the innermost thing of a domain that holds the next one."""
        return next((name for one, name in reversed(self.held) if one == domain), "")


def make_object_id(text: str) -> str:
    """An anchor made of a name: letters, digits, dots and underscores, all else a hyphen."""
    return (
        _NOT_IN_OBJECT_ID.sub("-", " ".join(transliterate_to_ascii(text).split())).lstrip("-0123456789._").rstrip("-")
    )


def qualify_object_kind(directive: str, scope: ObjectScope) -> str:
    """The full name of a directive that describes a thing, with its domain."""
    if ":" in directive or directive in _STANDARD_KINDS:
        return directive
    return f"{scope.domain}:{directive}"


def contains_members(kind: str) -> bool:
    """Whether things that are described within one of this kind belong to it."""
    return kind in _CONTAINER_KINDS or kind.startswith("cpp:")


def describe_object(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    """The thing that a directive of a kind describes by the words written after its name."""
    domain = kind.partition(":")[0]
    found = _DESCRIBERS.get(kind, _DESCRIBERS.get(domain, _describe_unknown))(kind, written.strip(), options, scope)
    unlisted = any(name in options for name in ("no-index", "noindex"))
    return found._replace(ids=() if unlisted else tuple(filter(None, found.ids)))


def _describe_python(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    found = _PYTHON_SIGNATURE.match(written)
    if not found:
        return ObjectDescription()
    prefix, name = found["prefix"] or "", found["name"]
    module, holder = str(options.get("module") or scope.modules.get("py", "")), scope.within("py")
    inside = not holder or prefix == f"{holder}." or prefix.startswith(f"{holder}.")
    full = f"{prefix}{name}" if inside else f"{holder}.{prefix}{name}"
    marks = "".join(words for option, words in _OPTION_PREFIXES.items() if option in options)
    shown = f"{module}." * bool(module and not holder and not prefix)
    after = "()" * (kind in _CALLABLE_KINDS and "(" not in written)
    after += "".join(f"{mark}{options[option]}" for option, mark in _OPTION_SUFFIXES if options.get(option))
    before = f"{marks}{_KIND_PREFIXES.get(kind, '')}{shown}"
    return ObjectDescription(before, after, (make_object_id(f"{module}." * bool(module) + full),), full)


def _describe_javascript(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    module, holder = scope.modules.get("js", ""), scope.within("js")
    name = written.partition("(")[0].strip()
    full = f"{holder}.{name}" if holder else name
    shown = holder or ("" if "." in name else module)
    before = f"{_KIND_PREFIXES.get(kind, '')}{shown}{'.' * bool(shown)}"
    return ObjectDescription(before, "", (make_object_id(f"{module}." * bool(module) + full),), full)


def _describe_c(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    declared = re.split(r"[=\[:]|\((?!\s*\*)", written, maxsplit=1)[0]
    found = _LAST_NAME.search(declared.rstrip(") \t"))
    holder = scope.within("c")
    full = f"{holder}." * bool(holder) + (found[0] if found else "")
    return ObjectDescription(_KIND_PREFIXES.get(kind, ""), "", (f"c.{full}" if found else "",), full)


def _describe_cpp(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    """The anchor of a function is made of the types it takes, and is left out."""
    plain = re.split(r"[=:](?!:)(?<!::)|\[|\(", written, maxsplit=1)[0]
    found = _CPP_NAME.fullmatch((plain.split() or [""])[-1])
    holder = scope.within("cpp")
    full = f"{holder}::" * bool(holder) + (found[0] if found else "")
    names = "".join(f"{len(name)}{name}" for name in full.split("::"))
    known = found and kind != "cpp:function" and "<" not in written
    mangled = f"N{names}E" if "::" in full else names
    return ObjectDescription(_KIND_PREFIXES.get(kind, ""), "", (f"_CPPv4{mangled}" if known else "",), full)


def _describe_rst_directive(
    kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope
) -> ObjectDescription:
    found = _RST_DIRECTIVE.match(written)
    name = found["name"] if found else written
    marks = ("", "") if found else (".. ", "::")
    return ObjectDescription(*marks, ids=(make_object_id(f"directive-{name}"),), name=name)


def _describe_rst_option(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    name = written.partition(":")[0]
    after = f" ({options['type']})" if options.get("type") else ""
    return ObjectDescription(
        ":", f":{after}", (make_object_id(f"directive-option-{scope.within('rst')}-{name}"),), name
    )


def _describe_rst_role(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    return ObjectDescription(":", ":", (make_object_id(f"role-{written}"),))


def _describe_command_option(
    kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope
) -> ObjectDescription:
    names = [found[0] for part in written.split(", ") if (found := _COMMAND_OPTION.match(part.strip()))]
    program = f"{scope.program}-" * bool(scope.program)
    return ObjectDescription(
        ids=tuple(make_object_id(f"cmdoption-{program}{'arg-' * (one[0] not in '-/')}{one}") for one in names)
    )


def _describe_standard_object(
    kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope
) -> ObjectDescription:
    return ObjectDescription(ids=(make_object_id(f"{kind}-{written}"),))


def _describe_unknown(kind: str, written: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    return ObjectDescription()


_STANDARD_KINDS = frozenset("option cmdoption envvar confval describe object".split())
_DESCRIBERS: dict[str, Callable[[str, str, Mapping[str, Any], ObjectScope], ObjectDescription]] = {
    "py": _describe_python,
    "js": _describe_javascript,
    "c": _describe_c,
    "cpp": _describe_cpp,
    "rst:directive": _describe_rst_directive,
    "rst:directive:option": _describe_rst_option,
    "rst:role": _describe_rst_role,
    "option": _describe_command_option,
    "cmdoption": _describe_command_option,
    "envvar": _describe_standard_object,
    "confval": _describe_standard_object,
}
