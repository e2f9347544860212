"""Parses a Hugo page's front matter and expands Hugo's built-in shortcodes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time

from bookbound.sources import safe_config
from bookbound.sources.includes import Substitution
from bookbound.sources.markdown.front_matter import FrontMatter, parse_front_matter
from bookbound.sources.safe_config import sanitize

_TOML_BLOCK = re.compile(r"\+\+\+[ \t]*\n(?P<body>.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_FRONT_MATTER_LENGTH = 100_000


def parse_hugo_front_matter(source: str) -> FrontMatter:
    """TOML between plus signs, an object of JSON, or YAML between hyphens; names count in lower case."""
    fenced = _TOML_BLOCK.match(source)
    if fenced:
        found = _build_front_matter(_parse_toml(fenced["body"]), fenced.end())
    elif source.startswith("{"):
        found = _parse_json(source)
    else:
        front = parse_front_matter(source)
        found = FrontMatter(_lowercase_names(front.fields), front.end, front.broken)
    return found


def parse_date_field(front: FrontMatter, name: str) -> datetime | None:
    """A field as a point in time; a day begins at midnight."""
    value = front.fields.get(name)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else None


def _parse_toml(body: str) -> dict[str, object] | None:
    try:
        return safe_config.parse_toml(body) if len(body) <= _MAX_FRONT_MATTER_LENGTH else None
    except (ValueError, RecursionError):
        return None


def _parse_json(source: str) -> FrontMatter:
    try:
        fields, end = json.JSONDecoder().raw_decode(source[:_MAX_FRONT_MATTER_LENGTH])
        fields = sanitize(fields)
    except (ValueError, RecursionError):
        return FrontMatter()
    return FrontMatter(_lowercase_names(fields), end) if isinstance(fields, dict) else FrontMatter()


def _build_front_matter(fields: dict[str, object] | None, end: int) -> FrontMatter:
    return FrontMatter(_lowercase_names(fields or {}), end, broken=fields is None)


def _lowercase_names(fields: dict[str, object]) -> dict[str, object]:
    return {str(name).lower(): value for name, value in fields.items()}


_SHORTCODE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})"
    r"|\{\{(?P<mark>[<%])/\*(?P<shown>[^\n]{0,1000}?)\*/[>%]\}\}"
    r"|\{\{[<%]\s*+(?P<end>/?)\s*+(?P<name>highlight|comment|param)\b\s*+(?P<given>[^{}]*?)/?[>%]\}\}",
    re.MULTILINE,
)
_MAX_LINE_LENGTH = 1_000


def expand_shortcodes(source: str, front: FrontMatter, site: FrontMatter) -> Iterator[Substitution]:
    """What they stand for: code between two of `highlight`, the value of a `param`; an escaped one for itself."""
    fence, hidden = "", -1
    for found in _SHORTCODE.finditer(source, front.end):
        name = found["name"]
        if hidden >= 0:
            if name == "comment" and found["end"]:
                yield Substitution(hidden, found.end(), "")
                hidden = -1
        elif found["fence"]:
            closes = fence and found["fence"].startswith(fence)
            fence = "" if closes else fence or found["fence"]
        elif found["mark"]:
            escape = "" if fence or _is_in_inline_code(source, found.start()) else "\\"
            start, end = found.span("shown")
            yield Substitution(found.start(), start, f"{escape}{{{escape}{{{found['mark']}")
            yield Substitution(end, end + 2, "")
        elif name == "highlight":
            fence = ""
            language = found["given"].partition(" ")[0].strip("\"'")
            yield Substitution(*found.span(), "```" if found["end"] else f"```{language}")
        elif name == "comment" and not found["end"]:
            hidden = found.start()
        elif name == "param":
            yield Substitution(*found.span(), _param_value(found["given"].strip().strip("\"'").lower(), front, site))


def _is_in_inline_code(source: str, at: int) -> bool:
    """Whether a place stands between the backticks of its line."""
    near = max(0, at - _MAX_LINE_LENGTH)
    return source.count("`", max(near, source.rfind("\n", near, at) + 1), at) % 2 == 1


def _param_value(name: str, front: FrontMatter, site: FrontMatter) -> str:
    """A parameter of the page, else of the site."""
    for fields in (front.fields.get("params"), front.fields, site.fields.get("params")):
        here: object = fields
        for part in name.split("."):
            here = {str(key).lower(): one for key, one in here.items()}.get(part) if isinstance(here, dict) else None
        words = FrontMatter({name: here}).text(name)
        if words:
            return words
    return ""
