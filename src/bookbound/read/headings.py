"""Anchors, as the generators of the sites make them."""

from __future__ import annotations

import re
import unicodedata

# Written at the end of a heading: {#id}, { #id .class }, {: #id }, {/* #id */} or [[id]].
EXPLICIT = re.compile(
    r"(?:\{:?[ \t]*+#(?P<plain>[^\s{}]++)[^{}\n]*+\}"
    r"|\{/\*[ \t]*+#(?P<comment>[^\s*]++)[ \t]*+\*/\}"
    r"|\[\[(?P<double>[\w-]++)\]\])[ \t]*+#*+[ \t]*+$",
    re.MULTILINE,
)

_DROPPED = {"No", "Pe", "Pf", "Pi", "Ps", "Po", "Pd", "Sm", "Sc", "Sk", "So", "Cc", "Co", "Cf", "Cn", "Zs", "Zl", "Zp"}
# Symbols that Unicode counts as alphabetic: circled and squared Latin letters.
_LETTERS = re.compile("[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")


def explicit(line: str) -> str:
    """The anchor that an author wrote at the end of a heading's line, or nothing."""
    found = EXPLICIT.search(line)
    return next((name for name in found.groups() if name), "") if found else ""


def slug(text: str) -> str:
    """Lower case, without punctuation and symbols, each space a hyphen: the rule of github-slugger."""
    return "".join(filter(_kept, text.lower())).replace(" ", "-")


def _kept(character: str) -> bool:
    return character in " -" or unicodedata.category(character) not in _DROPPED or bool(_LETTERS.match(character))


class Slugger:
    """Gives each heading of one page an anchor of its own."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def anchor(self, text: str) -> str:
        wanted = found = slug(text)
        while found in self._taken:
            self._taken[wanted] += 1
            found = f"{wanted}-{self._taken[wanted]}"
        self._taken[found] = 0
        return found


def identifier(text: str) -> str:
    """Lower-case letters and digits, all else a hyphen, trimmed: the rule of docutils."""
    ascii_text = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-").lstrip("0123456789-")
