"""Finds the setting that a misspelt name may mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def find_near_name(name: str, known: Sequence[str]) -> str:
    """The setting with almost the same name, or the only one that has all words of this name, or an empty text."""
    from difflib import get_close_matches

    wanted = name.lower().replace("-", "_")
    with_words = [each for each in known if set(wanted.split("_")) <= set(each.split("_"))]
    return next(iter(get_close_matches(wanted, known, 1, 0.75) or (with_words if len(with_words) == 1 else [])), "")


def describe_unknown_names(values: Mapping[str, Any], known: Sequence[str]) -> str:
    """What to do about each value that is not a setting; an empty text if there is none."""
    hints: dict[str, str] = {}
    for name in sorted(values.keys() - set(known)):
        near = find_near_name(name, known)
        section = " Write settings without a [section]." if isinstance(values[name], dict) else ""
        hints[name] = f" Did you mean {near}?" if near else section
    problems = " It ".join(f"sets `{name}`, which is not a setting.{hint}" for name, hint in hints.items())
    return problems if all(hints.values()) else f"{problems} Settings are: {', '.join(known)}."
