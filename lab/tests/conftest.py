"""Fixtures of the product's tests that the lab's tests use as well."""

from __future__ import annotations

from tests.conftest import example_book, example_index, shared, shared_networks

__all__ = ["example_book", "example_index", "shared", "shared_networks"]
