"""Parses untrusted YAML, TOML and JSON within limits, and merges settings."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml


def sanitize(value: Any) -> Any:
    """A value, its texts at any depth without the characters that an escape can name and no file can hold."""
    if isinstance(value, str):
        paired = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return paired.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {sanitize(name): sanitize(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(sanitize(inner) for inner in value)
    return value


# For a key of n parts the parser makes n lists of up to n names: a short file of one such key would fill any memory.
_OVERLONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def parse_toml(text: str) -> dict[str, Any]:
    """What a text holds; a ValueError where it is no TOML, or has a key of more parts than anybody writes."""
    if _OVERLONG_KEY.search(text):
        raise ValueError("a key without end")
    read: dict[str, Any] = sanitize(tomllib.loads(text))
    return read


_MAX_MERGE_DEPTH = 10


def deep_merge(below: dict[Any, Any], above: dict[Any, Any], depth: int = 0) -> dict[Any, Any]:
    """Both, and of what both name the one above; mappings in the same place are laid over each other likewise."""
    both = dict(below)
    for name, value in above.items():
        other = both.get(name)
        deeper = isinstance(value, dict) and isinstance(other, dict) and depth < _MAX_MERGE_DEPTH
        both[name] = deep_merge(other, value, depth + 1) if deeper and other is not None else value
    return both


_MAX_YAML_CHARS = 100_000


class SafeYamlLoader(yaml.SafeLoader):
    """Safe types, and aliases for so much alone: a few lines of them can stand for more than any memory holds."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if alias and id(node) not in self._sizes:
            raise yaml.YAMLError("an alias of what holds it")
        if isinstance(node, yaml.ScalarNode):
            node.value = sanitize(node.value)
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        inside = [one for pair in inner for one in (pair if isinstance(pair, tuple) else (pair,))]
        self._sizes[id(node)] = 1 + sum(self._sizes[id(one)] for one in inside)
        if self._sizes[id(node)] > _MAX_YAML_CHARS:
            raise yaml.YAMLError("aliases without end")
        return node


def parse_yaml(text: str, loader: type[SafeYamlLoader] = SafeYamlLoader) -> object:
    """What a piece of plain YAML holds; nothing where it is broken, very long or refers to itself."""
    try:
        # The loader keeps to safe types; a tag that its value does not fit makes it fail in many ways.
        return yaml.load(text, loader) if len(text) <= _MAX_YAML_CHARS else None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, LookupError, AttributeError, TypeError):
        return None


def parse_json(text: str) -> object:
    """What a piece of JSON holds; nothing where it is broken."""
    try:
        read: object = sanitize(json.loads(text))
        return read
    except (ValueError, RecursionError):
        return None
