"""Bounds what connections can make the server keep: bytes, headers, requests and time."""

from __future__ import annotations

import logging
from asyncio import Transport
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bookbound.server.rate_limit import rate_limit_address

MAX_FRAMING_BYTES = 1 << 16
"""All of a request except its body: its head, the frames of its chunks and its trailers."""
# Tiny headers: 64 kB have room for 16,000, and each of them costs much more memory than its bytes.
MAX_HEADERS = 256
# One read may contain thousands of small requests, before reading can be paused.
MAX_PIPELINED = 16
"""Requests that wait on one connection until an earlier one is answered."""
HEAD_TIMEOUT_SECONDS = 10.0
BODY_TIMEOUT_SECONDS = 12.0
"""A little more than the application waits for a body, so that a client can read why it failed."""
WRITE_TIMEOUT_SECONDS = 30.0
"""How long a client may leave data unread."""
FULL_RESPONSE = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n"
    b"Cache-Control: no-store\r\n\r\n"
)
log = logging.getLogger("bookbound.server")


class ConnectionLimitError(Exception):
    """A request that is not accepted; the parser turns it into a 400."""


class BoundedConnection(HttpToolsProtocol):
    """A connection that is closed if its client sends too much, sends too slowly or does not read.

    The server calls `close_if_overdue` regularly.
    """

    def __init__(self, *args: Any, max_connections: int, max_body_bytes: int, **more: Any) -> None:
        super().__init__(*args, **more)
        self._max_connections, self._max_body_bytes = max_connections, max_body_bytes
        self._framing_bytes = self._body_bytes = 0
        self._has_head = False
        self._reading_since: float | None = self.loop.time()
        self._unread_since: float | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._max_connections and not self._close_another():
            log.warning("a connection was refused: %d are open", self._max_connections)
            transport.write(FULL_RESPONSE)
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._reading_since is None:
            self._reading_since = self.loop.time()
        self._framing_bytes += len(data)
        super().data_received(data)
        if self._framing_bytes > MAX_FRAMING_BYTES:
            self.transport.abort()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ConnectionLimitError
        self._has_head, self._body_bytes = False, 0
        self._reading_since = self.loop.time()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # a trailer, which no route uses
        if len(self.headers) >= MAX_HEADERS:
            raise ConnectionLimitError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._has_head, self._reading_since = True, self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._framing_bytes -= len(body)
        self._body_bytes += len(body)
        super().on_body(body)
        if self._body_bytes > self._max_body_bytes and self.cycle.response_complete:
            self.transport.close()

    def on_message_complete(self) -> None:
        self._framing_bytes, self._reading_since = 0, None
        super().on_message_complete()

    @property
    def is_answering(self) -> bool:
        """Whether a request has arrived whole and is not answered yet."""
        return self._reading_since is None and self.cycle is not None and not self.cycle.response_complete

    def close_if_overdue(self, now: float) -> None:
        """Close the connection if its request does not arrive in time, or abandon it if what was sent is not read."""
        if not self.transport.get_write_buffer_size():
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = now
        elif now - self._unread_since > WRITE_TIMEOUT_SECONDS:
            self.transport.abort()
        if self._reading_since is None:
            return
        if self.flow.read_paused:
            self._reading_since = now  # the client waits for us
        elif now - self._reading_since > (BODY_TIMEOUT_SECONDS if self._has_head else HEAD_TIMEOUT_SECONDS):
            self.transport.close()

    def _close_another(self) -> bool:
        """Close the connection that waits longest for its client, of the address that has most of them."""
        others = (each for each in self.connections if isinstance(each, BoundedConnection) and each is not self)
        waiting = [each for each in others if not (each.is_answering or each.transport.is_closing())]
        counts = Counter(each._address for each in waiting)
        victim = max(waiting, key=lambda each: (counts[each._address], -(each._reading_since or 0)), default=None)
        if victim is None:
            return False
        log.warning("a connection that waited for its client was closed: %d are open", self._max_connections)
        victim.transport.abort()
        return True

    @property
    def _address(self) -> str:
        return rate_limit_address(self.client[0] if self.client else None)
