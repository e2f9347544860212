"""The figures of a question set together with what they were measured on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import bookbound
from bookbound.ask import Pipeline
from bookbound.calibration import InForce
from bookbound.measure.figures import Plain, figures
from bookbound.measure.outcome import Outcome


def report(pipeline: Pipeline, outcomes: Sequence[Outcome], held: InForce) -> Plain:
    """All that JSON, tables and page are made of."""
    manifest = pipeline.index.manifest
    return {
        "bookbound": bookbound.__version__,
        "index": {
            "title": manifest.title,
            "generation": manifest.generation,
            "embedder": manifest.embedder,
            "chunks": manifest.chunks,
        },
        "operating_point": {**asdict(held.point), "origin": held.origin},
        **figures(outcomes),
    }
