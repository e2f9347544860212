"""Serves sites on a local port for tests of crawling."""

from __future__ import annotations

import gzip
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
HTML = "text/html; charset=utf-8"

Response = tuple[int, Mapping[str, str], bytes]
Responses = Mapping[str, Any]
"""By path: a page, a response, several responses in turn, or a function that writes to the client."""


def html_page(body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head><meta charset=utf-8>{head}</head><body><main>{body}</main></body></html>"


def gzip_response(body: bytes) -> Response:
    return 200, {"content-type": HTML, "content-encoding": "gzip"}, gzip.compress(body)


def redirect_response(target: str, status: int = 302) -> Response:
    return status, {"location": target}, b""


class LocalServer(ThreadingHTTPServer):
    """Responses each path as configured and records the requests."""

    daemon_threads = True

    def __init__(self, responses: Responses, ssl_context: ssl.SSLContext | None = None) -> None:
        super().__init__((HOST, 0), _Handler)
        self.scheme = "https" if ssl_context else "http"
        self.socket = ssl_context.wrap_socket(self.socket, server_side=True) if ssl_context else self.socket
        self.responses = dict(responses)
        self.requested: list[str] = []
        self.headers: list[Mapping[str, str]] = []

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HOST}:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LocalServer

    def do_GET(self) -> None:
        self.server.requested.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        response = self.server.responses.get(self.path, (404, {}, b"nothing here"))
        if isinstance(response, list):
            response = response.pop(0) if len(response) > 1 else response[0]
        if isinstance(response, str):
            response = (200, {"content-type": HTML}, response.encode())
        if not isinstance(response, tuple):
            response(self)
            return
        status, headers, body = response
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def serve_site(responses: Responses, ssl_context: ssl.SSLContext | None = None) -> Iterator[LocalServer]:
    """Serve a site until the end of the block."""
    web = LocalServer(responses, ssl_context)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


def folder_responses(root: Path) -> Responses:
    """Return the responses of a file server for a folder."""
    responses: dict[str, Response] = {}
    for path in root.rglob("*"):
        if path.is_file():
            name = "/" + path.relative_to(root).as_posix()
            kind = HTML if path.suffix == ".html" else "application/xml"
            response = (200, {"content-type": kind}, path.read_bytes())
            responses[name] = response
            if path.name == "index.html":
                responses[name.removesuffix("index.html")] = response
    return responses
