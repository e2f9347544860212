"""A Qdrant server for tests that writes each call down and fails on request.

The calls are carried out by a real server behind it or, where there is none, by the client's local mode. Tests run with
both, so that the two are compared case by case.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import BaseModel
from qdrant_client import QdrantClient, models


@dataclass(frozen=True)
class Call:
    """A request that the server received."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    key: str | None


@dataclass(frozen=True)
class Fault:
    """A failure that replaces the reply to a request."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    way: Literal["answer", "be silent", "cut off", "hang up", "do it and hang up"] = "answer"
    meanwhile: Callable[[], object] = lambda: None


@dataclass
class QdrantServer:
    """The server's collections, the requests it received, and the faults to come."""

    url: str = ""
    key: str | None = None
    upstream: str = ""
    """The address of the real server; empty for the client's local mode."""
    calls: list[Call] = field(default_factory=list)
    faults: list[tuple[str, Fault | None]] = field(default_factory=list)
    connections: int = 0
    upserts_at_once: int = 0
    """Each upsert of several points waits until this many are in flight."""
    most_upserts: int = 0

    def __post_init__(self) -> None:
        self.client = QdrantClient(self.upstream or ":memory:", check_compatibility=False)
        self.closing = threading.Event()
        self.working = threading.Lock()
        self.upserting = 0
        self.arrived = threading.Condition()

    def fail(self, fault: Fault, path: str = "", times: int = 1, after: int = 0) -> None:
        """Makes the next requests whose path contains `path` fail, `after` some that do not."""
        self.faults += [(path, None)] * after + [(path, fault)] * times

    def requests(self, method: str, ending: str) -> list[Call]:
        """Returns the requests of a method whose path ends with this."""
        return [call for call in self.calls if call.method == method and call.path.endswith(ending)]

    def next_fault(self, path: str) -> Fault | None:
        with self.arrived:
            for at, (part, fault) in enumerate(self.faults):
                if part in path:
                    del self.faults[at]
                    return fault
        return None

    @contextmanager
    def counted(self, call: Call) -> Iterator[None]:
        if not (call.method == "PUT" and call.path.endswith("/points") and len(call.body["points"]) > 1):
            yield
            return
        with self.arrived:
            self.upserting += 1
            self.most_upserts = max(self.most_upserts, self.upserting)
            self.arrived.notify_all()
            self.arrived.wait_for(lambda: self.most_upserts >= self.upserts_at_once, timeout=5)
        try:
            yield
        finally:
            with self.arrived:
                self.upserting -= 1


@contextmanager
def run_server(key: str | None = None, upstream: str = "") -> Iterator[QdrantServer]:
    """Runs an empty server, which accepts only `key` if one is given."""
    server = QdrantServer(key=key, upstream=upstream)

    class Handler(_Handler):
        qdrant = server

    listener = _Listener(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        listener.shutdown()
        thread.join()
        listener.server_close()
        server.client.close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that disconnect early."""


class _Handler(BaseHTTPRequestHandler):
    qdrant: QdrantServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        self.qdrant.connections += 1

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(content) if content else None
        path = unquote(address.path)
        call = Call(self.command, path, parse_qs(address.query), body, self.headers.get("api-key"))
        self.qdrant.calls.append(call)
        with self.qdrant.counted(call):
            if fault := self.qdrant.next_fault(path):
                self._fail(fault, call)
            elif self.qdrant.key and call.key != self.qdrant.key:
                self._answer(401, b"Must provide an API key or an Authorization bearer token")
            else:
                self._answer(*self._carry_out(call))

    def do_PUT(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def do_DELETE(self) -> None:
        self.do_GET()

    def _fail(self, fault: Fault, call: Call) -> None:
        fault.meanwhile()
        if fault.way == "answer":
            return self._answer(fault.status, fault.body, fault.headers)
        self.close_connection = True
        if fault.way == "be silent":
            self.qdrant.closing.wait()
        elif fault.way == "cut off":
            self._answer(200, b'{"result": {"po', (("Content-Length", "1000"),))
        elif fault.way == "do it and hang up":
            self._carry_out(call)
        return None

    def _carry_out(self, call: Call) -> tuple[int, bytes]:
        if not self.qdrant.upstream:
            return _outcome(self.qdrant, call)
        content = None if call.body is None else json.dumps(call.body)
        with closing(HTTPConnection(urlsplit(self.qdrant.upstream).netloc)) as connection:
            connection.request(call.method, self.path, content, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, reply.read()

    def _answer(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _outcome(server: QdrantServer, call: Call) -> tuple[int, bytes]:
    """Returns the result, or the status and text of a refusal."""
    try:
        with server.working:
            result = _done(server.client, call)
    except ValueError as error:
        words = str(error)
        status = 404 if "not found" in words or "does not exist" in words else 409 if "already exists" in words else 400
        return status, json.dumps({"status": {"error": words}, "time": 0.0}).encode()
    return 200, json.dumps({"result": _plain(result), "status": "ok", "time": 0.0}).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


def _done(client: QdrantClient, call: Call) -> Any:
    parts = call.path.strip("/").split("/")
    if parts == ["readyz"]:
        return "all shards are ready"
    if parts == ["aliases"]:
        return client.get_aliases()
    if parts == ["collections"]:
        return client.get_collections()
    if parts == ["collections", "aliases"]:
        change = models.ChangeAliasesOperation.model_validate(call.body)
        return client.update_collection_aliases(change.actions)
    _, name, *rest = parts
    return _COLLECTION[(call.method, "/".join(rest))](client, name, call.body)


def _create(client: QdrantClient, name: str, body: Any) -> bool:
    wanted = models.CreateCollection.model_validate(body)
    return client.create_collection(name, wanted.vectors, sparse_vectors_config=wanted.sparse_vectors)


def _upsert(client: QdrantClient, name: str, body: Any) -> models.UpdateResult:
    return client.upsert(name, models.PointsList.model_validate(body).points)


def _retrieve(client: QdrantClient, name: str, body: Any) -> list[models.Record]:
    wanted = models.PointRequest.model_validate(body)
    return client.retrieve(name, wanted.ids, wanted.with_payload or False, wanted.with_vector or False)


def _scroll(client: QdrantClient, name: str, body: Any) -> dict[str, Any]:
    wanted = models.ScrollRequest.model_validate(body)
    points, following = client.scroll(name, wanted.filter, wanted.limit or 10, offset=wanted.offset)
    return {"points": points, "next_page_offset": following}


def _count(client: QdrantClient, name: str, body: Any) -> models.CountResult:
    wanted = models.CountRequest.model_validate(body)
    return client.count(name, wanted.filter, wanted.exact or False)


def _query(client: QdrantClient, name: str, body: Any) -> models.QueryResponse:
    wanted = models.QueryRequest.model_validate(body)
    return client.query_points(
        name,
        query=wanted.query,
        using=wanted.using,
        prefetch=wanted.prefetch,
        limit=wanted.limit or 10,
        with_payload=False,
    )


def _index(client: QdrantClient, name: str, body: Any) -> models.UpdateResult:
    client.get_collection(name)
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


_COLLECTION: dict[tuple[str, str], Callable[[QdrantClient, str, Any], Any]] = {
    ("GET", ""): lambda client, name, _: client.get_collection(name),
    ("GET", "exists"): lambda client, name, _: {"exists": client.collection_exists(name)},
    ("PUT", ""): _create,
    ("DELETE", ""): lambda client, name, _: client.delete_collection(name),
    ("PUT", "index"): _index,
    ("PUT", "points"): _upsert,
    ("POST", "points"): _retrieve,
    ("POST", "points/scroll"): _scroll,
    ("POST", "points/query"): _query,
    ("POST", "points/count"): _count,
}
