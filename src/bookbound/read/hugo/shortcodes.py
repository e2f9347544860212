"""What the shortcodes that are Hugo's own make of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.read.frontmatter import FrontMatter
from bookbound.read.woven import Swap

_SHORTCODE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})"
    r"|\{\{(?P<mark>[<%])/\*(?P<shown>[^\n]{0,1000}?)\*/[>%]\}\}"
    r"|\{\{[<%]\s*+(?P<end>/?)\s*+(?P<name>highlight|comment|param)\b\s*+(?P<given>[^{}]*?)/?[>%]\}\}",
    re.MULTILINE,
)
_LINE = 1_000


def swaps(source: str, front: FrontMatter, site: FrontMatter) -> Iterator[Swap]:
    """What they stand for: code between two of `highlight`, the value of a `param`; an escaped one for itself."""
    fence, hidden = "", -1
    for found in _SHORTCODE.finditer(source, front.end):
        name = found["name"]
        if hidden >= 0:
            if name == "comment" and found["end"]:
                yield Swap(hidden, found.end(), "")
                hidden = -1
        elif found["fence"]:
            closes = fence and found["fence"].startswith(fence)
            fence = "" if closes else fence or found["fence"]
        elif found["mark"]:
            escape = "" if fence or _in_code(source, found.start()) else "\\"
            start, end = found.span("shown")
            yield Swap(found.start(), start, f"{escape}{{{escape}{{{found['mark']}")
            yield Swap(end, end + 2, "")
        elif name == "highlight":
            fence = ""
            language = found["given"].partition(" ")[0].strip("\"'")
            yield Swap(*found.span(), "```" if found["end"] else f"```{language}")
        elif name == "comment" and not found["end"]:
            hidden = found.start()
        elif name == "param":
            yield Swap(*found.span(), _value(found["given"].strip().strip("\"'").lower(), front, site))


def _in_code(source: str, at: int) -> bool:
    """Whether a place stands between the backticks of its line."""
    near = max(0, at - _LINE)
    return source.count("`", max(near, source.rfind("\n", near, at) + 1), at) % 2 == 1


def _value(name: str, front: FrontMatter, site: FrontMatter) -> str:
    """A parameter of the page, else of the site."""
    for fields in (front.fields.get("params"), front.fields, site.fields.get("params")):
        here: object = fields
        for part in name.split("."):
            here = {str(key).lower(): one for key, one in here.items()}.get(part) if isinstance(here, dict) else None
        words = FrontMatter({name: here}).text(name)
        if words:
            return words
    return ""
