"""What a scripted server is to say, how it is to fail, and what it was asked."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from threading import Condition
from typing import Any

from bookbound.testing.faults import ENDPOINTS, Fault
from bookbound.testing.replies import Line


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came; requests that came by one connection have the same `connection`."""

    endpoint: str
    path: str
    headers: dict[str, str]
    json: Any
    connection: int


@dataclass(slots=True)
class Failing:
    """A fault, the endpoints it is for, and for how many more requests."""

    fault: Fault
    endpoints: frozenset[str]
    times: float
    headers: dict[str, str]
    pause: float


class Script:
    """Told by a test, read by a server in another thread."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._lines: deque[Line] = deque()
        self._otherwise: Line | None = None
        self._failing: list[Failing] = []
        self._asked: list[Asked] = []

    @property
    def requests(self) -> list[Asked]:
        """What was asked so far."""
        with self._changed:
            return list(self._asked)

    def says(self, *replies: Line, always: bool = False) -> None:
        """The next replies of a model; with `always`, what it says whenever nothing else is scripted."""
        if always and len(replies) != 1:
            raise ValueError("Give one reply that is always said.")
        with self._changed:
            if always:
                self._otherwise = replies[0]
            else:
                self._lines.extend(replies)

    def fails(
        self,
        fault: Fault,
        *,
        times: int = 1,
        always: bool = False,
        path: str | None = None,
        retry_after: float | datetime | str | None = None,
        pause: float = 0.05,
    ) -> None:
        """The next requests fail so, of the endpoint `path` or of any that can; `pause` is what a slow one waits."""
        if path not in (None, *ENDPOINTS):
            raise ValueError(f"`path` must be one of {', '.join(sorted(ENDPOINTS))}, not {path!r}.")
        if path and path not in fault.endpoints:
            raise ValueError(f"{fault.name} is for {', '.join(sorted(fault.endpoints))}, not for {path}.")
        endpoints = frozenset({path}) if path else fault.endpoints
        headers = {} if retry_after is None else {"retry-after": _header(retry_after)}
        with self._changed:
            self._failing.append(Failing(fault, endpoints, float("inf") if always else times, headers, pause))

    def forget(self) -> None:
        """Back to the beginning: nothing scripted, nothing failing, nothing asked."""
        with self._changed:
            self._lines.clear()
            self._otherwise = None
            self._failing.clear()
            self._asked.clear()

    def wait_until_asked(self, times: int = 1, *, seconds: float = 30) -> None:
        """Block until so many requests have come."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._asked) >= times, seconds):
                raise TimeoutError(f"{len(self._asked)} of {times} requests came in {seconds:g} seconds.")

    def heard(self, asked: Asked) -> Failing | None:
        """Keep a request; how it is to fail, if it is."""
        with self._changed:
            self._asked.append(asked)
            self._changed.notify_all()
            failing = next((each for each in self._failing if asked.endpoint in each.endpoints), None)
            if failing:
                failing.times -= 1
                if failing.times <= 0:
                    self._failing.remove(failing)
            return failing

    def line(self, *, keep: bool) -> Line | None:
        """What the model says next; with `keep` it stays in the script."""
        with self._changed:
            if not self._lines:
                return self._otherwise
            return self._lines[0] if keep else self._lines.popleft()


def _header(retry_after: float | datetime | str) -> str:
    if isinstance(retry_after, datetime):
        return format_datetime(retry_after.astimezone(UTC), usegmt=True)
    return retry_after if isinstance(retry_after, str) else f"{retry_after:g}"
