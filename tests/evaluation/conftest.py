"""Provides a small book full of markup and a pipeline for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.settings import Settings

PAGES = {
    "drives.md": """# Drives

## Harmonic drive

A **harmonic drive** reduces the speed of a [motor](https://x.example/motor "A motor") by a large ratio.
It consists of a `wave generator`, a *flexspline* and a circular spline.[^parts]

## Ratios

| Joint | Ratio |
|---|---|
| Elbow | 120 to 1 |
| Wrist | 50 to 1 |

The wrist is light. Grease it every 500 hours.

[^parts]: Three parts.
""",
    "gaits.md": """# Gaits

A trot moves diagonal legs together. Grease it every 500 hours.

A pace moves the legs of one side together. Grease it every 500 hours.
""",
}
WriteSet = Callable[..., Path]


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation") / "book"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def pipeline(runner: asyncio.Runner, source: Path) -> Pipeline:
    settings = Settings(index=source.parent / "index", answer_threshold=0.1)
    bootstrap.index_book(source, settings)
    return runner.run(bootstrap.open_pipeline(settings))


@pytest.fixture
def write_set(tmp_path: Path) -> WriteSet:
    """Writes rows as a question set."""

    def write(*rows: Any) -> Path:
        file = tmp_path / "questions.jsonl"
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return file

    return write
