"""How a server ends: what is being answered is answered, in time; the log is written; and then it is over."""

from __future__ import annotations

import asyncio
import logging
import socket
from multiprocessing import parent_process
from types import FrameType

import uvicorn

GRACE = 30.0
"""The seconds that what is being answered has to come to its end."""
FAREWELL = 2.0
"""The seconds that whoever is cut short has to take the word of it."""
log = logging.getLogger("bookbound.serve")


class Server(uvicorn.Server):
    """After a first signal no question is taken; a second cuts short what is being answered, and nothing else.

    One of several processes ends, just so, where the process that started it is gone.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parent = parent_process()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Hear a signal; it is not raised again afterwards, as an end in good order is no failure."""
        if self.should_exit and self._loop:
            self._loop.call_soon_threadsafe(self._cut_short)
        self.should_exit = True
        if hasattr(self, "lifespan"):
            self.lifespan.state["stopping"] = True  # each request from now on has this in its state

    async def on_tick(self, counter: int) -> bool:
        orphaned = self._parent is not None and not self._parent.is_alive()
        return await super().on_tick(counter) or orphaned

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping: what is being answered has %g seconds, and no new question is taken", GRACE)
        late = asyncio.get_running_loop().call_later(GRACE, self._cut_short)
        try:
            await super().shutdown(sockets)
        finally:
            late.cancel()

    def _cut_short(self) -> None:
        if tasks := list(self.server_state.tasks):
            log.warning("stopping at once: requests that are cut short: %d", len(tasks))
        for task in tasks:
            task.cancel()
        asyncio.get_running_loop().call_later(FAREWELL, self._hang_up)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
