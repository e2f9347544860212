"""The fields above a page of a Hugo site, in any of the three ways to write them."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time

from bookbound.read import toml
from bookbound.read.frontmatter import FrontMatter, front_matter
from bookbound.read.sound import sound

_TOML = re.compile(r"\+\+\+[ \t]*\n(?P<body>.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 100_000


def hugo_fields(source: str) -> FrontMatter:
    """TOML between plus signs, an object of JSON, or YAML between hyphens; names count in lower case."""
    fenced = _TOML.match(source)
    if fenced:
        found = _lowered(_toml(fenced["body"]), fenced.end())
    elif source.startswith("{"):
        found = _json(source)
    else:
        front = front_matter(source)
        found = FrontMatter(_keys(front.fields), front.end, front.broken)
    return found


def moment(front: FrontMatter, name: str) -> datetime | None:
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


def _toml(body: str) -> dict[str, object] | None:
    try:
        return toml.loads(body) if len(body) <= _LONGEST else None
    except (ValueError, RecursionError):
        return None


def _json(source: str) -> FrontMatter:
    try:
        fields, end = json.JSONDecoder().raw_decode(source[:_LONGEST])
        fields = sound(fields)
    except (ValueError, RecursionError):
        return FrontMatter()
    return FrontMatter(_keys(fields), end) if isinstance(fields, dict) else FrontMatter()


def _lowered(fields: dict[str, object] | None, end: int) -> FrontMatter:
    return FrontMatter(_keys(fields or {}), end, broken=fields is None)


def _keys(fields: dict[str, object]) -> dict[str, object]:
    return {str(name).lower(): value for name, value in fields.items()}
