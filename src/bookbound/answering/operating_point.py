"""Chooses the thresholds for answering: a setting, a calibration of this book, or the shipped default."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from bookbound.domain.errors import ConfigError
from bookbound.domain.manifest import Manifest
from bookbound.models import (
    CONSTANTS_FILE,
    DIGESTS_FILE,
    EMBEDDER_FILE,
    READER_FILE,
    damaged_model_error,
    load_constants,
)
from bookbound.settings import Settings, format_index_option

OPERATING_POINT_FILE = "operating-point.json"
CALIBRATION_KEYS = ("point", "wanted", "curve", "held_out")
OPTIONAL_FIELDS = ("title", "kind")
"""What a file of an older version does not say."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold chosen on a question set, for which judge and book, and what it reached there."""

    answered: float
    judge: str
    questions: int
    wanted: float
    precision: float
    coverage: float
    generation: str
    created: str
    title: str | None = None
    kind: str | None = None

    def plain(self, curve: list[dict[str, Any]]) -> dict[str, Any]:
        """What is kept in the file, with the curve it was chosen on."""
        return {**asdict(self), "curve": curve}


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The probabilities from which on a question counts as surely answered, and a passage as relevant.

    `drafted` is from where on there is a reply at all: a language model is asked, which may find that there is no
    answer, or the book's own words are offered with a reservation. Without it there is none below `answered`.
    """

    answered: float
    relevant: float
    drafted: float | None = None

    @property
    def offered(self) -> float:
        return self.answered if self.drafted is None else min(self.drafted, self.answered)


class DefaultOperatingPoint(NamedTuple):
    """The operating point that a judge comes with, and a mark that tells this judge from any other."""

    point: OperatingPoint
    judge: str

    @classmethod
    def of(cls, models: Path) -> Self:
        """That of the judge in a folder: its networks, what was fitted after them, and what is relevant to it.

        From where on it answers, and how that was chosen, says nothing of the judge.
        """
        held, digests = load_constants(models / CONSTANTS_FILE), load_constants(models / DIGESTS_FILE)
        point, networks = (
            _parse_operating_point(held.get("point")),
            [digests.get(name) for name in (READER_FILE, EMBEDDER_FILE)],
        )
        if point is None or None in networks:
            raise damaged_model_error(CONSTANTS_FILE if point is None else DIGESTS_FILE)
        fitted = {name: value for name, value in held.items() if name not in CALIBRATION_KEYS}
        told = json.dumps([fitted, point.relevant, networks], sort_keys=True)
        return cls(point, hashlib.sha256(told.encode()).hexdigest()[:16])


class ActiveOperatingPoint(NamedTuple):
    """The operating point to answer with, where it comes from, in words, and the judge it is for.

    `outdated` names what another one beside the index was calibrated for, and is empty where there is none such.
    """

    point: OperatingPoint
    origin: str
    judge: str
    outdated: str = ""


def resolve_operating_point(settings: Settings, shipped: DefaultOperatingPoint, book: Manifest) -> ActiveOperatingPoint:
    """The setting where there is one, or else what was calibrated for this judge and book, or else the default."""
    default, judge = shipped.point, _name_judge(shipped.judge, settings)
    if settings.answered is not None:
        return ActiveOperatingPoint(_with_threshold(default, settings.answered), "setting", judge)
    kept = None if settings.qdrant_url else load_calibration(settings.index / OPERATING_POINT_FILE)
    if kept is None:
        other = "" if judge == shipped.judge else "; it was chosen with the local embedder and examiner"
        return ActiveOperatingPoint(default, f"default{other}", judge)
    if other := _describe_mismatch(kept, judge, book):
        return ActiveOperatingPoint(default, f"default; what was calibrated is for {other}", judge, outdated=other)
    questions = f"{kept.questions} question" + "s" * (kept.questions != 1)
    return ActiveOperatingPoint(_with_threshold(default, kept.answered), f"calibrated on {questions}", judge)


def recalibration_hint(index: Path) -> str:
    """What to do where the choice beside an index is of no use."""
    return f"Calibrate again: bookbound calibrate --questions FILE{format_index_option(index)}"


def load_calibration(file: Path) -> Calibration | None:
    """What was calibrated, or nothing where nothing was."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        kept = json.loads(content)
        found = Calibration(
            **{name: kept[name] for name in Calibration.__slots__ if name in kept or name not in OPTIONAL_FIELDS}
        )
        if not _is_probability(found.answered):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ConfigError(
            f"{OPERATING_POINT_FILE} beside the index is not as it was written. Remove it, or: {recalibration_hint(file.parent)}"
        ) from None
    return found


def save_calibration(found: Calibration, curve: list[dict[str, Any]], file: Path) -> None:
    """Write what was calibrated, so that a kill at any moment leaves the old file or the new one, whole.

    A link stays one, and what it leads to is written.
    """
    from bookbound import filesystem

    content = (json.dumps(found.plain(curve), indent=1) + "\n").encode()
    if file.exists() and not file.is_file():  # a device or a pipe takes what is written, and must not be replaced
        file.write_bytes(content)
    else:
        filesystem.write_atomically(Path(os.path.realpath(file)), content)


def _with_threshold(default: OperatingPoint, answered: float) -> OperatingPoint:
    """A point that somebody chose: below it nothing is offered."""
    return replace(default, answered=answered, drafted=answered)


def _name_judge(judge: str, settings: Settings) -> str:
    """The mark of a judge as it is used: other parts before it find and rank other passages."""
    others = [part for part in (settings.embedder, settings.examiner) if part != "local"]
    return "+".join([judge, *others])


def _describe_mismatch(kept: Calibration, judge: str, book: Manifest) -> str:
    """What a choice is for, where it is not for this judge and this book."""
    if kept.judge != judge:
        return "another judge"
    return "" if kept.title in (None, book.title) and kept.kind in (None, book.kind) else "another book"


def _parse_operating_point(held: Any) -> OperatingPoint | None:
    if not isinstance(held, dict) or set(held) != set(OperatingPoint.__slots__):
        return None
    if not all(map(_is_probability, held.values())):
        return None
    return OperatingPoint(**held)


def _is_probability(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1
