"""What a page of an mdBook takes from other files: `{{#include}}` and its kin."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.read import decode, files
from bookbound.read.woven import DEEPEST, Shelf, Swap, weave

_LINK = re.compile(r"\\\{\{#|\{\{\s*+#(?P<name>\w++)\s++(?P<target>[^{}\n]++)\}\}")
_START, _END = re.compile(r"ANCHOR:\s*([\w-]+)"), re.compile(r"ANCHOR_END:\s*([\w-]+)")
_INCLUDES = frozenset(("include", "rustdoc_include", "playground", "playpen", "template"))
_SLOT = re.compile(r"\[\[#(?P<name>[\w-]++)(?:[ \t]++(?P<usual>[^\[\]\n]*+))?\]\]")
_LONGEST = 1_000
_GIVEN = re.compile(r"(?P<name>[\w-]++)=(?P<value>(?:(?![ \t]++[\w-]++=)[^\n])*+)")


def links(source: str, path: Path, shelf: Shelf, start: int = 0, depth: int = 0) -> list[Swap]:
    """The links of the page at `path` from `start` on, each with the words that mdBook puts in its place."""
    swaps = []
    for found in _LINK.finditer(source, start):
        if found[0].startswith("\\"):
            swaps.append(Swap(found.start(), found.start() + 1, ""))
        elif found["name"] == "title":
            swaps.append(Swap(*found.span(), ""))
        elif found["name"] in _INCLUDES:
            words = _included(found["name"], found["target"], path, shelf, depth)
            swaps.append(Swap(*found.span(), words))
    return swaps


def _included(name: str, target: str, path: Path, shelf: Shelf, depth: int) -> str:
    called, _, properties = target.strip().partition(" ")
    file, _, part = called.partition(":")
    other = files.beside(path.parent, file)
    text = shelf.text(other, file) if depth < DEEPEST else None
    if text is None or other is None:
        return ""
    if name in ("playground", "playpen"):
        return f"```rust,{properties.strip()}\n{text.rstrip()}\n```"
    if name == "template":
        text = _filled(text, properties[:_LONGEST])
    words = _part(text, part)
    return weave(words, links(words, other, shelf, depth=depth + 1)).text


def _filled(text: str, properties: str) -> str:
    """A template with what it is given; one that would grow beyond all bounds stays as it is."""
    given = {one["name"]: one["value"].strip() for one in _GIVEN.finditer(properties)}
    if text.count("[[#") * len(properties) > decode.LARGEST:
        return text
    return _SLOT.sub(lambda slot: given.get(slot["name"], slot["usual"] or ""), text)


def _part(text: str, part: str) -> str:
    """All lines, those of a range such as `2`, `2:`, `:10` and `2:10`, or those between the ends of an anchor."""
    lines = text.splitlines()
    first, colon, last = part.partition(":")
    if first and not first.isdecimal():
        return "\n".join(_anchored(lines, first))
    start = max(int(first[:9] or 1) - 1, 0)
    end = int(last[:9]) if last.isdecimal() else len(lines) if colon or not first else start + 1
    return "\n".join(lines[start:end])


def _anchored(lines: list[str], name: str) -> list[str]:
    kept, inside = [], False
    for line in lines:
        opened, closed = _START.search(line), _END.search(line)
        if closed and closed[1] == name:
            break
        if opened and opened[1] == name:
            inside = True
        elif inside and not opened and not closed:
            kept.append(line)
    return kept
