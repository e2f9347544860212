"""What the directives of MyST Markdown come to in plain Markdown."""

from __future__ import annotations

import re
from typing import NamedTuple

_CODE = frozenset("code code-block code-cell sourcecode prompt testcode doctest jupyter-execute ipython".split())
_UNSEEN = frozenset(
    "raw index meta tableofcontents contents bibliography mermaid graphviz glue video youtube iframe embed"
    " autosummary automodule autoclass autofunction highlight currentmodule".split()
)
_NAMED = frozenset("note tip warning attention caution danger error hint important seealso todo".split())
_TITLED = frozenset(
    "admonition dropdown topic sidebar card tab-item tab group-tab margin grid-item-card details exercise solution"
    " definition theorem proof lemma example proposition remark".split()
)
_PICTURES = frozenset("figure image figure-md".split())
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$])")


class Plain(NamedTuple):
    """The Markdown that opens and closes what a directive shows.

    `verbatim` says that it shows its body as it is written, `argument` that it shows the words after its name.
    """

    opening: str = ""
    closing: str = ""
    verbatim: bool = False
    argument: bool = False
    seen: bool = True


def plain(name: str, marks: int, rest: str) -> Plain:
    """What a directive of this name comes to; `marks` is how long its fence is, `rest` what follows its name."""
    colons, ticks = ":" * marks, "`" * marks
    if name in _UNSEEN:
        return Plain(verbatim=True, seen=False)
    if name in _CODE:
        return Plain(f"{ticks}{rest.partition(' ')[0]}\n", ticks, verbatim=True)
    if name == "math":
        return Plain("$$\n", "$$", verbatim=True)
    if name in _NAMED:
        return Plain(f"{colons}{name}\n", colons, argument=True)
    if name in _TITLED:
        return Plain(f"{colons}{name} ", colons, argument=True)
    return Plain(argument=name not in _PICTURES)


def escaped(text: str) -> str:
    """Words that Markdown shows as they are."""
    return _MARKUP.sub(r"\\\1", text)


def as_code(text: str) -> str:
    """A block of Markdown that shows a text as it is written."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}\n"
