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
from bookbound.settings import Settings

FILE = "operating-point.json"
CHOSEN = ("point", "curve", "held_out")
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
    def of(cls, file: Path) -> Self:
        """That of the judge whose fitted numbers a file holds; where its point was chosen says nothing of the judge."""
        held = json.loads(file.read_text(encoding="utf-8"))
        fitted = {name: value for name, value in held.items() if name not in CHOSEN}
        mark = hashlib.sha256(json.dumps(fitted, sort_keys=True).encode()).hexdigest()
        return cls(OperatingPoint(**held["point"]), mark[:16])


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
        if isinstance(found.answered, bool) or not 0 <= found.answered <= 1:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BadSetup(f"{FILE} beside the index is not as it was written. Remove it, or: {AGAIN}") from None
    return found


def keep(found: Calibrated, curve: list[dict[str, Any]], file: Path) -> None:
    """Write what was calibrated, so that a kill at any moment leaves the old file or the new one, whole."""
    from bookbound.store import files

    files.replace(file, (json.dumps(found.plain(curve), indent=1) + "\n").encode())
