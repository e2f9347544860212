"""What the directives of MyST Markdown come to in plain Markdown."""

from __future__ import annotations

import re
from typing import NamedTuple

from bookbound.read.sphinx.only import is_for_html
from bookbound.read.sphinx.versions import VERSIONS, since

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
_SAID = frozenset("rubric centered table list-table csv-table option cmdoption envvar confval describe object".split())
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$])")


class Plain(NamedTuple):
    """The Markdown that opens and closes what a directive shows.

    `verbatim` says that it shows its body as it is written, `argument` that it shows the words after its name, but for
    the first `skipped` characters of them.
    """

    opening: str = ""
    closing: str = ""
    verbatim: bool = False
    argument: bool = False
    seen: bool = True
    skipped: int = 0


def plain(name: str, marks: int, rest: str) -> Plain:
    """What a directive of this name comes to; `marks` is how long its fence is, `rest` what follows its name."""
    colons, ticks = ":" * marks, "`" * marks
    if name in _UNSEEN or (name == "only" and not is_for_html(rest)):
        return Plain(verbatim=True, seen=False)
    if name in VERSIONS:
        version = rest.partition(" ")[0]
        return Plain(
            f"{colons}admonition {since(name, version, True)}\n\n", colons, argument=True, skipped=len(version)
        )
    if name in _CODE:
        return Plain(f"{ticks}{rest.partition(' ')[0]}\n", ticks, verbatim=True)
    if name == "math":
        return Plain("$$\n", "$$", verbatim=True)
    if name in _NAMED:
        shown = "admonition See also" if name == "seealso" else name
        return Plain(f"{colons}{shown}\n", colons, argument=True)
    if name in _TITLED:
        return Plain(f"{colons}{name} ", colons, argument=True)
    return Plain(argument=name in _SAID or ":" in name)


def escaped(text: str) -> str:
    """Words that Markdown shows as they are."""
    return _MARKUP.sub(r"\\\1", text)


def as_code(text: str) -> str:
    """A block of Markdown that shows a text as it is written."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}\n{text.rstrip()}\n{ticks}\n"
