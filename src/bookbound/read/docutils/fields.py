"""The fields that say what a thing takes and gives, under the names that readers see."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from bookbound.read.docutils.shown import told

_TAKES = dict.fromkeys("param parameter arg argument key keyword kwarg kwparam".split(), "Parameters")
_TYPES = frozenset("type paramtype vartype".split())
_SHOWN = {
    **_TAKES,
    **dict.fromkeys(("var", "ivar", "cvar"), "Variables"),
    **dict.fromkeys(("raises", "raise", "exception", "except"), "Raises"),
    **dict.fromkeys(("throws", "throw"), "Throws"),
    **dict.fromkeys(("returns", "return"), "Returns"),
    **dict.fromkeys(("retval", "retvals"), "Return values"),
    "rtype": "Return type",
}
_JAVASCRIPT = {**_SHOWN, **dict.fromkeys(_TAKES, "Arguments")}


def name_fields(thing: nodes.Element, kind: str) -> None:
    """Let the fields of a thing of this kind begin with what Sphinx shows for their names."""
    fields: Any
    for fields in [child for child in thing.children if isinstance(child, nodes.field_list)]:
        names = [field[0].astext().split(None, 1) or [""] for field in fields]
        types = {
            name[1]: " ".join(field[1].astext().split())
            for name, field in zip(names, fields, strict=True)
            if name[0] in _TYPES and len(name) > 1
        }
        before = ""
        for field, (first, *rest) in zip(list(fields), names, strict=True):
            group = (_JAVASCRIPT if kind.startswith("js:") else _SHOWN).get(first, "")
            if first == "meta" or (first in _TYPES and rest):
                fields.remove(field)
            elif group:
                begin = f"{group}: " * (group != before)
                _begin(field, begin + _taken(first, rest, types))
            before = group or before


def _taken(field: str, rest: list[str], types: dict[str, str]) -> str:
    """What is shown of an argument: its name, and its type where one is given."""
    if not rest:
        return ""
    kind, _, name = rest[0].rpartition(" ")
    if field not in _TAKES:
        kind, name = "", rest[0]
    kind = kind or types.get(name, "")
    return f"{name} ({kind}) \u2013 " if kind else f"{name} \u2013 "


def _begin(field: Any, words: str) -> None:
    """Set words before the first paragraph of a field, in the place of its name."""
    name, body = field[0], field[1]
    first = body[0] if len(body) and isinstance(body[0], nodes.paragraph) else None
    if first is not None:
        first.insert(0, told(words))
        field.remove(name)
    else:
        name.rawsource, name.children = "", []
        name += nodes.Text(words.rstrip(" \u2013"))
