"""One frozen Settings: from `bookbound.toml`, then the environment, then the command line."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from bookbound.errors import BadSetup

PREFIX = "BOOKBOUND_"
FILE = "bookbound.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default; nothing here is read again after start."""

    index: Path = Path(".bookbound")
    threads: int = 2
    answered: float | None = None
    qdrant_url: str | None = None
    qdrant_key: str | None = None
    qdrant_collection: str = "bookbound"

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise BadSetup("The setting `threads` must be 1 or more.")
        if self.answered is not None and not 0 <= self.answered <= 1:
            raise BadSetup("The setting `answered` is a probability: give a number from 0 to 1.")

    def __repr__(self) -> str:
        shown = {f.name: getattr(self, f.name) for f in fields(self) if not f.name.endswith("_key")}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def load(environment: Mapping[str, str] = os.environ, folder: Path | None = None, **given: Any) -> Settings:
    """Settings from the file `bookbound.toml` in `folder`, overridden by the environment, overridden by `given`."""
    values = _from_file((folder or Path.cwd()) / FILE)
    names = {f.name for f in fields(Settings)}
    if unknown := sorted(values.keys() - names):
        raise BadSetup(f"{FILE} sets `{unknown[0]}`, which is no setting; known are {', '.join(sorted(names))}.")
    values |= {name: environment[PREFIX + name.upper()] for name in names if PREFIX + name.upper() in environment}
    values |= {name: value for name, value in given.items() if value is not None}
    hints = get_type_hints(Settings)
    return replace(Settings(), **{name: _as(hints[name], value, name) for name, value in values.items()})


def _from_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as trouble:
        raise BadSetup(f"{FILE} is not valid TOML: {trouble}") from trouble


def _as(hint: Any, value: Any, name: str) -> Any:
    """`value` as the setting's type; text from the environment is converted."""
    kind = next((kind for kind in (Path, int, float, str) if kind in (hint, *getattr(hint, "__args__", ()))), str)
    try:
        return value if isinstance(value, kind) and not isinstance(value, bool) else kind(value)
    except (TypeError, ValueError) as trouble:
        raise BadSetup(f"The setting `{name}` must be {_WORDS[kind]}.") from trouble


_WORDS = {Path: "a path", int: "a whole number", float: "a number", str: "text"}
