"""A web application on a port of this machine, in a thread of its own, and its replies sent well or badly."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Sequence

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.testing.faults import Fault
from bookbound.testing.replies import Frame
from bookbound.testing.spoilt import UNFINISHED

HOST, GLANCE = "127.0.0.1", 0.005
AT_ONCE = struct.pack("ii", 1, 0)  # a socket that is closed so sends a reset


class Loopback(uvicorn.Server):
    """Serves an application on a free port until it is closed; requests that hang do not hold it."""

    def __init__(self, application: ASGIApp) -> None:
        super().__init__(uvicorn.Config(application, lifespan="off", log_config=None, timeout_graceful_shutdown=5))
        self._taken, self._unheard = _bound(), _bound()
        self._taken.listen(128)  # and the other does not: whoever connects there is refused
        self.url, self.refused_url = _url(self._taken), _url(self._unheard)
        sockets = {"sockets": [self._taken]}
        self._thread = threading.Thread(target=self.run, kwargs=sockets, name="scripted services", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.should_exit = True
        self._thread.join()
        self._taken.close()
        self._unheard.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """What uvicorn does, after every connection was cut."""
        for server in self.servers:
            server.close()
        self.cut()
        await super().shutdown(sockets)

    def cut(self) -> None:
        """Drop every connection."""
        for connection in list(self.server_state.connections):
            if connection.transport:
                connection.transport.abort()

    def transport(self, scope: Scope) -> asyncio.Transport | None:
        """The connection that a request came by, while it lasts."""
        found = (
            each for each in self.server_state.connections if getattr(each, "client", None) == tuple(scope["client"])
        )
        return next((each.transport for each in found), None)


class Delivery(Response):
    """Sends the frames of a reply, and fails at it as told; ends when the client leaves or the server closes."""

    def __init__(
        self,
        server: Loopback,
        frames: Sequence[Frame],
        *,
        media_type: str,
        length: int | None,
        fault: Fault | None,
        pause: float,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        if length is not None:
            self.headers["content-length"] = str(length)
        self._server, self._frames, self._fault, self._pause = server, frames, fault, pause

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(_left(receive))
        sending = asyncio.ensure_future(self._deliver(scope, send))
        await asyncio.wait({leaving, sending}, return_when=asyncio.FIRST_COMPLETED)
        for task in (leaving, sending):
            task.cancel()
        for outcome in await asyncio.gather(leaving, sending, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _deliver(self, scope: Scope, send: Send) -> None:
        if self._fault in (Fault.TIMEOUT, Fault.RESET, Fault.CLOSED):
            await self._end(scope)
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for frame in self._frames:
            if isinstance(frame, bytes):
                await asyncio.sleep(self._pause)
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            else:
                for _ in iter(frame.is_set, True):
                    await asyncio.sleep(GLANCE)
        if self._fault in UNFINISHED:
            await self._end(scope)
        await send({"type": "http.response.body", "body": b""})

    async def _end(self, scope: Scope) -> None:
        """Leave the client as it is, or end its connection; then wait until it is gone."""
        transport = self._server.transport(scope)
        if transport and self._fault is Fault.RESET:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            transport.abort()
        elif transport and self._fault not in (Fault.TIMEOUT, Fault.STREAM_HANGS):
            transport.close()
        await asyncio.Event().wait()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _bound() -> socket.socket:
    # Named as TCP: only then does the event loop send small pieces at once instead of gathering them.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind((HOST, 0))
    return bound


def _url(taken: socket.socket) -> str:
    return f"http://{HOST}:{taken.getsockname()[1]}"
