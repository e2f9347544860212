"""Converts a Jupyter notebook to Markdown, without the outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, file_loader
from bookbound.sources.file_loader import Loaded
from bookbound.sources.myst.directives import fence_code
from bookbound.sources.safe_config import ConfigFields, replace_lone_surrogates

# Pictures and outputs, which are dropped, are most of a large notebook.
_MAX_NOTEBOOK_BYTES = 5 * file_loader.MAX_PAGE_BYTES
_DROPPED_KEYS = frozenset(("outputs", "attachments", "widgets"))
_REMOVED_CELL_TAGS = frozenset(("remove-cell", "remove_cell"))
_HIDDEN_INPUT_TAGS = frozenset(("remove-input", "remove_input"))
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,}|:{3,})(.*)$", re.MULTILINE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


def load_notebook_as_markdown(path: Path, file: str) -> Loaded[str]:
    """Load the cells that a reader sees, joined as Markdown."""
    text, notices = file_loader.load_text(path, file, _MAX_NOTEBOOK_BYTES)
    if text is None:
        return Loaded(None, notices)
    try:
        # Outputs and pictures can be most of a file.
        notebook = json.loads(text, object_pairs_hook=lambda pairs: {k: v for k, v in pairs if k not in _DROPPED_KEYS})
    except (ValueError, RecursionError):
        notebook = None
    if not isinstance(notebook, dict):
        return Loaded(None, [*notices, SourceNotice(file, "is not a valid notebook; left out", lost=True)])
    return Loaded("\n\n".join(_render_cells(notebook)) + "\n", notices)


def _render_cells(notebook: dict[str, Any]) -> Iterator[str]:
    own = ConfigFields(notebook).section("metadata")
    name = own.section("language_info").text("name") or own.section("kernelspec").text("language")
    language = name if _LANGUAGE.fullmatch(name) else "python"
    # The cells of version 3 are in worksheets.
    sheets = notebook.get("worksheets")
    cells = (ConfigFields.of(each).list_items("cells") for each in (sheets if isinstance(sheets, list) else [notebook]))
    for cell in (cell for each in cells for cell in each if isinstance(cell, dict)):
        kind, text = cell.get("cell_type"), _join_lines(cell.get("source", cell.get("input")))
        metadata = ConfigFields(cell).section("metadata")
        tags = {tag for tag in metadata.list_items("tags") if isinstance(tag, str)}
        if not text.strip() or tags & _REMOVED_CELL_TAGS or metadata.text("nbsphinx") == "hidden":
            continue
        if kind == "markdown":
            yield _close_fences(text)
        elif kind == "heading":
            level = cell.get("level")
            yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(text.split())}"
        elif kind == "code" and not tags & _HIDDEN_INPUT_TAGS:
            cell_language = cell.get("language") or language
            is_valid = isinstance(cell_language, str) and cell_language.isalnum()
            yield fence_code(text, cell_language if is_valid else "")


def _join_lines(value: Any) -> str:
    """Join the source of a cell, which is a text or a list of lines."""
    lines = value if isinstance(value, list) else [value]
    text = "".join(line for line in lines if isinstance(line, str))
    return replace_lone_surrogates(decoding.normalize_newlines(text))


def _close_fences(text: str) -> str:
    """Close the fences that a cell leaves open."""
    open_fences: list[str] = []
    for marks, rest in _FENCE.findall(text):
        if open_fences and marks.startswith(open_fences[-1]) and not rest.strip():
            open_fences.pop()
        elif not open_fences or open_fences[-1][0] == ":" or "{" in rest:
            open_fences.append(marks)
    return "\n".join((text.rstrip(), *reversed(open_fences)))
