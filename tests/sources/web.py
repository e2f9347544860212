"""Sites on a port of this machine, for tests of crawling."""

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

Answer = tuple[int, Mapping[str, str], bytes]
Answers = Mapping[str, Any]
"""By path: a page, an answer, answers one after the other, or a function that speaks to the client itself."""


def page(body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head><meta charset=utf-8>{head}</head><body><main>{body}</main></body></html>"


def packed(body: bytes) -> Answer:
    return 200, {"content-type": HTML, "content-encoding": "gzip"}, gzip.compress(body)


def moved(target: str, status: int = 302) -> Answer:
    return status, {"location": target}, b""


class Web(ThreadingHTTPServer):
    """Answers each path as it is told to, and remembers what was asked for."""

    daemon_threads = True

    def __init__(self, answers: Answers, secured: ssl.SSLContext | None = None) -> None:
        super().__init__((HOST, 0), _Handler)
        self.scheme = "https" if secured else "http"
        self.socket = secured.wrap_socket(self.socket, server_side=True) if secured else self.socket
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []

    @property
    def url(self) -> str:
        return f"{self.scheme}://{HOST}:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Whoever hangs up does so."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Web

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        answer = self.server.answers.get(self.path, (404, {}, b"nothing here"))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, str):
            answer = (200, {"content-type": HTML}, answer.encode())
        if not isinstance(answer, tuple):
            answer(self)
            return
        status, headers, body = answer
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def serving(answers: Answers, secured: ssl.SSLContext | None = None) -> Iterator[Web]:
    """A site that answers by path until the end of the block."""
    web = Web(answers, secured)
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield web
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


def folder(root: Path) -> Answers:
    """What a server of files answers for a folder."""
    answers: dict[str, Answer] = {}
    for path in root.rglob("*"):
        if path.is_file():
            name = "/" + path.relative_to(root).as_posix()
            kind = HTML if path.suffix == ".html" else "application/xml"
            answer = (200, {"content-type": kind}, path.read_bytes())
            answers[name] = answer
            if path.name == "index.html":
                answers[name.removesuffix("index.html")] = answer
    return answers
