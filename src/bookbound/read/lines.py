"""Lines of a text, grouped by how deep they stand."""

from __future__ import annotations

import re

from bookbound.read.galley import Span

MARKER = re.compile(r"(?:(?P<bullet>[-*+\u2022])|\(?(?:\d{1,4}|#|[A-Za-z]|[ivxIVX]{2,5})[.)])[ \t]+(?=\S)")


def is_deeper(source: str, line: Span) -> bool:
    """Whether a line is blank or indented."""
    return line[0] >= line[1] or source[line[0]] in " \t"


def region(source: str, lines: list[Span], at: int) -> tuple[list[Span], int]:
    """The deeper lines from `at` on without the indentation they share, and where they end."""
    end = at
    while end < len(lines) and is_deeper(source, lines[end]):
        end += 1
    texts = [source[start:stop] for start, stop in lines[at:end]]
    indent = min((len(text) - len(text.lstrip()) for text in texts if text.strip()), default=0)
    return [(min(start + indent, stop), stop) for start, stop in lines[at:end]], end


def items(source: str, lines: list[Span], at: int) -> tuple[list[tuple[Span, list[Span]]], int]:
    """The items of the list that begins at line `at`, each with its marker and its lines, and where they end."""
    found: list[tuple[Span, list[Span]]] = []
    style = ""
    while at < len(lines):
        marker = MARKER.match(source, *lines[at])
        if not marker or style not in ("", marker["bullet"] or "counted"):
            break
        style = marker["bullet"] or "counted"
        deeper, after = region(source, lines, at + 1)
        own = (marker.start(), marker.start() + len(marker[0].rstrip()) + 1)
        found.append((own, [(marker.end(), lines[at][1]), *deeper]))
        at = after
    return found, at
