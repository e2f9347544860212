"""What tests share: the folder of real books, where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: a test that fails on one machine fails on all.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

LONGEST = ("indexing/store/test_kills", "test_readme", "server/test_faults", "server/test_openapi", "sources/test_hostile_files")
"""The files that take longest. They are begun first, so that no process is left with one of them at the end."""

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        file = item.nodeid.partition("::")[0]
        return next((n for n, name in enumerate(LONGEST) if file == f"tests/{name}.py"), len(LONGEST))

    items.sort(key=rank)
