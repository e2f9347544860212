"""The operating point in force: the one that the judge comes with, one calibrated for this book, or a setting.

`bookbound calibrate` keeps what it chose beside the index, as `operating-point.json`. It holds for the judge and
the book that it was chosen with: the probabilities of another judge are others, and so are those for another book.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from bookbound.errors import BadSetup
from bookbound.judge import OperatingPoint
from bookbound.manifest import Manifest
from bookbound.models import CONSTANTS, DIGESTS, EMBEDDER, READER, constants, damaged
from bookbound.settings import Settings, index_option

FILE = "operating-point.json"
CHOSEN = ("point", "wanted", "curve", "held_out")
ADDED = ("title", "kind")
"""What a file of an older version does not say."""


@dataclass(frozen=True, slots=True)
class Calibrated:
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


class Shipped(NamedTuple):
    """The operating point that a judge comes with, and a mark that tells this judge from any other."""

    point: OperatingPoint
    judge: str

    @classmethod
    def of(cls, models: Path) -> Self:
        """That of the judge in a folder: its networks, what was fitted after them, and what is relevant to it.

        From where on it answers, and how that was chosen, says nothing of the judge.
        """
        held, digests = constants(models / CONSTANTS), constants(models / DIGESTS)
        point, networks = _point(held.get("point")), [digests.get(name) for name in (READER, EMBEDDER)]
        if point is None or None in networks:
            raise damaged(CONSTANTS if point is None else DIGESTS)
        fitted = {name: value for name, value in held.items() if name not in CHOSEN}
        told = json.dumps([fitted, point.relevant, networks], sort_keys=True)
        return cls(point, hashlib.sha256(told.encode()).hexdigest()[:16])


class InForce(NamedTuple):
    """The operating point to answer with, where it comes from, in words, and the judge it is for.

    `outdated` names what another one beside the index was calibrated for, and is empty where there is none such.
    """

    point: OperatingPoint
    origin: str
    judge: str
    outdated: str = ""


def in_force(settings: Settings, shipped: Shipped, book: Manifest) -> InForce:
    """The setting where there is one, or else what was calibrated for this judge and book, or else the default."""
    default, judge = shipped.point, _named(shipped.judge, settings)
    if settings.answered is not None:
        return InForce(_at(default, settings.answered), "setting", judge)
    kept = None if settings.qdrant_url else load(settings.index / FILE)
    if kept is None:
        other = "" if judge == shipped.judge else "; it was chosen with the local embedder and examiner"
        return InForce(default, f"default{other}", judge)
    if other := _other(kept, judge, book):
        return InForce(default, f"default; what was calibrated is for {other}", judge, outdated=other)
    questions = f"{kept.questions} question" + "s" * (kept.questions != 1)
    return InForce(_at(default, kept.answered), f"calibrated on {questions}", judge)


def again(index: Path) -> str:
    """What to do where the choice beside an index is of no use."""
    return f"Calibrate again: bookbound calibrate --questions FILE{index_option(index)}"


def load(file: Path) -> Calibrated | None:
    """What was calibrated, or nothing where nothing was."""
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        kept = json.loads(content)
        found = Calibrated(**{name: kept[name] for name in Calibrated.__slots__ if name in kept or name not in ADDED})
        if not _is_probability(found.answered):
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise BadSetup(
            f"{FILE} beside the index is not as it was written. Remove it, or: {again(file.parent)}"
        ) from None
    return found


def keep(found: Calibrated, curve: list[dict[str, Any]], file: Path) -> None:
    """Write what was calibrated, so that a kill at any moment leaves the old file or the new one, whole.

    A link stays one, and what it leads to is written.
    """
    from bookbound.store import files

    content = (json.dumps(found.plain(curve), indent=1) + "\n").encode()
    if file.exists() and not file.is_file():  # a device or a pipe takes what is written, and must not be replaced
        file.write_bytes(content)
    else:
        files.replace(Path(os.path.realpath(file)), content)


def _at(default: OperatingPoint, answered: float) -> OperatingPoint:
    """A point that somebody chose: below it nothing is offered."""
    return replace(default, answered=answered, drafted=answered)


def _named(judge: str, settings: Settings) -> str:
    """The mark of a judge as it is used: other parts before it find and rank other passages."""
    others = [part for part in (settings.embedder, settings.examiner) if part != "local"]
    return "+".join([judge, *others])


def _other(kept: Calibrated, judge: str, book: Manifest) -> str:
    """What a choice is for, where it is not for this judge and this book."""
    if kept.judge != judge:
        return "another judge"
    return "" if kept.title in (None, book.title) and kept.kind in (None, book.kind) else "another book"


def _point(held: Any) -> OperatingPoint | None:
    if not isinstance(held, dict) or set(held) != set(OperatingPoint.__slots__):
        return None
    if not all(map(_is_probability, held.values())):
        return None
    return OperatingPoint(**held)


def _is_probability(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1
