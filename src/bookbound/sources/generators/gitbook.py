"""Reads a GitBook: the pages that its SUMMARY.md lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.domain.document import ParsedBook
from bookbound.sources import decoding, files
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.plain_folder import read_plain_folder
from bookbound.sources.safe_config import parse_yaml

_CONFIG, _SUMMARY = ".gitbook.yaml", "SUMMARY.md"


def is_gitbook_source(source: Path) -> bool:
    """Whether this is a folder with a table of contents, or a configuration that names one, as GitBook wants them."""
    return files.is_folder(source) and (files.is_file(source / _SUMMARY) or _find_summary_path(source) is not None)


def read_gitbook(source: Path) -> ParsedBook:
    """The pages that the table of contents lists."""
    return replace(read_plain_folder(source, table=_find_summary_path(source), includes=True), kind="gitbook")


def _find_summary_path(source: Path) -> Path | None:
    """The table of contents that the configuration names, inside of the folder."""
    text, _ = decoding.load_text(source / _CONFIG, _CONFIG, decoding.MAX_CONFIG_BYTES)
    fields = parse_yaml(text) if text is not None else None
    if not isinstance(fields, dict):
        return None
    structure = fields.get("structure")
    named = FrontMatter(structure).text("summary") if isinstance(structure, dict) else ""
    home = files.resolve_relative_path(source, FrontMatter(fields).text("root").lstrip("/") or ".")
    table = files.resolve_relative_path(home, named or _SUMMARY) if home else None
    return table if table and files.is_file(table) and files.is_inside(table, source) else None
