"""Words within a paragraph of reStructuredText, without their markup."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bookbound.read.galley import Galley, Span
from bookbound.read.inline import Content, Stretch

# Markup opens after a space or an opening mark and closes before a space or a closing mark.
_OPENS = r"(?<![^\s'\"(\[{<\-/:\u2010-\u201f\u00ab\u00bf])"
_CLOSES = r"(?=$|[\s'\")\]}>\-/:.,;!?\\\u2010-\u201f\u00bb\u2026])"
_MARKUP = re.compile(
    rf"""
    (?P<address>\b(?:https?|ftp)://\S+)
  | (?P<escape>\\(?:\s|(?P<escaped>[^\s])))
  | {_OPENS}``(?P<literal>.+?)``{_CLOSES}
  | (?::(?P<role>[A-Za-z][\w:+.-]{{0,60}}):)?`(?P<named>[^`]++)`(?::(?P<after>[A-Za-z][\w:+.-]{{0,60}}):)?_{{0,2}}
  | {_OPENS}\*\*(?=\S)(?P<strong>[^*]+?)(?<=\S)\*\*{_CLOSES}
  | {_OPENS}\*(?=[^\s*])(?P<emphasis>[^*]+?)(?<=\S)\*{_CLOSES}
  | {_OPENS}\[(?:\#?[\w.-]*|\*)\]_{_CLOSES}
  | {_OPENS}\|(?P<substituted>[^\s|][^|\n]*)\|_{{0,2}}{_CLOSES}
  | (?<![\w`])(?<!\w[.+-])(?!\d_)(?P<target>[^\W_]++(?:[_.+-][^\W_]++)*+)__?{_CLOSES}
    """,
    re.VERBOSE | re.DOTALL,
)
_TARGET = re.compile(r"(?<!\\)<[^<>]*+>\s*+\Z")
_DEFINITION = re.compile(r"^[ \t]*\.\. \|([^|\n]+)\| (\w+)::[ \t]*(.*)$", re.MULTILINE)
_SHOWN = ("address", "escaped", "literal", "strong", "emphasis", "target")
_UNSEEN_ROLES = frozenset(("icon", "index", "octicon", "material-regular", "fas", "fab", "cite:label", "eq"))


class Prose:
    """Sets paragraphs of one source; without `marked_up` every character counts as written."""

    def __init__(self, galley: Galley, marked_up: bool, substitutes: Mapping[str, str] | None = None) -> None:
        self._galley = galley
        self._marked_up = marked_up
        self._substitutes = substitutes or {}

    def set(self, lines: list[Span]) -> None:
        """Set lines as one run of words."""
        parts, stretches, at = [], [], 0
        for start, end in lines:
            parts.append(self._galley.source[start:end])
            stretches.append(Stretch(at, start, end - start))
            at += end - start + 1
        content = Content("\n".join(parts), stretches)
        at = 0
        for found in _MARKUP.finditer(content.text) if self._marked_up else ():
            self._words(content, at, found.start())
            self._markup(content, found)
            at = found.end()
        self._words(content, at, len(content.text))

    def _markup(self, content: Content, found: re.Match[str]) -> None:
        if found["named"]:
            self._named(content, found)
        elif found["substituted"]:
            words = self._substitutes.get(found["substituted"])
            if words is None:
                self._words(content, *found.span("substituted"))
            elif words:
                span = next(content.spans(*found.span()))
                self._galley.stand(words, *span)
        else:
            for shown in _SHOWN:
                if found[shown]:
                    self._words(content, *found.span(shown))

    def _named(self, content: Content, found: re.Match[str]) -> None:
        """A role or a link shows its title, or its target without the path before a tilde's last name."""
        role = found["role"] or found["after"] or ""
        if role in _UNSEEN_ROLES:
            return
        start, end = found.span("named")
        target = None if role == "math" else _TARGET.search(content.text, start, end)
        words = content.text[start : target.start()].rstrip() if target else ""
        if words:
            end = start + len(words)
        elif role and role != "math" and content.text.startswith("~", start):
            start = max(content.text.rfind(".", start, end), start) + 1
        elif role and content.text.startswith("!", start):
            start += 1
        self._words(content, start, end)

    def _words(self, content: Content, start: int, end: int) -> None:
        for i, line in enumerate(content.lines(start, end)):
            if i:
                self._galley.space()
            for span in line:
                self._galley.words(*span)


def substitutes(source: str) -> dict[str, str]:
    """The words that a page defines to stand for a name; a picture has none."""
    found = _DEFINITION.findall(source)
    return {name: _plain(words) if kind == "replace" else "" for name, kind, words in found}


def _plain(text: str) -> str:
    """A line of reStructuredText without its markup."""
    galley = Galley(text)
    Prose(galley, marked_up=True).set([(0, len(text))])
    return galley.finish().text
