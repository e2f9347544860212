"""What reStructuredText shows of a block that begins with two dots."""

from __future__ import annotations

import re
from typing import NamedTuple

from bookbound.read.galley import Span

CODE = frozenset("code-block code sourcecode parsed-literal doctest testcode testoutput prompt literal".split())
MATH = frozenset(("math",))
ADMONITIONS = frozenset(
    "note tip warning attention caution danger error hint important seealso todo admonition dropdown topic sidebar"
    " versionadded versionchanged deprecated".split()
)
# These name themselves above their text; the other admonitions have a title.
NAMED = ADMONITIONS - frozenset(("admonition", "dropdown", "topic", "sidebar"))
_UNSEEN = frozenset(
    "contents toctree include literalinclude redirect-from highlight currentmodule module raw meta index role"
    " default-role tags bibliography sectnum header footer title date testsetup testcleanup video youtube vimeo"
    " plot graphviz inheritance-diagram sphinx_gallery_thumbnail autosummary".split()
)
_UNSEEN_ARGUMENT = frozenset("image figure only ifconfig container class cssclass grid tab-set div".split())

_OPENING = re.compile(r"\.\.[ \t]+(?P<name>[A-Za-z][\w.:+-]*?)[ \t]?::(?!:)[ \t]*(?P<argument>.*)")
_NOTE = re.compile(r"\.\.[ \t]+\[[^\]]+\][ \t]+(?P<argument>.*)")
_OPTION = re.compile(r":(?P<name>[\w-]+):(?:[ \t]+(?P<value>.*))?$")


class Directive(NamedTuple):
    """A directive's name, the lines of its argument and of its body, and the options it shows."""

    name: str
    name_span: Span
    argument: list[Span]
    shown: list[Span]
    body: list[Span]


def directive(source: str, first: Span, region: list[Span]) -> Directive | None:
    """What the dots at `first` and the deeper lines after them show; nothing for comments and targets."""
    opened = _OPENING.match(source, *first)
    noted = None if opened else _NOTE.match(source, *first)
    found = opened or noted
    if found is None:
        return None
    name = opened["name"].lower() if opened else ""
    if name in _UNSEEN:
        return None
    argument = [found.span("argument")] if found["argument"].strip() else []
    shown, at = [], 0
    while at < len(region) and not argument and not source[slice(*region[at])].strip():
        at += 1
    in_options = at == 0 or not argument
    while at < len(region) and in_options:
        option = _OPTION.match(source, *region[at])
        if not option:
            break
        if option["name"] in ("caption", "alt") and option["value"]:
            shown.append(option.span("value"))
        at += 1
        while at < len(region) and source[region[at][0] : region[at][1]].startswith((" ", "\t")):
            at += 1
    if name in _UNSEEN_ARGUMENT:
        argument = []
    return Directive(name, opened.span("name") if opened else first, argument, shown, region[at:])
