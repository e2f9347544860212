"""Reads a GitBook: the pages that its SUMMARY.md lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.domain.document import ParsedBook
from bookbound.sources import files
from bookbound.sources.plain_folder import read_plain_folder
from bookbound.sources.safe_config import ConfigFields, load_config

_SUMMARY = "SUMMARY.md"


def is_gitbook_source(source: Path) -> bool:
    """Whether this folder has a SUMMARY.md or a configuration that names one."""
    return files.is_folder(source) and (files.is_file(source / _SUMMARY) or _find_summary_path(source) is not None)


def read_gitbook(source: Path) -> ParsedBook:
    book = read_plain_folder(source, contents=_find_summary_path(source), expands_includes=True)
    return replace(book, kind="gitbook")


def _find_summary_path(source: Path) -> Path | None:
    """Return the table of contents that `.gitbook.yaml` names, if it is inside the folder."""
    config = load_config(source / ".gitbook.yaml")
    if not isinstance(config, dict):
        return None
    fields = ConfigFields(config)
    home = files.resolve_relative_path(source, fields.text("root").lstrip("/") or ".")
    path = files.resolve_relative_path(home, fields.section("structure").text("summary") or _SUMMARY) if home else None
    return path if path and files.is_file(path) and files.is_inside(path, source) else None
