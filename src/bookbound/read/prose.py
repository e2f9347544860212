"""What of a page of Markdown is no code."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_CODE = re.compile(r"`[^`\n]++`")


def prose(source: str) -> str:
    """The source with spaces for all that stands in code."""
    lines, fence = [], ""
    for line in source.split("\n"):
        found = _FENCE.match(line)
        if fence or found:
            closes = found and found["fence"].startswith(fence) and not found["info"].strip()
            fence = "" if fence and closes else fence or (found["fence"] if found else "")
            line = " " * len(line)
        lines.append(_CODE.sub(lambda code: " " * len(code[0]), line))
    return "\n".join(lines)
