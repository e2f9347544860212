"""A proxy that shows a server at paths of its own host, as nginx does with `location /book/ { proxy_pass …/; }`."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PrefixProxy:
    """The origin of the proxy, and the requests that were not below one of its paths."""

    def __init__(self, origin: str) -> None:
        self.origin, self.strays = origin, list[str]()


@contextmanager
def run_prefix_proxy(server: str, prefixes: Sequence[str]) -> Iterator[PrefixProxy]:
    """Passes requests below the prefixes to the server, without the prefix and without buffering."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            prefix = next((each for each in prefixes if self.path.startswith(f"{each}/")), None)
            if prefix is None:
                proxy.strays.append(self.path)
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with closing(http.client.HTTPConnection(server.removeprefix("http://"), timeout=120)) as connection:
                connection.request(self.command, self.path.removeprefix(prefix), body, dict(self.headers))
                response = connection.getresponse()
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.end_headers()
                while piece := response.read1():
                    self.wfile.write(piece)
                    self.wfile.flush()

        do_HEAD = do_OPTIONS = do_POST = do_GET  # noqa: N815

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        proxy = PrefixProxy(f"http://127.0.0.1:{listener.server_port}")
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield proxy
        finally:
            listener.shutdown()
            thread.join()
