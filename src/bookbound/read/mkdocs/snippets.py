"""What a page of an MkDocs site takes from other files: snippets and included code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bookbound.read import files
from bookbound.read.woven import DEEPEST, Shelf, Swap, weave

_MARKER = re.compile(
    r"""^(?P<space>[ \t]*)(?P<escape>;*)-+8<-+(?:[ \t]+(?P<quote>["'])(?P<name>[^"'\n]+)(?P=quote))?[ \t]*$"""
    r"""|\{\*[ \t]*+(?P<code>[^\s{}*]++)(?P<options>[^{}*\n]*+)\*\}|\{!(?P<plain>[^{}!\n]++)!\}""",
    re.MULTILINE,
)
_SECTION = re.compile(r"-+8<-+[ \t]+\[[ \t]*(?P<end>start|end)[ \t]*:[ \t]*(?P<name>[A-Za-z][\w-]*)[ \t]*\]")
_PART = re.compile(
    r"(?P<file>.*?)(?::(?P<ranges>\d{0,9}(?::\d{0,9})?(?:,\d{0,9}(?::\d{0,9})?)*+)|:(?P<section>[A-Za-z][\w-]*))?"
)
_LONGEST = 1_000
_LINES = re.compile(r"\bln\[(?P<ranges>[\d:,-]+)\]")


class Snippets:
    """Finds snippets below the folders that a site names, and code beside its configuration."""

    def __init__(self, shelf: Shelf, bases: list[Path]) -> None:
        self._shelf = shelf
        self._bases = bases

    def swaps(self, source: str, start: int = 0, depth: int = 0) -> list[Swap]:
        """The snippets of a page from `start` on, each with the words that the site puts in its place."""
        swaps: list[Swap] = []
        block: re.Match[str] | None = None
        for found in _MARKER.finditer(source, start):
            if found["escape"]:
                swaps.append(Swap(found.start("escape"), found.start("escape") + 1, ""))
            elif found["code"] or found["plain"]:
                code = found["code"]
                words = self._code(code, found["options"]) if code else self._text(found["plain"].strip())
                swaps.append(Swap(*found.span(), words))
            elif found["name"]:
                words = self._snippet(found["name"], found["space"], depth) if block is None else ""
                swaps += [Swap(*found.span(), words)] if block is None else []
            elif block is None:
                block = found
            else:
                names = source[block.end() : found.start()].split("\n")
                words = "\n".join(self._snippet(name, "", depth) for name in names if name.strip())
                while swaps and swaps[-1].end > block.start():
                    swaps.pop()
                swaps.append(Swap(block.start(), found.end(), words))
                block = None
        return swaps

    def _snippet(self, name: str, space: str, depth: int) -> str:
        part = _PART.fullmatch(name.strip()[:_LONGEST])
        text = self._text(part["file"]) if part and depth < DEEPEST and not name.startswith(";") else ""
        if part and part["section"]:
            lines = list(_section(text, part["section"]))
        else:
            ranges = [one.partition(":") for one in ((part and part["ranges"]) or ":").split(",")]
            whole = text.splitlines()
            parts = [whole[max(int(first or 1) - 1, 0) : int(last) if last else None] for first, _, last in ranges]
            lines = [line for lines in parts for line in lines if not _SECTION.search(line)]
        words = "\n".join(lines)
        words = weave(words, self.swaps(words, depth=depth + 1)).text
        return "\n".join(space + line for line in words.split("\n"))

    def _code(self, name: str, options: str) -> str:
        """A file as a piece of code, or those lines of it that the options name."""
        lines = self._text(name).splitlines()
        chosen = _LINES.search(options)
        if chosen:
            lines = [line for one in chosen["ranges"].split(",") for line in lines[_range(one)]]
        suffix = name.rpartition(".")[2] if "." in name else ""
        return f"```{'python' if suffix == 'py' else suffix}\n" + "\n".join(lines) + "\n```" if lines else ""

    def _text(self, name: str) -> str:
        paths = [path for base in self._bases if (path := files.beside(base, name))]
        path = next((path for path in paths if files.is_file(path)), None)
        return self._shelf.text(path, name) or ""


def _range(written: str) -> slice:
    first, _, last = written.replace("-", ":").partition(":")
    start = max(int(first[:9] or 1) - 1, 0) if first.isdecimal() or not first else 0
    return slice(start, int(last[:9]) if last.isdecimal() else start + 1)


def _section(text: str, name: str) -> Iterator[str]:
    """The lines between the marks of a section; those of others go."""
    inside = False
    for line in text.splitlines():
        mark = _SECTION.search(line)
        if mark and mark["name"] == name:
            inside = mark["end"] == "start"
        elif inside and not mark:
            yield line
