"""Changes parts of an open pipeline for a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bookbound.answering.pipeline import Pipeline


def with_engine(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Returns the pipeline with other models or services."""
    return replace(pipeline, engine=replace(pipeline.engine, **changes))


def with_point(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """Returns the pipeline with other thresholds."""
    point = replace(pipeline.book.operating_point, **changes)
    return replace(pipeline, book=replace(pipeline.book, operating_point=point))
