"""Words within a paragraph of reStructuredText, without their markup."""

from __future__ import annotations

import re

from bookbound.read.galley import Galley
from bookbound.read.inline import Content, Stretch
from bookbound.read.lines import Span

# Markup opens after a space or an opening mark and closes before a space or a closing mark.
_OPENS = r"(?<![^\s'\"(\[{<\-/:\u2010-\u201f\u00ab\u00bf])"
_CLOSES = r"(?=$|[\s'\")\]}>\-/:.,;!?\\\u2010-\u201f\u00bb\u2026])"
_MARKUP = re.compile(
    rf"""
    (?P<address>\b(?:https?|ftp)://\S+)
  | (?P<escape>\\(?:\s|(?P<escaped>[^\s])))
  | {_OPENS}``(?P<literal>.+?)``{_CLOSES}
  | (?::(?P<role>[A-Za-z][\w:+.-]*):)?`(?P<named>[^`]+?)`(?::(?P<after>[A-Za-z][\w:+.-]*):)?_{{0,2}}
  | {_OPENS}\*\*(?=\S)(?P<strong>[^*]+?)(?<=\S)\*\*{_CLOSES}
  | {_OPENS}\*(?=[^\s*])(?P<emphasis>[^*]+?)(?<=\S)\*{_CLOSES}
  | {_OPENS}\[(?:\#?[\w.-]*|\*)\]_{_CLOSES}
  | {_OPENS}\|(?P<substituted>[^\s|][^|\n]*)\|_{{0,2}}{_CLOSES}
  | (?<![\w`])(?P<target>[A-Za-z0-9][\w.+-]*[A-Za-z0-9]|[A-Za-z])__?{_CLOSES}
    """,
    re.VERBOSE | re.DOTALL,
)
_TITLED = re.compile(r"(?P<words>.*?)\s*(?<!\\)<[^<>]*>\s*", re.DOTALL)
_DEFINITION = re.compile(r"^[ \t]*\.\. \|([^|\n]+)\| (\w+)::[ \t]*(.*)$", re.MULTILINE)
_SHOWN = ("address", "escaped", "literal", "strong", "emphasis", "target")
_UNSEEN_ROLES = frozenset(("icon", "index", "octicon", "material-regular", "fas", "fab", "cite:label", "eq"))


class Prose:
    """Sets paragraphs of one source; without `marked_up` every character counts as written."""

    def __init__(self, galley: Galley, marked_up: bool) -> None:
        self._galley = galley
        self._marked_up = marked_up
        found = _DEFINITION.findall(galley.source) if marked_up else []
        self._substitutes = {name: plain(words) if kind == "replace" else "" for name, kind, words in found}

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
        titled = None if role == "math" else _TITLED.fullmatch(content.text, start, end)
        if titled and titled["words"]:
            end = titled.end("words")
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


def plain(text: str) -> str:
    """A line of reStructuredText without its markup."""
    galley = Galley(text)
    Prose(galley, marked_up=True).set([(0, len(text))])
    return galley.finish()[0]
