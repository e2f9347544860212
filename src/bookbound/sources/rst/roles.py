"""Computes the text that Sphinx roles show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

TITLE_AND_TARGET = re.compile(r"(?P<title>[^<]+?)\s*<(?P<target>[^<]*)>\Z")
_ACCELERATOR = re.compile(r"&(?!\s|\Z)")
_INDEX_PREFIX = re.compile(r"^(?:!|(?:single|pair|triple|see|seealso|module)\s*:\s*)*")
_ABBREVIATION_MEANING = re.compile(r"\s*\([^()]*\)\Z")
_DOMAIN_PREFIXES = ("", "py:", "c:", "cpp:", "js:")
_CROSS_REFERENCE_ROLES = ("ref", "doc", "eq")
_HIDDEN_ROLES = "icon octicon material-regular material-outlined material-round fas fab far fa cite:label"


class RoleText(NamedTuple):
    """What a role shows, unless what it `refers` to, by kind and target, has a title of its own."""

    text: str
    refers: tuple[str, str] | None = None


def render_role(role: str, text: str, shorthands: Mapping[str, str]) -> RoleText:
    """What a role shows for its text: a title that stands before a target, else what becomes of the target."""
    if role in _TEXT_ROLES:
        return RoleText(_TEXT_ROLES[role](text))
    kind = role.removeprefix("std:")
    titled = TITLE_AND_TARGET.match(text)
    if kind == "numref":
        return RoleText(titled["title"] if titled else text, (kind, text))
    if titled:
        return RoleText(titled["title"])
    if role in shorthands:
        return RoleText(shorthands[role].replace("%s", text).replace("%%", "%"))
    return RoleText(_TARGET_ROLES.get(role, _keep_text)(text), (kind, text) if kind in _CROSS_REFERENCE_ROLES else None)


def _keep_text(text: str) -> str:
    return text


def _format_object_name(text: str) -> str:
    """The name of a thing of a program: after a tilde its last part alone."""
    text = text.removeprefix("!")
    return text[1:].rpartition(".")[2] if text.startswith("~") else text.lstrip(".")


def _format_function_name(text: str) -> str:
    name = _format_object_name(text)
    return name if name.endswith(")") else f"{name}()"


def _strip_accelerators(text: str) -> str:
    return _ACCELERATOR.sub("", text.replace("&&", "\ue000")).replace("\ue000", "&")


def _format_menu_path(text: str) -> str:
    return _strip_accelerators(text).replace("-->", "\u2023")


def _strip_braces(text: str) -> str:
    return text.replace("{", "").replace("}", "")


def _strip_abbreviation_meaning(text: str) -> str:
    return _ABBREVIATION_MEANING.sub("", text)


def _strip_index_prefix(text: str) -> str:
    """The words of an entry of the index that stands in the text."""
    return _INDEX_PREFIX.sub("", text)


def _hide_text(text: str) -> str:
    return ""


RoleFormatter = Callable[[str], str]


def _make_role_table(names: str, shows: RoleFormatter, domains: tuple[str, ...] = ("",)) -> dict[str, RoleFormatter]:
    return {domain + name: shows for domain in domains for name in names.split()}


_TEXT_ROLES = {
    **_make_role_table("guilabel", _strip_accelerators),
    **_make_role_table("menuselection", _format_menu_path),
    **_make_role_table("file samp", _strip_braces),
    **_make_role_table("abbr", _strip_abbreviation_meaning),
    **_make_role_table("kbd command program math", _keep_text),
    **_make_role_table(_HIDDEN_ROLES, _hide_text),
}
_TARGET_ROLES = {
    **_make_role_table("func meth", _format_function_name, _DOMAIN_PREFIXES),
    **_make_role_table(
        "class exc mod attr obj data const type member macro var struct enum union",
        _format_object_name,
        _DOMAIN_PREFIXES,
    ),
    **_make_role_table("pep", "PEP {}".format),
    **_make_role_table("rfc", "RFC {}".format),
    **_make_role_table("cve", "CVE {}".format),
    **_make_role_table("cwe", "CWE {}".format),
    **_make_role_table("eq", _hide_text),
    **_make_role_table("index", _strip_index_prefix),
}
SPHINX_ROLES = frozenset((*_TEXT_ROLES, *_TARGET_ROLES, "ref", "doc", "numref", "std:ref", "std:doc", "std:numref")) - {
    "math"
}
"""The roles that docutils does not know, or knows otherwise."""
