"""A GitBook: the pages of its table of contents, where its configuration says that it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bookbound.book import Manuscript
from bookbound.read import decode, files
from bookbound.read.folder import read_folder
from bookbound.read.frontmatter import FrontMatter, load

_CONFIG, _SUMMARY = ".gitbook.yaml", "SUMMARY.md"


def knows_gitbook(source: Path) -> bool:
    """Whether this is a folder with a table of contents, or a configuration that names one, as GitBook wants them."""
    return files.is_folder(source) and (files.is_file(source / _SUMMARY) or _table(source) is not None)


def read_gitbook(source: Path) -> Manuscript:
    """The pages that the table of contents lists."""
    return replace(read_folder(source, table=_table(source), includes=True), kind="gitbook")


def _table(source: Path) -> Path | None:
    """The table of contents that the configuration names, inside of the folder."""
    text, _ = decode.load(source / _CONFIG, _CONFIG, decode.LARGEST_SETTINGS)
    fields = load(text) if text is not None else None
    if not isinstance(fields, dict):
        return None
    structure = fields.get("structure")
    named = FrontMatter(structure).text("summary") if isinstance(structure, dict) else ""
    home = files.beside(source, FrontMatter(fields).text("root").lstrip("/") or ".")
    table = files.beside(home, named or _SUMMARY) if home else None
    return table if table and files.is_file(table) and files.is_inside(table, source) else None
