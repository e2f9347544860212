"""What the roles of Sphinx show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

TITLED = re.compile(r"(?P<title>[^<]+?)\s*<(?P<target>[^<]*)>\Z")
_ACCELERATOR = re.compile(r"&(?!\s|\Z)")
_ENTRY = re.compile(r"^(?:!|(?:single|pair|triple|see|seealso|module)\s*:\s*)*")
_MEANING = re.compile(r"\s*\([^()]*\)\Z")
_DOMAINS = ("", "py:", "c:", "cpp:", "js:")
_REFERENCES = ("ref", "doc", "eq")
_UNSEEN = "icon octicon material-regular material-outlined material-round fas fab far fa cite:label"


class Said(NamedTuple):
    """What a role shows, unless what it `refers` to, by kind and target, has a title of its own."""

    text: str
    refers: tuple[str, str] | None = None


def said(role: str, text: str, shorthands: Mapping[str, str]) -> Said:
    """What a role shows for its text: a title that stands before a target, else what becomes of the target."""
    if role in _WHOLE:
        return Said(_WHOLE[role](text))
    kind = role.removeprefix("std:")
    titled = TITLED.match(text)
    if kind == "numref":
        return Said(titled["title"] if titled else text, (kind, text))
    if titled:
        return Said(titled["title"])
    if role in shorthands:
        return Said(shorthands[role].replace("%s", text).replace("%%", "%"))
    return Said(_TARGETS.get(role, _same)(text), (kind, text) if kind in _REFERENCES else None)


def _same(text: str) -> str:
    return text


def _named(text: str) -> str:
    """The name of a thing of a program: after a tilde its last part alone."""
    text = text.removeprefix("!")
    return text[1:].rpartition(".")[2] if text.startswith("~") else text.lstrip(".")


def _called(text: str) -> str:
    name = _named(text)
    return name if name.endswith(")") else f"{name}()"


def _pressed(text: str) -> str:
    return _ACCELERATOR.sub("", text.replace("&&", "\ue000")).replace("\ue000", "&")


def _chosen(text: str) -> str:
    return _pressed(text).replace("-->", "\u2023")


def _braceless(text: str) -> str:
    return text.replace("{", "").replace("}", "")


def _short(text: str) -> str:
    return _MEANING.sub("", text)


def _indexed(text: str) -> str:
    """The words of an entry of the index that stands in the text."""
    return _ENTRY.sub("", text)


def _nothing(text: str) -> str:
    return ""


Shows = Callable[[str], str]


def _roles(names: str, shows: Shows, domains: tuple[str, ...] = ("",)) -> dict[str, Shows]:
    return {domain + name: shows for domain in domains for name in names.split()}


_WHOLE = {
    **_roles("guilabel", _pressed),
    **_roles("menuselection", _chosen),
    **_roles("file samp", _braceless),
    **_roles("abbr", _short),
    **_roles("kbd command program math", _same),
    **_roles(_UNSEEN, _nothing),
}
_TARGETS = {
    **_roles("func meth", _called, _DOMAINS),
    **_roles("class exc mod attr obj data const type member macro var struct enum union", _named, _DOMAINS),
    **_roles("pep", "PEP {}".format),
    **_roles("rfc", "RFC {}".format),
    **_roles("cve", "CVE {}".format),
    **_roles("cwe", "CWE {}".format),
    **_roles("eq", _nothing),
    **_roles("index", _indexed),
}
NAMES = frozenset((*_WHOLE, *_TARGETS, "ref", "doc", "numref", "std:ref", "std:doc", "std:numref")) - {"math"}
"""The roles that docutils does not know, or knows otherwise."""
