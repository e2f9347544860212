"""Runs a web application on a local port and records requests, scripted replies and scheduled faults."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from threading import Condition
from typing import Any

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.testing.scripted_replies import ENDPOINTS, UNFINISHED_FAULTS, Fault, ReplyFrame, ReplyOrFactory

LOOPBACK_HOST, POLL_SECONDS = "127.0.0.1", 0.005
LINGER_RESET = struct.pack("ii", 1, 0)  # a socket that is closed so sends a reset


class LoopbackServer(uvicorn.Server):
    """Serves an application on a free port until it is closed; requests that hang do not hold it."""

    def __init__(self, application: ASGIApp) -> None:
        super().__init__(uvicorn.Config(application, lifespan="off", log_config=None, timeout_graceful_shutdown=5))
        self._taken, self._unheard = _bind_socket(), _bind_socket()
        self._taken.listen(128)  # and the other does not: whoever connects there is refused
        self.url, self.refused_url = _socket_url(self._taken), _socket_url(self._unheard)
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


class FaultyResponse(Response):
    """Sends the frames of a reply, and fails at it as told; ends when the client leaves or the server closes."""

    def __init__(
        self,
        server: LoopbackServer,
        frames: Sequence[ReplyFrame],
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
        leaving = asyncio.ensure_future(_wait_for_disconnect(receive))
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
                    await asyncio.sleep(POLL_SECONDS)
        if self._fault in UNFINISHED_FAULTS:
            await self._end(scope)
        await send({"type": "http.response.body", "body": b""})

    async def _end(self, scope: Scope) -> None:
        """Leave the client as it is, or end its connection; then wait until it is gone."""
        transport = self._server.transport(scope)
        if transport and self._fault is Fault.RESET:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
            transport.abort()
        elif transport and self._fault not in (Fault.TIMEOUT, Fault.STREAM_HANGS):
            transport.close()
        await asyncio.Event().wait()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _bind_socket() -> socket.socket:
    # Named as TCP: only then does the event loop send small pieces at once instead of gathering them.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind((LOOPBACK_HOST, 0))
    return bound


def _socket_url(taken: socket.socket) -> str:
    return f"http://{LOOPBACK_HOST}:{taken.getsockname()[1]}"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request as it came; requests that came by one connection have the same `connection`."""

    endpoint: str
    path: str
    headers: dict[str, str]
    json: Any
    connection: int


@dataclass(slots=True)
class ScheduledFault:
    """A fault, the endpoints it is for, and for how many more requests."""

    fault: Fault
    endpoints: frozenset[str]
    times: float
    headers: dict[str, str]
    pause: float


class ReplyScript:
    """Told by a test, read by a server in another thread."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._lines: deque[ReplyOrFactory] = deque()
        self._otherwise: ReplyOrFactory | None = None
        self._failing: list[ScheduledFault] = []
        self._asked: list[RecordedRequest] = []

    @property
    def requests(self) -> list[RecordedRequest]:
        """What was asked so far."""
        with self._changed:
            return list(self._asked)

    def says(self, *replies: ReplyOrFactory, always: bool = False) -> None:
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
        headers = {} if retry_after is None else {"retry-after": _format_retry_after(retry_after)}
        with self._changed:
            self._failing.append(ScheduledFault(fault, endpoints, float("inf") if always else times, headers, pause))

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

    def heard(self, asked: RecordedRequest) -> ScheduledFault | None:
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

    def line(self, *, keep: bool) -> ReplyOrFactory | None:
        """What the model says next; with `keep` it stays in the script."""
        with self._changed:
            if not self._lines:
                return self._otherwise
            return self._lines[0] if keep else self._lines.popleft()


def _format_retry_after(retry_after: float | datetime | str) -> str:
    if isinstance(retry_after, datetime):
        return format_datetime(retry_after.astimezone(UTC), usegmt=True)
    return retry_after if isinstance(retry_after, str) else f"{retry_after:g}"
