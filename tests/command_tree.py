"""Builds the tree of commands once per process: that takes longer than most commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import pytest
import typer.testing


@contextmanager
def share_command_tree() -> Iterator[None]:
    build_once = lru_cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", build_once)
        patch.setattr("typer.testing._get_command", build_once)
        yield
