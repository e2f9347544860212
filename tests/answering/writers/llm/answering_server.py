"""A service that always gives the same reply."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


class AnsweringServer:
    """Answers each request with one status, headers and body, and records the paths and the headers it got."""

    def __init__(
        self, status: int, body: bytes = b"{}", headers: Mapping[str, str] | None = None, *, seconds: float = 0
    ) -> None:
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        paths, received = self.paths, self.headers
        self._is_closed = is_closed = Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                paths.append(self.path)
                received.append({name.lower(): value for name, value in self.headers.items()})
                self.rfile.read(int(self.headers.get("content-length", 0)))
                is_closed.wait(seconds)
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                with suppress(OSError):  # the client may be gone
                    self.wfile.write(body)

            do_GET = do_POST  # noqa: N815  (a redirect may become one)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> AnsweringServer:
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
        self._server.shutdown()
        self._server.server_close()
