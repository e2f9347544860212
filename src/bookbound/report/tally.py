"""What a log comes to, counted in one pass over it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime

from bookbound.entry import Mode, Status
from bookbound.record.reading import Asked, Reading
from bookbound.volume import Volume

_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Day:
    """The questions of a day: how many came to what, and how long those took that came to a reply."""

    outcomes: Counter[Status] = field(default_factory=Counter)
    milliseconds: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Wording:
    """A question that was refused, however often it was asked in the same words."""

    text: str
    mode: Mode
    last: datetime
    kinds: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        return self.kinds.total()


class Tally:
    """Counts of a log: by outcome, by kind of refusal, by day, by volume and by chapter, and what was refused."""

    def __init__(self, reading: Reading) -> None:
        self.outcomes: Counter[Status] = Counter()
        self.refused: Counter[str] = Counter()
        self.modes: Counter[Mode] = Counter()
        self.days: dict[date, Day] = {}
        self.volumes: dict[Volume, Counter[Status]] = {}
        self._wordings: dict[tuple[Mode, str], Wording] = {}
        for asked in reading.questions():
            self._count(asked)
        self.chapters, self.sessions, self.lost = reading.chapters(), reading.sessions(), reading.lost()
        self.elsewhere = reading.elsewhere()

    @property
    def wordings(self) -> list[Wording]:
        """What was refused, the most asked and then the latest first."""
        return sorted(self._wordings.values(), key=lambda each: (-each.asked, -each.last.timestamp(), each.text))

    @property
    def milliseconds(self) -> list[int]:
        return [taken for day in self.days.values() for taken in day.milliseconds]

    def _count(self, asked: Asked) -> None:
        self.outcomes[asked.status] += 1
        self.modes[asked.mode] += 1
        self.volumes.setdefault(asked.volume, Counter())[asked.status] += 1
        day = self.days.setdefault(asked.created.date(), Day())
        day.outcomes[asked.status] += 1
        if asked.status is not Status.FAILED:
            day.milliseconds.append(asked.milliseconds)
        if asked.status is Status.REFUSED:
            kind = asked.refusal or "unknown"
            self.refused[kind] += 1
            self._refuse(asked, kind)

    def _refuse(self, asked: Asked, kind: str) -> None:
        """Case, white space and punctuation make no other wording."""
        same = " ".join(_WORD.findall(asked.question.casefold())) or asked.question
        wording = self._wordings.setdefault((asked.mode, same), Wording(asked.question, asked.mode, asked.created))
        wording.last = max(wording.last, asked.created)
        wording.kinds[kind] += 1
