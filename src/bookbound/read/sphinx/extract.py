"""Which lines of another file a page takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def chosen(text: str, options: Mapping[str, Any]) -> str:
    """The lines that the options name: by numbers, between two texts, or an object of a program."""
    lines = text.split("\n")
    first, last = _number(options.get("start-line")), _number(options.get("end-line"))
    lines = lines[slice(first, last)]
    if options.get("lines"):
        lines = [lines[at - 1] for at in _numbers(str(options["lines"]), len(lines))]
    if options.get("pyobject"):
        lines = _object(lines, str(options["pyobject"]))
    marks = [str(options.get(name) or "") for name in ("start-at", "start-after", "end-at", "end-before")]
    lines = _between(lines, *marks)
    dedent = _number(options.get("dedent")) or 0
    return "\n".join(line[min(dedent, len(line) - len(line.lstrip())) :] for line in lines)


def _between(lines: list[str], start_at: str, start_after: str, end_at: str, end_before: str) -> list[str]:
    if start_at or start_after:
        found = (i for i, line in enumerate(lines) if (start_at or start_after) in line)
        lines = lines[next(found, 0) + (not start_at) :]
    if end_at or end_before:
        found = (i for i, line in enumerate(lines) if (end_at or end_before) in line)
        lines = lines[: next(found, len(lines)) + bool(end_at)]
    return lines


def _object(lines: list[str], name: str) -> list[str]:
    """The lines of a class or a function, found by how deep they stand."""
    for part in name.split("."):
        opening = re.compile(rf"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(part)}\b")
        at, found = next(((i, m) for i, line in enumerate(lines) if (m := opening.match(line))), (0, None))
        if not found:
            return lines
        depth = len(found[1])
        deeper = (i for i in range(at + 1, len(lines)) if lines[i].strip() and _depth(lines[i]) <= depth)
        lines = lines[at : next(deeper, len(lines))]
    return lines


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _numbers(text: str, most: int) -> list[int]:
    """The numbers that `1-3, 7, 9-` names, up to the last there is."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        start = _number(first) or 1
        stop = (_number(last) or most) if dash else start
        numbers += range(max(1, start), min(stop, most) + 1)
        if len(numbers) > most:
            break
    return numbers


def _number(text: Any) -> int | None:
    try:
        return int(text) if text else None
    except (ValueError, TypeError):
        return None
