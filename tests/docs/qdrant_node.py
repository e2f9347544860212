"""Stands in for a node of a Qdrant cluster: it lists its peers and forgets one of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PEERS = {str(1_000 + number): {"uri": f"http://node-{number}:6335/"} for number in range(3)}
NODE = re.compile(r"http://node-\d:6333")
"""The address of a node in the documents."""


class _Node(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._reply({"peer_id": 1_000, "peers": PEERS} if self.path == "/cluster" else None)

    def do_DELETE(self) -> None:
        self._reply(True if self.path == "/cluster/peer/1002?force=true" else None)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _reply(self, result: object) -> None:
        body = json.dumps({"result": result, "status": "ok", "time": 0.0}, separators=(",", ":")).encode()
        self.send_response(404 if result is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def run_node() -> Iterator[str]:
    """Runs the node and yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Node) as listener:
        thread = Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}"
        finally:
            listener.shutdown()
            thread.join()
