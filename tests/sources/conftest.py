"""Checks that hold for every page of every book."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bookbound.domain.document import Block, Page


def _span_faults(page: Page) -> list[str]:
    faults, at, start = [], 0, 0
    for span in page.spans:
        copied, origin = page.text[span.at : span.at + span.length], page.source[span.start : span.end]
        if span.at < at or span.length < 1 or span.start < start or span.end > len(page.source):
            faults.append(f"{page.file}: {span} is out of order or out of bounds")
        if len(copied) == len(origin) and copied != origin:
            faults.append(f"{page.file}: {copied!r} is not a copy of {origin!r}")
        if page.text[at : span.at].strip(" \n|"):
            faults.append(f"{page.file}: {page.text[at : span.at]!r} has no source")
        at, start = span.at + span.length, span.end
    if page.text[at:].strip(" \n|"):
        faults.append(f"{page.file}: {page.text[at:]!r} has no source")
    return faults


def _block_faults(page: Page, blocks: Sequence[Block], start: int, end: int) -> list[str]:
    faults = []
    for block in blocks:
        if not start <= block.start < block.end <= end:
            faults.append(f"{page.file}: {block.kind} at {block.start} to {block.end} leaves {start} to {end}")
        if not page.text[block.start : block.end].strip():
            faults.append(f"{page.file}: {block.kind} at {block.start} has no text")
        faults += _block_faults(page, block.children, block.start, block.end)
        start = block.end
    return faults


@pytest.fixture(scope="session")
def faults() -> Callable[[Page], list[str]]:
    """Lists what is wrong with a page's spans and blocks."""
    return lambda page: _span_faults(page) + _block_faults(page, page.blocks, 0, len(page.text))


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Path]:
    """Writes files by their paths below a new folder."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "site"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    return write
