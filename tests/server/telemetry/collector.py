"""A collector of spans on a port of this machine: it takes OTLP over HTTP, and keeps every byte of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """What came so far: `bytes` as sent, and `spans` as read."""

    def __init__(self) -> None:
        self.url, self.bytes, self.paths = "", b"", set[str]()
        self.spans: list[Any] = []
        self._came = Condition()

    def take(self, path: str, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self._came:
            self.bytes += body
            self.paths.add(path)
            self.spans += [
                span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans
            ]
            self._came.notify_all()

    def wait_for(self, number: int) -> list[Any]:
        """The spans, once there are so many."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.spans) >= number, 30), self.spans
            return list(self.spans)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield collector
        server.shutdown()


def attributes(span: Any) -> dict[str, Any]:
    """The attributes of a span as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}
