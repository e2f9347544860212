"""Roles and links without words, within the prose of MyST Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bookbound.read.galley import Span
from bookbound.read.sphinx.config import Config
from bookbound.read.sphinx.draft import Titles
from bookbound.read.sphinx.roles import said
from bookbound.read.titles import LONGEST
from bookbound.read.woven import Swap

_TOKEN = re.compile(
    r"\{(?P<role>[A-Za-z][\w:.+-]{0,60})\}(?P<ticks>`)(?P<text>[^`]{1,2000})`(?!`)"
    r"|``(?:[^`\n]|`(?!`))*+``"
    r"|(?<!`)`(?!`)[^`\n]*+`"
    r"|(?<!!)\[\]\((?P<link>[^()\s<>]{1,500})\)"
    r"|<project:(?P<auto>[^<>\s]{1,500})>"
    r"|\{\{[ \t]*(?P<name>\w{1,100})[ \t]*\}\}"
)
_FILE = re.compile(r"(?P<doc>.+)\.(?:md|rst|ipynb)(?:#.*)?")


def inline_swaps(source: str, prose: list[Span], titles: Titles, config: Config) -> Iterator[Swap]:
    """What takes the place of roles, of links that show the title they lead to, and of names with given words."""
    shorthands, words = dict(config.shorthands), dict(config.substitutions)
    for start, end in prose:
        for found in _TOKEN.finditer(source, start, end):
            if found["role"]:
                yield from _role(found, titles, shorthands)
            elif target := found["link"] or found["auto"]:
                yield from _link(found, target, titles)
            elif found["name"] in words:
                yield Swap(found.start(), found.end(), words[found["name"]][:LONGEST])


def _role(found: re.Match[str], titles: Titles, shorthands: Mapping[str, str]) -> Iterator[Swap]:
    """A role's words stay where they are, between marks that keep Markdown away from them."""
    start = found.start("text")
    role, written = found["role"], found["text"]
    shown = said(role, written, shorthands)
    title = titles(*shown.refers) if shown.refers else None
    text = title or shown.text
    mark = "$" if role == "math" else "`"
    at = -1 if title else written.find(text)
    if not text.strip():
        yield Swap(found.start(), found.end(), "")
    elif at < 0:
        yield Swap(found.start(), found.end(), f"{mark}{text.replace('`', '')}{mark}")
    else:
        yield Swap(found.start(), start + at, mark)
        yield Swap(start + at + len(text), found.end(), mark)


def _link(found: re.Match[str], target: str, titles: Titles) -> Iterator[Swap]:
    doc = _FILE.fullmatch(target)
    title = titles("doc", doc["doc"]) if doc else titles("ref", target.removeprefix("#"))
    if title:
        yield Swap(found.start(), found.end(), f"`{title.replace('`', '')}`")
