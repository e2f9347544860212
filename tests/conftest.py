"""What tests share: the folder of real books, where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: a test that fails on one machine fails on all.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real books and question sets, or a skip that says how to name it."""
    folder = Path(os.environ.get("BOOKBOUND_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data" / "books").is_dir():
        pytest.skip("no real books here: set BOOKBOUND_SHARED to the folder that holds data/books")
    return folder


@pytest.fixture(scope="session")
def example_book() -> Path:
    """The source of the book that the demo indexes."""
    return REPOSITORY / "examples" / "book"
