"""What every page of every book must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bookbound.domain.document import Block, Page


def _run_faults(page: Page) -> list[str]:
    faults, at, start = [], 0, 0
    for run in page.runs:
        copied, origin = page.text[run.at : run.at + run.length], page.source[run.start : run.end]
        if run.at < at or run.length < 1 or run.start < start or run.end > len(page.source):
            faults.append(f"{page.file}: {run} is out of order or out of bounds")
        if len(copied) == len(origin) and copied != origin:
            faults.append(f"{page.file}: {copied!r} is no copy of {origin!r}")
        if page.text[at : run.at].strip(" \n|"):
            faults.append(f"{page.file}: {page.text[at : run.at]!r} comes from nowhere")
        at, start = run.at + run.length, run.end
    if page.text[at:].strip(" \n|"):
        faults.append(f"{page.file}: {page.text[at:]!r} comes from nowhere")
    return faults


def _block_faults(page: Page, blocks: Sequence[Block], start: int, end: int) -> list[str]:
    faults = []
    for block in blocks:
        if not start <= block.start < block.end <= end:
            faults.append(f"{page.file}: {block.kind} at {block.start} to {block.end} leaves {start} to {end}")
        if not page.text[block.start : block.end].strip():
            faults.append(f"{page.file}: {block.kind} at {block.start} shows nothing")
        faults += _block_faults(page, block.children, block.start, block.end)
        start = block.end
    return faults


@pytest.fixture(scope="session")
def faults() -> Callable[[Page], list[str]]:
    """What is wrong with a page's runs and blocks."""
    return lambda page: _run_faults(page) + _block_faults(page, page.blocks, 0, len(page.text))


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Path]:
    """Writes files, given by path, below a folder of their own."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "site"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    return write
