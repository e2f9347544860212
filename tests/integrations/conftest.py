"""Provides an index with two editions of one book, and the newer one open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import bookbound
from bookbound import bootstrap
from bookbound.library import Book
from bookbound.settings import Settings

# Haystack reads this when it is imported. No test may send anything.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

PAGE = """# The lamp

## The wick

The wick of the lamp is trimmed every {hours} hours.

## The **fog horn**

In fog the horn sounds for four seconds in every minute.

## Stores

Paraffin is delivered by boat in spring and kept in the cellar.
"""
ANSWERED, UNANSWERED = "How long does the horn sound in fog?", "Which airline flies to Reykjavik on Sundays?"


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retrievers")
    for edition, hours in {"1.9": 8, "2.0": 12}.items():
        (source := folder / edition).mkdir()
        (source / "lamp.md").write_text(PAGE.format(hours=hours), encoding="utf-8")
        bootstrap.index_book(source, Settings(index=folder / "index", book="lights", edition=edition))
    return folder / "index"


@pytest.fixture(scope="session")
def book(index: Path) -> Iterator[Book]:
    with bookbound.open(index, book="lights") as opened:
        yield opened
