"""Runs a web application on a local port and records requests, scripted replies and scheduled faults."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from threading import Condition
from typing import Any

import uvicorn
from starlette.datastructures import Address
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Send

from bookbound.testing.scripted_replies import ENDPOINTS, UNFINISHED_FAULTS, Fault, ReplyFrame, ReplyOrFactory

LOOPBACK_HOST = "127.0.0.1"
POLL_SECONDS = 0.005  # an event of a thread cannot be awaited
LINGER_RESET = struct.pack("ii", 1, 0)  # makes closing a socket send a reset


class LoopbackServer(uvicorn.Server):
    """Serves an application on a free port until it is closed, even if requests hang."""

    def __init__(self, application: ASGIApp) -> None:
        super().__init__(uvicorn.Config(application, lifespan="off", log_config=None, timeout_graceful_shutdown=5))
        self._listener, self._refusing = _bind_socket(), _bind_socket()
        self._listener.listen(128)  # the other socket does not listen, so connections to it are refused
        self.url, self.refused_url = _socket_url(self._listener), _socket_url(self._refusing)
        sockets = {"sockets": [self._listener]}
        self._thread = threading.Thread(target=self.run, kwargs=sockets, name="scripted services", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.should_exit = True
        self._thread.join()
        self._listener.close()
        self._refusing.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drop every connection, then shut down as usual."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            if connection.transport:
                connection.transport.abort()
        await super().shutdown(sockets)

    def find_connection(self, client: Address | None) -> asyncio.Transport | None:
        """The open connection of a client."""
        connections = self.server_state.connections
        return next((each.transport for each in connections if getattr(each, "client", None) == client), None)


class FaultyResponse(StreamingResponse):
    """Sends the frames of a reply and fails as scripted; ends when the client disconnects or the server closes."""

    def __init__(
        self,
        frames: Sequence[ReplyFrame],
        connection: asyncio.Transport | None,
        *,
        media_type: str,
        length: int | None,
        fault: Fault | None,
        pause: float,
    ) -> None:
        headers = {} if length is None else {"content-length": str(length)}
        super().__init__(self._send_frames(frames, pause), headers=headers, media_type=media_type)
        self._connection, self._fault = connection, fault

    async def stream_response(self, send: Send) -> None:
        if self._fault in (Fault.TIMEOUT, Fault.RESET, Fault.CLOSED):
            await self._fail()
        await super().stream_response(send)

    async def _send_frames(self, frames: Sequence[ReplyFrame], pause: float) -> AsyncIterator[bytes]:
        for frame in frames:
            if isinstance(frame, bytes):
                await asyncio.sleep(pause)
                yield frame
            else:
                for _ in iter(frame.is_set, True):
                    await asyncio.sleep(POLL_SECONDS)
        if self._fault in UNFINISHED_FAULTS:
            await self._fail()

    async def _fail(self) -> None:
        """End the connection or leave it open, then wait until the client is gone."""
        if self._connection and self._fault is Fault.RESET:
            open_socket = self._connection.get_extra_info("socket")
            open_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
            self._connection.abort()
        elif self._connection and self._fault not in (Fault.TIMEOUT, Fault.STREAM_HANGS):
            self._connection.close()
        await asyncio.Event().wait()


def _bind_socket() -> socket.socket:
    # With IPPROTO_TCP the event loop sends small pieces at once.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind((LOOPBACK_HOST, 0))
    return bound


def _socket_url(bound: socket.socket) -> str:
    return f"http://{LOOPBACK_HOST}:{bound.getsockname()[1]}"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A received request; requests over one connection have the same `connection`."""

    endpoint: str
    path: str
    headers: dict[str, str]
    json: Any
    connection: int


@dataclass(slots=True)
class ScheduledFault:
    """A fault, its endpoints, and the number of requests that it still affects."""

    fault: Fault
    endpoints: frozenset[str]
    times: float
    headers: dict[str, str]
    pause: float


class ReplyScript:
    """What services reply; a test writes it and a server reads it in another thread."""

    def __init__(self) -> None:
        self._changed = Condition()
        self.reset()

    def reset(self) -> None:
        """Forget all replies, faults and requests."""
        with self._changed:
            self._replies: deque[ReplyOrFactory] = deque()
            self._default: ReplyOrFactory | None = None
            self._faults: list[ScheduledFault] = []
            self._requests: list[RecordedRequest] = []

    @property
    def requests(self) -> list[RecordedRequest]:
        with self._changed:
            return list(self._requests)

    def reply_with(self, *replies: ReplyOrFactory, always: bool = False) -> None:
        """Add the next replies of a model; with `always`, set the one for whenever no other is left."""
        if always and len(replies) != 1:
            raise ValueError("Give exactly one reply with `always`.")
        with self._changed:
            if always:
                self._default = replies[0]
            else:
                self._replies.extend(replies)

    def fail_with(
        self,
        fault: Fault,
        *,
        times: int = 1,
        always: bool = False,
        endpoint: str | None = None,
        retry_after: float | datetime | str | None = None,
        pause: float = 0.05,
    ) -> None:
        """Make the next requests to `endpoint` fail, or to any that can; `pause` is for slow replies."""
        if endpoint not in (None, *ENDPOINTS):
            raise ValueError(f"`endpoint` must be one of {', '.join(sorted(ENDPOINTS))}, not {endpoint!r}.")
        if endpoint and endpoint not in fault.endpoints:
            raise ValueError(f"{fault.name} is for {', '.join(sorted(fault.endpoints))}, not for {endpoint}.")
        endpoints = frozenset({endpoint}) if endpoint else fault.endpoints
        headers = {} if retry_after is None else {"retry-after": _format_retry_after(retry_after)}
        with self._changed:
            self._faults.append(ScheduledFault(fault, endpoints, float("inf") if always else times, headers, pause))

    def wait_for_requests(self, count: int = 1, *, seconds: float = 30) -> None:
        """Block until this many requests have arrived."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._requests) >= count, seconds):
                raise TimeoutError(f"{len(self._requests)} of {count} requests arrived in {seconds:g} seconds.")

    def record(self, request: RecordedRequest) -> ScheduledFault | None:
        """Keep a request and return the fault it gets, if any."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            scheduled = next((each for each in self._faults if request.endpoint in each.endpoints), None)
            if scheduled:
                scheduled.times -= 1
                if scheduled.times <= 0:
                    self._faults.remove(scheduled)
            return scheduled

    def next_reply(self, *, keep: bool) -> ReplyOrFactory | None:
        """The next reply of the model; with `keep` it stays in the script."""
        with self._changed:
            if not self._replies:
                return self._default
            return self._replies[0] if keep else self._replies.popleft()


def _format_retry_after(retry_after: float | datetime | str) -> str:
    if isinstance(retry_after, datetime):
        return format_datetime(retry_after.astimezone(UTC), usegmt=True)
    return retry_after if isinstance(retry_after, str) else f"{retry_after:g}"
