"""A client's line: what comes before the body of a request is bounded in size and in time."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 1 << 16
HEAD_SECONDS = 10.0


class Line(HttpToolsProtocol):
    """Hangs up on who sends no whole head of a request within `HEAD_SECONDS` and `HEAD_BYTES`."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._head = 0
        self._waiting: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._head == 0:
            self._wait()
        self._head += len(data)
        super().data_received(data)
        if self._waiting is not None and self._head > HEAD_BYTES:
            self._hang_up()

    def on_headers_complete(self) -> None:
        self._done()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._hang_up)

    def _done(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        self._done()
        if not self.transport.is_closing():
            self.transport.close()
