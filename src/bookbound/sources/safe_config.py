"""Parses untrusted YAML, TOML and JSON within limits, and reads typed values from the result."""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml

from bookbound.sources.file_loader import load_config_text
from bookbound.sources.titles import MAX_TITLE_CHARS

# The TOML parser makes n lists of up to n names for a key of n parts: one long key could fill the memory.
_OVERLONG_TOML_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
_MAX_YAML_CHARS = 100_000
# Deeper settings replace each other as a whole; no generator nests its own so deeply.
_MAX_MERGE_DEPTH = 10


@dataclass(frozen=True, slots=True)
class ConfigFields:
    """Reads typed values from a mapping of any content."""

    fields: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object) -> Self:
        """Wrap a parsed value; anything but a mapping has no fields."""
        return cls(value if isinstance(value, dict) else {})

    def get(self, name: str) -> Any:
        return self.fields.get(name)

    def section(self, name: str) -> ConfigFields:
        return ConfigFields.of(self.fields.get(name))

    def list_items(self, name: str) -> list[Any]:
        """Return the items of a list; other values count as empty."""
        value = self.fields.get(name)
        return value if isinstance(value, list) else []

    def text(self, name: str) -> str:
        """Return a scalar as text; other values count as empty."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        try:
            return str(value)[:MAX_TITLE_CHARS].strip()
        except ValueError:  # Python refuses to write out very long integers
            return ""

    def number(self, name: str) -> float | None:
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            return None

    def flag(self, name: str) -> bool:
        return self.fields.get(name) is True


def replace_lone_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone ones, which no file can contain."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def sanitize(value: Any) -> Any:
    """Replace lone surrogates and NUL characters in all strings of a value, at any depth."""
    if isinstance(value, str):
        return replace_lone_surrogates(value).replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {sanitize(name): sanitize(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(sanitize(inner) for inner in value)
    return value


def deep_merge(base: dict[Any, Any], override: dict[Any, Any], depth: int = 0) -> dict[Any, Any]:
    """Merge two mappings, and the mappings inside them; `override` wins."""
    merged = dict(base)
    for name, value in override.items():
        other = merged.get(name)
        if isinstance(value, dict) and isinstance(other, dict) and depth < _MAX_MERGE_DEPTH:
            value = deep_merge(other, value, depth + 1)
        merged[name] = value
    return merged


class SafeYamlLoader(yaml.SafeLoader):
    """Loads safe types and limits aliases, because a few lines of aliases can expand beyond any memory."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        is_alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if is_alias and id(node) not in self._sizes:
            raise yaml.YAMLError("an alias refers to a node that contains it")
        if isinstance(node, yaml.ScalarNode):
            node.value = sanitize(node.value)
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        nodes = [one for pair in inner for one in (pair if isinstance(pair, tuple) else (pair,))]
        self._sizes[id(node)] = 1 + sum(self._sizes[id(one)] for one in nodes)
        if self._sizes[id(node)] > _MAX_YAML_CHARS:
            raise yaml.YAMLError("the aliases expand to too much")
        return node


def parse_yaml(text: str, loader: type[SafeYamlLoader] = SafeYamlLoader) -> object:
    """Parse YAML; return nothing if it is broken, too long or refers to itself."""
    try:
        # A tag that does not fit its value makes the loader fail in many ways.
        return yaml.load(text, loader) if len(text) <= _MAX_YAML_CHARS else None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, LookupError, AttributeError, TypeError):
        return None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, or raise ValueError if it is broken or has a key of very many parts."""
    if _OVERLONG_TOML_KEY.search(text):
        raise ValueError("a key has too many parts")
    return tomllib.loads(text)


def parse_config(text: str, suffix: str) -> object:
    """Parse JSON, TOML or, with any other suffix, YAML; return nothing if it is broken."""
    if suffix not in (".json", ".toml"):
        return parse_yaml(text)
    try:
        found: object = sanitize(json.loads(text) if suffix == ".json" else parse_toml(text))
        return found
    except (ValueError, RecursionError):
        return None


def load_config(path: Path) -> object:
    """Parse a JSON, TOML or YAML file; return nothing if it is missing or broken."""
    return parse_config(load_config_text(path) or "", path.suffix)
