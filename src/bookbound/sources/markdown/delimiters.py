"""Finds where tags, braces and statements of HTML, JSX and MDX end."""

from __future__ import annotations

import re

_MAX_CHARS = 50_000
_MAX_PARAGRAPHS = 200
# How many times a source is looked through, at the most, for the partners of its braces.
_MAX_PASSES = 20
_SCRIPT_TOKEN = re.compile(
    r"""'(?:\\.|[^'\\\n])*+'|"(?:\\.|[^"\\\n])*+"|`(?:\\.|[^`\\])*+`"""
    r"""|/\*.*?(?:\*/|\Z)|(?<!:)//[^\n]*|(?P<bracket>[{}()\[\]])""",
    re.DOTALL,
)
_TAG_NAME = re.compile(r"</?(?P<name>[A-Za-z][\w.-]*)?(?=[\s/>])")
_ATTRIBUTE = re.compile(r"[A-Za-z_:@#*][\w:.@-]*(?P<equals>\s*=\s*)?")
_UNQUOTED_VALUE = re.compile(r"[^\s\"'=<>`{]+")
_WHITESPACE = re.compile(r"\s*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# Before the braces stand a default, `type`, or `* as` a name: five words at the most.
_IMPORT = re.compile(
    r"import\s++(?:(?:[\w$*]++\s*+,?\s*+){0,5}?(?:\{[^{}]*+\}\s*+)?from\s*+)?(['\"])[^'\"\n]*+\1[^\n]*"
)
_EXPORT = re.compile(r"export\s++(?:default|const|let|var|function|async|class|type|interface|\{|\*)")


class BraceMatcher:
    """Finds the partner of each brace of one source; a brace once looked at is remembered."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._partner: dict[int, int] = {}
        self._effort = _MAX_PASSES * len(source) + _MAX_CHARS

    def end(self, start: int) -> int:
        """The offset after the brace that closes the one at `start`, or -1."""
        if start not in self._partner and self._effort > 0:
            self._scan(start)
        return self._partner.get(start, -1)

    def _scan(self, start: int) -> None:
        unmatched: list[int] = []
        stop = start + _MAX_CHARS
        for found in _SCRIPT_TOKEN.finditer(self._source, start, stop):
            if found["bracket"] == "{":
                unmatched.append(found.start())
            elif found["bracket"] == "}" and unmatched:
                self._partner[unmatched.pop()] = found.end()
                if not unmatched:
                    stop = found.end()
                    break
        self._effort -= stop - start
        for brace in unmatched:
            self._partner.setdefault(brace, -1)


def find_tag_end(source: str, start: int, braces: BraceMatcher) -> tuple[str, int]:
    """The name of the tag at `start` and the offset after it; -1 where a `<` begins no tag."""
    opened = _TAG_NAME.match(source, start)
    if not opened:
        return "", -1
    at = opened.end()
    while True:
        space = _WHITESPACE.match(source, at)
        assert space
        if space.end() > at and _BLANK_LINE.search(source, at, space.end()):
            return "", -1
        at = space.end()
        if source.startswith((">", "/>"), at):
            return opened["name"] or "", at + 1 + source.startswith("/", at)
        at = _find_attribute_end(source, at, braces)
        if at < 0:
            return "", -1


def _find_attribute_end(source: str, at: int, braces: BraceMatcher) -> int:
    if source.startswith("{", at):
        return braces.end(at)
    name = _ATTRIBUTE.match(source, at)
    if not name:
        return -1
    at = name.end()
    if not name["equals"]:
        return at
    if source.startswith("{", at):
        return braces.end(at)
    if source.startswith(('"', "'"), at):
        return source.find(source[at], at + 1, at + _MAX_CHARS) + 1 or -1
    bare = _UNQUOTED_VALUE.match(source, at)
    return bare.end() if bare else -1


class StatementFinder:
    """Finds where the `import` and `export` statements of one source end; a paragraph once looked through is known."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[int, tuple[int, int]] = {}

    def end(self, start: int) -> int:
        """The offset after the statement at `start`, or -1 where there is none."""
        imported = _IMPORT.match(self._source, start)
        if imported:
            return -1 if _BLANK_LINE.search(imported[0]) else imported.end()
        if not _EXPORT.match(self._source, start):
            return -1
        first, depth, at = -1, 0, start
        for _ in range(_MAX_PARAGRAPHS):
            at, opened = self._paragraph(at)
            depth += opened
            if depth <= 0:
                return at
            first = at if first < 0 else first
            if at == len(self._source):
                break
        return first

    def _paragraph(self, at: int) -> tuple[int, int]:
        """Where the paragraph ends that goes on at `at`, and how many more brackets it opens than it closes."""
        if at not in self._known:
            blank = _BLANK_LINE.search(self._source, at)
            stop = blank.start() + 1 if blank else len(self._source)
            brackets = [found["bracket"] or " " for found in _SCRIPT_TOKEN.finditer(self._source, at, stop)]
            self._known[at] = stop, sum((one in "{([") - (one in "})]") for one in brackets)
        return self._known[at]


class CachedSearch:
    """Finds what closes things in one source; what was found is remembered until the scan has passed it.

    However many openers wait for one closer, or for none, the source is looked through once.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """The first match that begins at `at` or later."""
        since, found = self._known.get(pattern, (len(self._source) + 1, None))
        if since > at or (found and found.start() < at):
            found = pattern.search(self._source, at)
            self._known[pattern] = at, found
        return found
