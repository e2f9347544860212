"""The operating point in force: the one that the judge comes with, one calibrated for this book, or a setting.

`bookbound calibrate` keeps what it chose beside the index, as `operating-point.json`. It holds for the judge that it
was chosen with: the probabilities of another judge are others.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from bookbound.errors import BadSetup
from bookbound.judge import OperatingPoint
from bookbound.models import CONSTANTS, DIGESTS, EMBEDDER, READER
from bookbound.settings import Settings

FILE = "operating-point.json"
CHOSEN = ("point", "wanted", "curve", "held_out")
AGAIN = "Calibrate again: bookbound calibrate --questions FILE"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A threshold chosen on a question set, for which judge, and what it reached there."""

    answered: float
    judge: str
    questions: int
    wanted: float
    precision: float
    coverage: float
    generation: str
    created: str

    def plain(self, curve: list[dict[str, Any]]) -> dict[str, Any]:
        """What is kept in the file, with the curve it was chosen on."""
        return {**asdict(self), "curve": curve}


class Shipped(NamedTuple):
    """The operating point that a judge comes with, and a mark that tells this judge from any other."""

    point: OperatingPoint
    judge: str

    @classmethod
    def of(cls, models: Path) -> Self:
        """That of the judge in a folder: its networks, what was fitted after them, and what is relevant to it.

        From where on it answers, and how that was chosen, says nothing of the judge.
        """
        held, digests = _shipped(models / CONSTANTS), _shipped(models / DIGESTS)
        point, networks = _point(held.get("point")), [digests.get(name) for name in (READER, EMBEDDER)]
        if point is None or None in networks:
            raise _damaged(CONSTANTS if point is None else DIGESTS)
        fitted = {name: value for name, value in held.items() if name not in CHOSEN}
        told = json.dumps([fitted, point.relevant, networks], sort_keys=True)
        return cls(point, hashlib.sha256(told.encode()).hexdigest()[:16])


class InForce(NamedTuple):
    """The operating point to answer with, where it comes from, in words, and the judge it is for."""

    point: OperatingPoint
    origin: str
    judge: str
    outdated: bool = False


def in_force(settings: Settings, shipped: Shipped) -> InForce:
    """The setting where there is one, or else what was calibrated for this index and judge, or else the default."""
    default, judge = shipped
    if settings.answered is not None:
        return InForce(replace(default, answered=settings.answered), "setting", judge)
    kept = None if settings.qdrant_url else load(settings.index / FILE)
    if kept is None:
        return InForce(default, "default", judge)
    if kept.judge != judge:
        return InForce(default, "default; what was calibrated is for another judge", judge, outdated=True)
    return InForce(replace(default, answered=kept.answered), f"calibrated on {kept.questions} questions", judge)


def load(file: Path) -> Calibrated | None:
    """What was calibrated, or nothing where nothing was."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        kept = json.loads(content)
        found = Calibrated(**{name: kept[name] for name in Calibrated.__slots__})
        if not _is_probability(found.answered):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BadSetup(f"{FILE} beside the index is not as it was written. Remove it, or: {AGAIN}") from None
    return found


def keep(found: Calibrated, curve: list[dict[str, Any]], file: Path) -> None:
    """Write what was calibrated, so that a kill at any moment leaves the old file or the new one, whole."""
    from bookbound.store import files

    files.replace(file, (json.dumps(found.plain(curve), indent=1) + "\n").encode())


def _shipped(file: Path) -> dict[str, Any]:
    try:
        held = json.loads(file.read_bytes())
    except OSError as trouble:
        raise BadSetup(f"The model file {file.name} is missing; install bookbound again.") from trouble
    except (ValueError, RecursionError) as trouble:
        raise _damaged(file.name) from trouble
    if not isinstance(held, dict):
        raise _damaged(file.name)
    return held


def _point(held: Any) -> OperatingPoint | None:
    if not isinstance(held, dict) or set(held) != set(OperatingPoint.__slots__):
        return None
    if not all(map(_is_probability, held.values())):
        return None
    return OperatingPoint(**held)


def _is_probability(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _damaged(name: str) -> BadSetup:
    return BadSetup(f"The model file {name} is damaged; install bookbound again.")
