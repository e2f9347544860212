"""Settings of strangers hold only text that can be written down."""

from __future__ import annotations

from typing import Any


def sound(value: Any) -> Any:
    """A value, its texts at any depth without the characters that an escape can name and no file can hold."""
    if isinstance(value, str):
        paired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return paired.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {sound(name): sound(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(sound(inner) for inner in value)
    return value
