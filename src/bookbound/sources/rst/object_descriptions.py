"""Computes the signatures and anchors of the functions, classes and options that a page documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bookbound.sources.slugs import transliterate_to_ascii

_NOT_IN_OBJECT_ID = re.compile(r"[^a-zA-Z0-9._]+")
_PYTHON_SIGNATURE = re.compile(r"(?P<prefix>[\w.]*\.)?(?P<name>\w+)")
_LAST_NAME = re.compile(r"(?<![\w.])[A-Za-z_@][\w.]*+(?=[^\w.]*\Z)")
_CPP_NAME = re.compile(r"(?:\w+::)*\w+")
_COMMAND_OPTION = re.compile(r"(?:/|--|-|\+)?[^\s=\[]+")
_RST_DIRECTIVE = re.compile(r"\.\.\s*(?P<name>.+?)::")
_CONTAINER_KINDS = frozenset("py:class py:exception js:class c:struct c:union c:enum rst:directive".split())
_CALLABLE_KINDS = frozenset("py:function py:method py:staticmethod py:classmethod".split())
_STANDARD_KINDS = frozenset("option cmdoption envvar confval describe object".split())
_SHOWN_KINDS = "class exception property type classmethod struct union enum enum-class enum-struct enumerator concept"
_KIND_PREFIXES = {kind: f"{kind.replace('-', ' ')} " for kind in _SHOWN_KINDS.split()}
_KIND_PREFIXES |= {"decorator": "@", "staticmethod": "static "}
_SHOWN_OPTIONS = "final abstract abstractmethod async classmethod staticmethod"
_OPTION_PREFIXES = {name: f"{name.removesuffix('method')} " for name in _SHOWN_OPTIONS.split()}
_OPTION_PREFIXES["classmethod"] = "classmethod "
_OPTION_SUFFIXES = (("type", ": "), ("value", " = "), ("canonical", " = "))


class ObjectDescription(NamedTuple):
    """What Sphinx shows around a signature, the anchors of the object, and its full name."""

    before: str = ""
    after: str = ""
    ids: tuple[str, ...] = ()
    name: str = ""


@dataclass(slots=True)
class ObjectScope:
    """The modules, the program and the enclosing objects (domain and name) of the next object on a page."""

    domain: str = "py"
    modules: dict[str, str] = field(default_factory=dict)
    program: str = ""
    parents: list[tuple[str, str]] = field(default_factory=list)

    def parent(self, domain: str) -> str:
        return next((name for other, name in reversed(self.parents) if other == domain), "")


class _Signature(NamedTuple):
    """What a directive says about an object."""

    kind: str
    text: str
    options: Mapping[str, Any]
    scope: ObjectScope

    @property
    def prefix(self) -> str:
        return _KIND_PREFIXES.get(self.kind.partition(":")[2], "")


def make_object_id(text: str) -> str:
    """Make an anchor as Sphinx does: letters, digits, dots and underscores; a hyphen for everything else."""
    words = " ".join(transliterate_to_ascii(text).split())
    return _NOT_IN_OBJECT_ID.sub("-", words).lstrip("-0123456789._").rstrip("-")


def qualify_object_kind(directive: str, scope: ObjectScope) -> str:
    """Add the current domain to the name of a directive that needs one."""
    return directive if ":" in directive or directive in _STANDARD_KINDS else f"{scope.domain}:{directive}"


def contains_members(kind: str) -> bool:
    """Whether objects inside an object of this kind belong to it."""
    return kind in _CONTAINER_KINDS or kind.startswith("cpp:")


def describe_object(kind: str, text: str, options: Mapping[str, Any], scope: ObjectScope) -> ObjectDescription:
    """Describe the object that a directive documents with the signature `text`."""
    describe = _DESCRIBERS.get(kind) or _DESCRIBERS.get(kind.partition(":")[0])
    description = describe(_Signature(kind, text.strip(), options, scope)) if describe else ObjectDescription()
    is_listed = "no-index" not in options and "noindex" not in options
    return description._replace(ids=tuple(filter(None, description.ids)) if is_listed else ())


def _describe_python(signature: _Signature) -> ObjectDescription:
    options, scope = signature.options, signature.scope
    match = _PYTHON_SIGNATURE.match(signature.text)
    if not match:
        return ObjectDescription()
    prefix, name = match["prefix"] or "", match["name"]
    module, parent = str(options.get("module") or scope.modules.get("py", "")), scope.parent("py")
    module = f"{module}." * bool(module)
    full = f"{prefix}{name}" if not parent or prefix.startswith(f"{parent}.") else f"{parent}.{prefix}{name}"
    before = "".join(words for option, words in _OPTION_PREFIXES.items() if option in options) + signature.prefix
    before += module * (not parent and not prefix)
    after = "()" * (signature.kind in _CALLABLE_KINDS and "(" not in signature.text)
    after += "".join(f"{mark}{options[option]}" for option, mark in _OPTION_SUFFIXES if options.get(option))
    return ObjectDescription(before, after, (make_object_id(module + full),), full)


def _describe_javascript(signature: _Signature) -> ObjectDescription:
    module, parent = signature.scope.modules.get("js", ""), signature.scope.parent("js")
    name = signature.text.partition("(")[0].strip()
    full = f"{parent}.{name}" if parent else name
    shown = parent or ("" if "." in name else module)
    before = f"{signature.prefix}{shown}{'.' * bool(shown)}"
    return ObjectDescription(before, "", (make_object_id(f"{module}." * bool(module) + full),), full)


def _describe_c(signature: _Signature) -> ObjectDescription:
    declaration = re.split(r"[=\[:]|\((?!\s*\*)", signature.text, maxsplit=1)[0]
    match = _LAST_NAME.search(declaration.rstrip(") \t"))
    parent = signature.scope.parent("c")
    full = f"{parent}." * bool(parent) + (match[0] if match else "")
    return ObjectDescription(signature.prefix, "", (f"c.{full}" if match else "",), full)


def _describe_cpp(signature: _Signature) -> ObjectDescription:
    """Leave out the anchor of a function, which depends on its parameter types."""
    declaration = re.split(r"[=:](?!:)(?<!::)|\[|\(", signature.text, maxsplit=1)[0]
    match = _CPP_NAME.fullmatch((declaration.split() or [""])[-1])
    parent = signature.scope.parent("cpp")
    full = f"{parent}::" * bool(parent) + (match[0] if match else "")
    names = "".join(f"{len(name)}{name}" for name in full.split("::"))
    anchor = f"_CPPv4N{names}E" if "::" in full else f"_CPPv4{names}"
    has_anchor = match and signature.kind != "cpp:function" and "<" not in signature.text
    return ObjectDescription(signature.prefix, "", (anchor if has_anchor else "",), full)


def _describe_rst_directive(signature: _Signature) -> ObjectDescription:
    match = _RST_DIRECTIVE.match(signature.text)
    name = match["name"] if match else signature.text
    before, after = ("", "") if match else (".. ", "::")
    return ObjectDescription(before, after, (make_object_id(f"directive-{name}"),), name)


def _describe_rst_option(signature: _Signature) -> ObjectDescription:
    name = signature.text.partition(":")[0]
    kind = signature.options.get("type")
    anchor = make_object_id(f"directive-option-{signature.scope.parent('rst')}-{name}")
    return ObjectDescription(":", f": ({kind})" if kind else ":", (anchor,), name)


def _describe_command_option(signature: _Signature) -> ObjectDescription:
    names = [match[0] for part in signature.text.split(", ") if (match := _COMMAND_OPTION.match(part.strip()))]
    prefix = f"cmdoption-{signature.scope.program}-" if signature.scope.program else "cmdoption-"
    ids = (make_object_id(f"{prefix}{'arg-' * (name[0] not in '-/')}{name}") for name in names)
    return ObjectDescription(ids=tuple(ids))


def _describe_setting(signature: _Signature) -> ObjectDescription:
    return ObjectDescription(ids=(make_object_id(f"{signature.kind}-{signature.text}"),))


_DESCRIBERS: dict[str, Callable[[_Signature], ObjectDescription]] = {
    "py": _describe_python,
    "js": _describe_javascript,
    "c": _describe_c,
    "cpp": _describe_cpp,
    "rst:directive": _describe_rst_directive,
    "rst:directive:option": _describe_rst_option,
    "rst:role": lambda signature: ObjectDescription(":", ":", (make_object_id(f"role-{signature.text}"),)),
    "option": _describe_command_option,
    "cmdoption": _describe_command_option,
    "envvar": _describe_setting,
    "confval": _describe_setting,
}
