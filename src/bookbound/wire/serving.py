"""Builds the web application, and sees first that what it needs is there."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from bookbound.errors import IndexTrouble
from bookbound.settings import Settings, load
from bookbound.wire import limiting, recording, watching

if TYPE_CHECKING:
    from fastapi import FastAPI


def ready(settings: Settings, workers: int = 1) -> None:
    """See that limits hold and questions are logged and watched: what is set wrong is told before anybody asks."""
    limiting.ready(settings, workers)
    watching.ready(settings)
    recording.ready(settings)


def web() -> FastAPI:
    """The web application, as a process that answers builds it: with the settings it was handed."""
    from bookbound.serve.app import application
    from bookbound.serve.desk import BoundedDesk
    from bookbound.wire import shelving

    chosen = load()
    desk = BoundedDesk(chosen.at_once, chosen.queue, chosen.deadline)
    shelf = shelving.shelf(chosen)
    limiter, watch = limiting.limiter(chosen), watching.watch(chosen, desk.standing)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            await held.enter_async_context(desk.noted(recording.journal(chosen)))  # the last to close
            await held.enter_async_context(watch.kept())
            if limiter:
                held.push_async_callback(limiter.close)
            await held.enter_async_context(desk.staffed(shelf))
            try:
                await shelf.ready()
            except IndexTrouble as trouble:
                # A process that starts later than its siblings must not take them down: it says it is not ready.
                logging.getLogger("bookbound.serve").error("no book is open: %s", trouble)
            yield

    return application(
        desk, chosen, lifespan, store=partial(shelving.store, chosen), limiter=limiter, watch=watch, shelf=shelf
    )
