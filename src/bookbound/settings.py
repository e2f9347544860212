"""Loads the settings from bookbound.toml, the environment and the command line, and warns about unknown variables."""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from shlex import quote
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError

ENVIRONMENT_PREFIX = "BOOKBOUND_"
SETTINGS_FILE = "bookbound.toml"
SETTING_RANGES = {
    "log_days": (1, 36500),
    "threads": (1, 256),
    "at_once": (1, 1024),
    "queue": (0, 65536),
    "largest_body": (1024, 1 << 30),
    "temperature": (0, 2),
    "deadline": (0.1, 600),
    "remembered": (0, 1 << 20),
    "qdrant_timeout": (0.1, 600),
    "qdrant_shards": (1, 1024),
    "qdrant_replicas": (1, 64),
    "qdrant_confirmed": (1, 64),
}
SETTING_CHOICES = {
    "log": ("on", "off"),
    "log_addresses": ("hashed", "plain"),
    "limits": ("on", "off"),
    "access": ("public", "keys"),
    "logging": ("pretty", "json"),
    "metrics": ("on", "off"),
    "model_api": ("chat", "responses"),
    "on_model_failure": ("quotes", "error"),
    "embedder": ("local", "cohere", "openai"),
    "examiner": ("local", "cohere"),
}
SECRET_SUFFIXES = ("_key", "_url")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default; nothing here is read again after start."""

    index: Path = Path(".bookbound")
    threads: int = 2
    answered: float | None = None
    qdrant_url: str | None = None
    qdrant_key: str | None = None
    qdrant_collection: str = "bookbound"
    qdrant_shards: int = 1
    qdrant_replicas: int = 1
    qdrant_confirmed: int = 1
    qdrant_timeout: float = 5.0
    model: str | None = None
    model_url: str | None = None
    model_key: str | None = None
    model_api: str = "chat"
    temperature: float = 0.0
    deadline: float = 30.0
    on_model_failure: str = "quotes"
    embedder: str = "local"
    embed_model: str | None = None
    embed_url: str | None = None
    embed_key: str | None = None
    remembered: int = 1024
    examiner: str = "local"
    rerank_model: str = "rerank-v3.5"
    cohere_key: str | None = None
    cohere_url: str | None = None
    log: str = "on"
    log_url: str | None = None
    log_days: int = 90
    log_addresses: str = "hashed"
    log_key: str | None = None
    limits: str = "on"
    session_limit: str = "10/minute"
    address_limit: str = "20/minute"
    key_limit: str = "600/minute"
    question_limit: str = "120/minute"
    redis_url: str | None = None
    proxies: tuple[str, ...] = ()
    access: str = "public"
    keys: Path | None = None
    logging: str = "pretty"
    metrics: str = "on"
    traces_url: str | None = None
    book: str | None = None
    edition: str | None = None
    crawl_hosts: tuple[str, ...] = ()
    at_once: int = 4
    queue: int = 64
    largest_body: int = 131072
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, (least, most) in SETTING_RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise ConfigError(f"The setting `{name}` must be from {least} to {most}.")
        for name, known in SETTING_CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"The setting `{name}` must be one of {', '.join(known)}.")
        if self.answered is not None and not 0 <= self.answered <= 1:
            raise ConfigError("The setting `answered` is a probability: give a number from 0 to 1.")

    @property
    def volume(self) -> BookRef:
        """The book and edition that are named, if any."""
        return BookRef(self.book or "", self.edition or "").checked()

    def naming(self, volume: BookRef) -> Settings:
        """The same settings, with the name of a volume."""
        return replace(self, book=volume.book or None, edition=volume.edition or None)

    def __repr__(self) -> str:
        shown = {f.name: getattr(self, f.name) for f in fields(self) if not f.name.endswith(SECRET_SUFFIXES)}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def format_index_option(index: Path) -> str:
    """What to add to a command so that it finds an index that is not in the usual place, with a space before it."""
    return "" if index == Settings().index else f" --index {quote(str(index))}"


def load_settings(environment: Mapping[str, str] = os.environ, folder: Path | None = None, **given: Any) -> Settings:
    """Settings from the file `bookbound.toml` in `folder`, overridden by the environment, overridden by `given`."""
    values = _read_settings_file((folder or _working_directory()) / SETTINGS_FILE)
    names = {f.name for f in fields(Settings)}
    if unknown := sorted(values.keys() - names):
        raise ConfigError(
            f"{SETTINGS_FILE} sets `{unknown[0]}`, which is no setting; known are {', '.join(sorted(names))}."
        )
    values |= {
        name: environment[ENVIRONMENT_PREFIX + name.upper()]
        for name in names
        if ENVIRONMENT_PREFIX + name.upper() in environment
    }
    if given.get("index") is not None:
        values["qdrant_url"] = None  # whoever names a folder means that folder
    values |= {name: value for name, value in given.items() if value is not None}
    hints = get_type_hints(Settings)
    return replace(Settings(), **{name: _convert_setting(hints[name], value, name) for name, value in values.items()})


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as trouble:
        raise ConfigError("The working directory was removed. Change to one that is there.") from trouble


def _read_settings_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except RecursionError:
        raise ConfigError(f"{SETTINGS_FILE} is nested too deeply.") from None
    except ValueError as trouble:  # no TOML, no UTF-8, or a number beyond all measure
        raise ConfigError(f"{SETTINGS_FILE} is not valid TOML: {trouble}") from trouble


def _convert_setting(hint: Any, value: Any, name: str) -> Any:
    """`value` as the setting's type; text from the environment is converted, and nothing else changes its kind."""
    kinds = (get_origin(hint), hint, *get_args(hint))
    if value is None and NoneType in kinds:
        return None
    kind = next(kind for kind in _CONVERTERS if kind in kinds)
    convert, words = _CONVERTERS[kind]
    try:
        if isinstance(value, bool) or (isinstance(value, float) and kind is int):
            raise TypeError
        return convert(value)
    except (TypeError, ValueError, OverflowError) as trouble:
        raise ConfigError(f"The setting `{name}` must be {words}.") from trouble


def _to_text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    return value


def _to_path(value: Any) -> Path:
    if isinstance(value, Path):
        return value
    if not _to_text(value).strip():
        raise ValueError
    return Path(value)


def _to_tuple(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        value = _to_text(value).split(",")
    return tuple(part.strip() for part in map(_to_text, value) if part.strip())


_CONVERTERS: dict[type, tuple[Callable[[Any], Any], str]] = {
    tuple: (_to_tuple, "a list, or text with commas between"),
    Path: (_to_path, "a path"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (_to_text, "text"),
}
OTHER_VARIABLES = {"DEBUG"}
"""Variables of the environment that are no settings."""
SIMILARITY_CUTOFF = 0.75
"""How alike a name must be to a setting's to be taken for it, misspelt."""


def find_unknown_settings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """A word on each variable of the environment that looks like a setting and is none."""
    names = {f.name.upper() for f in fields(Settings)}
    given = {name.removeprefix(ENVIRONMENT_PREFIX) for name in environment if name.startswith(ENVIRONMENT_PREFIX)}
    others = sorted(given - names - OTHER_VARIABLES)
    if not others:
        return []
    from difflib import get_close_matches

    near = ((name, get_close_matches(name, names, 1, SIMILARITY_CUTOFF)) for name in others)
    return [
        f"{ENVIRONMENT_PREFIX}{name} is no setting. Was {ENVIRONMENT_PREFIX}{meant[0]} meant?"
        for name, meant in near
        if meant
    ]


def warn_unknown_settings() -> None:
    """A warning for each of these."""
    for word in find_unknown_settings():
        warnings.warn(word, stacklevel=2)
