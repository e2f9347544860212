"""Finds where tags, braces and statements of HTML, JSX and MDX end."""

from __future__ import annotations

import re

_MAX_CHARS = 50_000
_MAX_PARAGRAPHS = 200
# Limits the search for the partners of all braces to this many passes over the source.
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
BLANK_LINE = re.compile(r"\n[ \t]*\n")
# A default, `type` or `* as` and a name can come before the braces: at most five words.
_IMPORT = re.compile(
    r"import\s++(?:(?:[\w$*]++\s*+,?\s*+){0,5}?(?:\{[^{}]*+\}\s*+)?from\s*+)?(['\"])[^'\"\n]*+\1[^\n]*"
)
_EXPORT = re.compile(r"export\s++(?:default|const|let|var|function|async|class|type|interface|\{|\*)")


class BraceMatcher:
    """Finds the partner of each brace in one source and remembers it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._partner: dict[int, int] = {}
        self._chars_left = _MAX_PASSES * len(source) + _MAX_CHARS

    def end(self, start: int) -> int:
        """Return the offset after the partner of the brace at `start`, or -1."""
        if start not in self._partner and self._chars_left > 0:
            self._scan(start)
        return self._partner.get(start, -1)

    def _scan(self, start: int) -> None:
        unmatched: list[int] = []
        stop = start + _MAX_CHARS
        for match in _SCRIPT_TOKEN.finditer(self._source, start, stop):
            if match["bracket"] == "{":
                unmatched.append(match.start())
            elif match["bracket"] == "}" and unmatched:
                self._partner[unmatched.pop()] = match.end()
                if not unmatched:
                    stop = match.end()
                    break
        self._chars_left -= stop - start
        for brace in unmatched:
            self._partner.setdefault(brace, -1)


def find_tag_end(source: str, start: int, braces: BraceMatcher) -> tuple[str, int]:
    """Return the name of the tag at `start` and the offset after it, or -1 if no tag begins there."""
    opened = _TAG_NAME.match(source, start)
    if not opened:
        return "", -1
    at = opened.end()
    while True:
        space = _WHITESPACE.match(source, at)
        assert space
        if space.end() > at and BLANK_LINE.search(source, at, space.end()):
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
    """Finds the ends of `import` and `export` statements in one source and reads each paragraph once."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[int, tuple[int, int]] = {}

    def end(self, start: int) -> int:
        """Return the offset after the statement at `start`, or -1 if there is none."""
        imported = _IMPORT.match(self._source, start)
        if imported:
            return -1 if BLANK_LINE.search(imported[0]) else imported.end()
        if not _EXPORT.match(self._source, start):
            return -1
        first, depth, at = -1, 0, start
        for _ in range(_MAX_PARAGRAPHS):
            at, opened = self._scan_paragraph(at)
            depth += opened
            if depth <= 0:
                return at
            first = at if first < 0 else first
            if at == len(self._source):
                break
        return first

    def _scan_paragraph(self, at: int) -> tuple[int, int]:
        """Return the end of the paragraph at `at`, and how many more brackets it opens than it closes."""
        if at not in self._known:
            blank = BLANK_LINE.search(self._source, at)
            stop = blank.start() + 1 if blank else len(self._source)
            brackets = [match["bracket"] or " " for match in _SCRIPT_TOKEN.finditer(self._source, at, stop)]
            self._known[at] = stop, sum((one in "{([") - (one in "})]") for one in brackets)
        return self._known[at]


class CachedSearch:
    """Searches one source for closing patterns and remembers each match until the scan passes it.

    So a source with many openers and few closers is searched once.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}

    def find(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        """Return the first match at or after `at`."""
        since, match = self._known.get(pattern, (len(self._source) + 1, None))
        if since > at or (match and match.start() < at):
            match = pattern.search(self._source, at)
            self._known[pattern] = at, match
        return match
