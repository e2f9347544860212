"""Provides helpers for the tests of contracts: a book with scripted replies, and a check of models."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from bookbound.answering.pipeline import Pipeline
from bookbound.domain.reply import Reply
from bookbound.library import Book
from bookbound.testing import ScriptedPipeline


@contextmanager
def open_scripted_book(script: Reply | Exception) -> Iterator[tuple[Book, ScriptedPipeline]]:
    """A book with one reply, and the pipeline that keeps its questions."""
    pipeline = ScriptedPipeline(script)
    with asyncio.Runner() as runner:
        yield Book(cast(Pipeline, pipeline), runner), pipeline


def is_valid(model: type[BaseModel], value: dict[str, Any]) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True
