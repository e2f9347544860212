"""Chooses the thresholds for answering: a setting, a calibration of this book, or the shipped default."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import ConfigError
from bookbound.domain.manifest import Manifest
from bookbound.models import (
    CONSTANTS_FILE,
    DIGESTS_FILE,
    EMBEDDER_FILE,
    FAST_READER_FILE,
    STRONG_READER_FILE,
    damaged_model_error,
    load_constants,
)
from bookbound.settings import Settings, format_index_option

OPERATING_POINT_FILE = "operating-point.json"
CALIBRATION_KEYS = ("point", "wanted", "curve", "held_out")
OPTIONAL_FIELDS = ("title", "kind")
"""Fields that older files do not have."""
POINT_KEYS = {"answered": "answer_threshold", "relevant": "relevance_threshold", "unsure": "unsure_threshold"}
CALIBRATION_FILE_KEYS = {"answer_threshold": "answered", "model_fingerprint": "judge"}
"""The names of fields in a file, if they differ."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold that was chosen on a question set for one model and book, and what it reached there."""

    answer_threshold: float
    model_fingerprint: str
    questions: int
    wanted: float
    precision: float
    coverage: float
    generation: str
    created: str
    title: str | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The probabilities from which a question counts as answered, and a passage as relevant.

    From `unsure_threshold` on, which is never above `answer_threshold`, the reply is unsure instead of a refusal, and a
    language model may write an answer. By default it is the answer threshold, so that no reply is unsure.
    """

    answer_threshold: float
    relevance_threshold: float
    unsure_threshold: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "unsure_threshold", min(self.unsure_threshold, self.answer_threshold))

    def to_json(self) -> dict[str, float]:
        """Returns the thresholds under the keys that files, reports and `status --json` use."""
        return {key: getattr(self, name) for key, name in POINT_KEYS.items()}


class DefaultOperatingPoint(NamedTuple):
    """The operating point that ships with the models, and the fingerprint of these models."""

    point: OperatingPoint
    model_fingerprint: str

    @classmethod
    def load(cls, models: Path) -> Self:
        """Loads it from a folder; the fingerprint covers the networks and all constants but the chosen threshold."""
        constants, digests = load_constants(models / CONSTANTS_FILE), load_constants(models / DIGESTS_FILE)
        values: Any = constants.get("point")
        is_whole = isinstance(values, dict) and values.keys() == POINT_KEYS.keys()
        is_valid = is_whole and all(map(_is_probability, values.values()))
        point = OperatingPoint(**{name: values[key] for key, name in POINT_KEYS.items()}) if is_valid else None
        networks = [digests.get(name) for name in (FAST_READER_FILE, STRONG_READER_FILE, EMBEDDER_FILE)]
        if point is None or None in networks:
            raise damaged_model_error(CONSTANTS_FILE if point is None else DIGESTS_FILE)
        fitted = {name: value for name, value in constants.items() if name not in CALIBRATION_KEYS}
        fingerprint = json.dumps([fitted, point.relevance_threshold, networks], sort_keys=True)
        return cls(point, hashlib.sha256(fingerprint.encode()).hexdigest()[:16])


class ActiveOperatingPoint(NamedTuple):
    """The operating point in use, its origin in words, and the fingerprint of its models.

    `outdated` says what a calibration next to the index is for if it does not fit.
    """

    point: OperatingPoint
    origin: str
    model_fingerprint: str
    outdated: str = ""


def resolve_operating_point(settings: Settings, shipped: DefaultOperatingPoint, book: Manifest) -> ActiveOperatingPoint:
    """Returns the default with the answer threshold of the setting, or of the calibration for these models and book."""
    # Another embedder, reranker or reader leads to other probabilities, so it counts as another model.
    services = [part for part in (settings.embedder, settings.reranker) if part != "local"]
    readers = [settings.reader] if settings.reader != "strong" else []
    fingerprint = "+".join([shipped.model_fingerprint, *services, *readers])
    default = shipped.point
    if settings.answer_threshold is not None:
        point = replace(default, answer_threshold=settings.answer_threshold)
        return ActiveOperatingPoint(point, "setting", fingerprint)
    calibration = None if settings.qdrant_url else load_calibration(settings.index / OPERATING_POINT_FILE)
    if calibration is None:
        other = "the local embedder and reranker" if services else "the strong reader" if readers else ""
        return ActiveOperatingPoint(
            default, f"default; it was chosen with {other}" if other else "default", fingerprint
        )
    fits_book = calibration.title in (None, book.title) and calibration.kind in (None, book.kind)
    other = "another model" if calibration.model_fingerprint != fingerprint else "" if fits_book else "another book"
    if other:
        return ActiveOperatingPoint(default, f"default; the calibration is for {other}", fingerprint, outdated=other)
    questions = f"{calibration.questions} question" + "s" * (calibration.questions != 1)
    point = replace(default, answer_threshold=calibration.answer_threshold)
    return ActiveOperatingPoint(point, f"calibrated on {questions}", fingerprint)


def recalibration_hint(index: Path, book: BookRef = UNNAMED_BOOK) -> str:
    return (
        f"Calibrate again: bookbound calibrate --questions FILE{format_index_option(index)} {book.cli_options}".rstrip()
    )


def load_calibration(file: Path) -> Calibration | None:
    """Loads the calibration of an index, if there is one."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        values = json.loads(content)
        names = [name for name in Calibration.__slots__ if name in values or name not in OPTIONAL_FIELDS]
        calibration = Calibration(**{name: values[CALIBRATION_FILE_KEYS.get(name, name)] for name in names})
        if not _is_probability(calibration.answer_threshold):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ConfigError(
            f"{OPERATING_POINT_FILE} next to the index is damaged. Remove it, or: {recalibration_hint(file.parent)}"
        ) from None
    return calibration


def save_calibration(calibration: Calibration, curve: list[dict[str, Any]], file: Path) -> None:
    """Writes a calibration with its curve atomically; a link stays a link, and its target is written."""
    from bookbound import filesystem

    values = {CALIBRATION_FILE_KEYS.get(name, name): value for name, value in asdict(calibration).items()}
    content = (json.dumps({**values, "curve": curve}, indent=1) + "\n").encode()
    if file.exists() and not file.is_file():  # a device or a pipe must be written and not replaced
        file.write_bytes(content)
    else:
        filesystem.write_atomically(Path(os.path.realpath(file)), content)


def _is_probability(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1
