"""Converts a Jupyter notebook to Markdown, without the outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding

_MAX_NOTEBOOK_BYTES = 5 * decoding.MAX_PAGE_BYTES
_DROPPED_KEYS = frozenset(("outputs", "attachments", "widgets"))
_REMOVED_CELL_TAGS = frozenset(("remove-cell", "remove_cell"))
_HIDDEN_INPUT_TAGS = frozenset(("remove-input", "remove_input"))
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,}|:{3,})(.*)$", re.MULTILINE)


def load_notebook_as_markdown(path: Path, file: str) -> tuple[str | None, list[SourceNotice]]:
    """The cells that a reader sees, joined as Markdown, or nothing, and what was odd about the file."""
    text, notices = decoding.load_text(path, file, _MAX_NOTEBOOK_BYTES)
    if text is None:
        return None, notices
    try:
        notebook = json.loads(text, object_pairs_hook=_drop_outputs)
    except (ValueError, RecursionError):
        return None, [*notices, SourceNotice(file, "is no notebook that can be read; left out", lost=True)]
    if not isinstance(notebook, dict):
        return None, [*notices, SourceNotice(file, "is no notebook; left out", lost=True)]
    return "\n\n".join(_render_cells(notebook)) + "\n", notices


def _drop_outputs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without what a notebook shows as pictures and outputs, which may be most of it."""
    return {name: value for name, value in pairs if name not in _DROPPED_KEYS}


def _render_cells(notebook: dict[str, Any]) -> Iterator[str]:
    language = _notebook_language(notebook)
    for cell in _iterate_cells(notebook):
        kind, words = cell.get("cell_type"), _join_lines(cell.get("source", cell.get("input")))
        tags = _cell_tags(cell)
        if not words.strip() or tags & _REMOVED_CELL_TAGS or _get_dict(cell, "metadata").get("nbsphinx") == "hidden":
            continue
        if kind == "markdown":
            yield _close_fences(words)
        elif kind == "heading":
            level = cell.get("level")
            yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(words.split())}"
        elif kind == "code" and not tags & _HIDDEN_INPUT_TAGS:
            yield _fence_code(words, cell.get("language") or language)


def _iterate_cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells of this format of notebooks, or those of the sheets that the format before had."""
    sheets = notebook.get("worksheets")
    holders = sheets if isinstance(sheets, list) else [notebook]
    for holder in holders:
        cells = holder.get("cells") if isinstance(holder, dict) else None
        yield from (cell for cell in (cells if isinstance(cells, list) else []) if isinstance(cell, dict))


def _get_dict(holder: dict[str, Any], name: str) -> dict[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, dict) else {}


def _cell_tags(cell: dict[str, Any]) -> set[str]:
    tags = _get_dict(cell, "metadata").get("tags")
    return {tag for tag in tags if isinstance(tag, str)} if isinstance(tags, list) else set()


def _notebook_language(notebook: dict[str, Any]) -> str:
    about = _get_dict(notebook, "metadata")
    named = _get_dict(about, "language_info").get("name") or _get_dict(about, "kernelspec").get("language")
    return named if isinstance(named, str) and re.fullmatch(r"[\w+#.-]{1,40}", named) else "python"


def _join_lines(value: Any) -> str:
    """What a cell holds: a text, or the lines of one."""
    lines = value if isinstance(value, list) else [value]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _fence_code(words: str, language: Any) -> str:
    longest = max(map(len, re.findall(r"`{3,}", words)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language if isinstance(language, str) and language.isalnum() else ''}\n{words.rstrip()}\n{ticks}"


def _close_fences(words: str) -> str:
    """Markdown that leaves no fence open: a cell ends what it began."""
    waiting: list[str] = []
    for marks, rest in _FENCE.findall(words):
        ends = waiting and marks[0] == waiting[-1][0] and len(marks) >= len(waiting[-1]) and not rest.strip()
        if ends:
            waiting.pop()
        elif not waiting or waiting[-1][0] == ":" or "{" in rest:
            waiting.append(marks)
    return "\n".join((words.rstrip(), *reversed(waiting)))
