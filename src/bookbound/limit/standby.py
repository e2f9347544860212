"""Limits go on where the counter that processes share is away: each then counts for itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic

from bookbound.allowance import Allowance, Bucket
from bookbound.errors import ServiceTrouble
from bookbound.ports import Limiter

PAUSE = 2.0
"""Seconds until the shared counter is tried again; one request then tries it, the others do not wait."""
log = logging.getLogger("bookbound.limit")


class Standby:
    """Takes from a `shared` limiter, and while that is away from one of its `own`."""

    def __init__(self, shared: Limiter, own: Limiter, pause: float = PAUSE) -> None:
        self._shared, self._own, self._pause = shared, own, pause
        self._away, self._again = False, 0.0

    async def take(self, buckets: Sequence[Bucket]) -> Allowance:
        """One from every bucket, or from none; the shared counter failing is told once, and once that it is back."""
        if self._away:
            if monotonic() < self._again:
                return await self._own.take(buckets)
            self._again = monotonic() + self._pause
        try:
            allowance = await self._shared.take(buckets)
        except ServiceTrouble as trouble:
            self._missed(trouble)
            return await self._own.take(buckets)
        if self._away:
            self._away = False
            log.warning("limits are counted together again")
        return allowance

    async def close(self) -> None:
        await self._shared.close()
        await self._own.close()

    def _missed(self, trouble: ServiceTrouble) -> None:
        if not self._away:
            log.warning("limits are counted by each process alone for now: %s", trouble)
        self._away, self._again = True, monotonic() + self._pause
