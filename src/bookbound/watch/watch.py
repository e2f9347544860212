"""Who is told of each request once it is over."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from bookbound.watch.visit import Visit

if TYPE_CHECKING:
    from bookbound.watch.prometheus import Metrics

Watcher = Callable[[Visit], None]
log = logging.getLogger("bookbound.serve")


def line(visit: Visit) -> None:
    """One line for a request that is over."""
    seen = {
        "method": visit.method,
        "route": visit.route,
        "status": visit.status,
        "milliseconds": round(visit.seconds * 1000, 1),
        "face": visit.face,
        "outcome": visit.outcome,
    }
    log.info("request", extra={"event": seen})


class Watch:
    """Tells every watcher of every request; a watcher that fails is told of once, and fails nobody else.

    `metrics` is the one whose figures are shown. `open` is what works beside the requests, as long as they are served.
    """

    def __init__(
        self,
        watchers: Sequence[Watcher] = (line,),
        metrics: Metrics | None = None,
        open: Sequence[AbstractAsyncContextManager[object]] = (),  # noqa: A002
    ) -> None:
        self._watchers, self.metrics, self._open = tuple(watchers), metrics, tuple(open)
        self._failed: set[Watcher] = set()

    def over(self, visit: Visit) -> None:
        """A request is over."""
        for watcher in self._watchers:
            try:
                watcher(visit)
            except Exception as trouble:
                if watcher not in self._failed:
                    self._failed.add(watcher)
                    log.error("requests are not all watched: %s", type(trouble).__name__)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Watch as long as this lasts."""
        async with AsyncExitStack() as held:
            for each in self._open:
                await held.enter_async_context(each)
            yield
