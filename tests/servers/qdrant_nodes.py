"""Runs Qdrant nodes as real processes on loopback ports; a cluster of them can be killed, stopped and partitioned."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from tests.servers.peer_proxy import PeerProxy, open_sockets, socket_inodes

HOST = "127.0.0.1"
START_SECONDS = 180.0
READY_TIMEOUT_SECONDS = 0.1
"""A restarted node becomes ready when the cluster committed nothing between two requests, so they follow quickly."""
MISSING_MESSAGE = (
    "There is no Qdrant server. Name its executable in BOOKBOUND_TEST_QDRANT, or put `qdrant` on the path."
)


def find_executable() -> str | None:
    """Returns the Qdrant server's executable, if there is one."""
    return os.environ.get("BOOKBOUND_TEST_QDRANT") or shutil.which("qdrant")


def free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


class QdrantNode:
    """One node with its folder; it keeps its ports when it starts again."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, proxy: PeerProxy | None = None) -> None:
        self.folder = folder
        self.port, self._grpc_port, self.peer_port = free_port(), free_port(), free_port()
        self.url = f"http://{HOST}:{self.port}"
        self._settings = dict(settings or {})
        self.proxy = proxy
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process_id(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def peer_url(self) -> str:
        """The address at which other nodes reach this one."""
        return self.proxy.url if self.proxy else f"http://{HOST}:{self.peer_port}"

    def start(self, bootstrap: str = "") -> None:
        """Starts the process without waiting until it answers; `bootstrap` is the address of a node to join."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = {
            "SERVICE__HOST": HOST,
            "SERVICE__HTTP_PORT": str(self.port),
            "SERVICE__GRPC_PORT": str(self._grpc_port),
            "STORAGE__STORAGE_PATH": str(self.folder / "storage"),
            "STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            "STORAGE__PERFORMANCE__MAX_SEARCH_THREADS": "2",
            "CLUSTER__P2P__PORT": str(self.peer_port),
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
        } | self._settings
        environment = os.environ | {f"QDRANT__{name}": value for name, value in names.items()}
        command = [find_executable() or "qdrant", "--disable-telemetry"]
        if names.get("CLUSTER__ENABLED") == "true":
            command += ["--uri", self.peer_url, *(["--bootstrap", bootstrap] if bootstrap else [])]
        with (self.folder / "output.log").open("ab") as output:
            self._process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=output, stderr=output)

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.get("/readyz") is not None or not self.is_running, START_SECONDS)
        assert self.is_running, self.read_log()

    def read_log(self) -> str:
        """The last lines that the node printed."""
        return (self.folder / "output.log").read_text()[-3000:]

    def kill(self) -> None:
        """Ends the process at once, as `kill -9` does."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def suspend(self) -> None:
        os.kill(self.process_id, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process_id, signal.SIGCONT)

    def wipe(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def get(self, path: str, seconds: float = 5) -> Any:
        """Returns the JSON or text of a reply; None if there is no good one."""
        return self.send("GET", path, seconds=seconds)

    def send(self, method: str, path: str, body: Any = None, seconds: float = 30) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=seconds) as reply:
                content = reply.read()
        except (OSError, urllib.error.URLError, ValueError):
            return None
        with suppress(ValueError):
            return json.loads(content)
        return content.decode()


class QdrantCluster:
    """Nodes that know each other, or one node that is no cluster."""

    def __init__(self, folder: Path, count: int = 3, settings: Sequence[Mapping[str, str]] = ()) -> None:
        self._resources = ExitStack()
        self.nodes: list[QdrantNode] = []
        common = {"CLUSTER__ENABLED": "true"} if count > 1 else {}
        for number in range(count):
            proxy = self._resources.enter_context(PeerProxy(self._find_number)) if count > 1 else None
            own = settings[number] if number < len(settings) else {}
            node = QdrantNode(folder / f"node-{number}", {**common, **own}, proxy)
            if proxy:
                proxy.target = (HOST, node.peer_port)
            self.nodes.append(node)
            self._resources.callback(node.kill)

    @property
    def urls(self) -> str:
        return ",".join(node.url for node in self.nodes)

    def start(self) -> None:
        first, *others = self.nodes
        first.start()
        first.wait_until_ready()
        for node in others:
            node.start(first.peer_url)
            node.wait_until_ready()
        wait_until(lambda: all(self._peer_count(node) == len(self.nodes) for node in self.nodes), START_SECONDS)

    def restart(self, number: int) -> None:
        """Starts a killed node again, which joins a running one."""
        other = next((node for node in self.nodes if node.is_running and node is not self.nodes[number]), None)
        self.nodes[number].start(other.peer_url if other else "")

    def stop(self) -> None:
        for node in self.nodes:
            if node.is_running:
                node.resume()
        self._resources.close()

    def wait_until_healed(self, seconds: float = START_SECONDS) -> None:
        """Waits until every node is ready and every replica of every collection is active on every node."""
        end = monotonic() + seconds
        while unhealed := self._find_unhealed():
            assert monotonic() < end, f"After {seconds:.0f} s {unhealed}"
            sleep(0.05)

    def clear(self) -> None:
        """Removes all collections."""
        for name in self._collections(self.nodes[0]):
            self.nodes[0].send("DELETE", f"/collections/{name}")

    def partition(self, number: int) -> None:
        """Cuts the connections between a node and its peers in both directions; clients still reach it."""
        for at, node in enumerate(self.nodes):
            if node.proxy:
                node.proxy.block(set(range(len(self.nodes))) if at == number else {number})

    def heal_partition(self) -> None:
        for node in self.nodes:
            if node.proxy:
                node.proxy.block(set())

    def delay(self, number: int, seconds: float) -> None:
        """Makes everything that peers send to a node arrive late."""
        proxy = self.nodes[number].proxy
        assert proxy
        proxy.delay = seconds

    def _find_number(self, port: int) -> int | None:
        """Returns the number of the node that has a connection from this local port."""
        inodes = socket_inodes(port)
        for number, node in enumerate(self.nodes):
            if node.is_running and inodes & open_sockets(node.process_id):
                return number
        return None

    def _find_unhealed(self) -> str:
        """Says what is not whole yet, with the last lines of that node's log; empty if everything is."""
        for number, node in enumerate(self.nodes):
            if self._peer_count(node) != len(self.nodes) or node.get("/readyz", READY_TIMEOUT_SECONDS) is None:
                return f"node {number} is not ready:\n{node.read_log()}"
        for number, node in enumerate(self.nodes):
            for name in self._collections(node):
                found = (node.get(f"/collections/{name}/cluster") or {}).get("result")
                shards = [*found["local_shards"], *found["remote_shards"]] if found else []
                if not found or found.get("shard_transfers") or any(each["state"] != "Active" for each in shards):
                    return f"{name} is not whole at node {number}: {found}\n{node.read_log()}"
        return ""

    def _peer_count(self, node: QdrantNode) -> int:
        if len(self.nodes) == 1:
            return 1
        return len(((node.get("/cluster") or {}).get("result") or {}).get("peers", ()))

    def _collections(self, node: QdrantNode) -> list[str]:
        found = (node.get("/collections") or {}).get("result") or {}
        return [each["name"] for each in found.get("collections", ())]


@contextmanager
def run_cluster(folder: Path, count: int, settings: Sequence[Mapping[str, str]] = ()) -> Iterator[QdrantCluster]:
    cluster = QdrantCluster(folder, count, settings)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def wait_until(condition: Any, seconds: float) -> None:
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, "the condition never became true"
        sleep(0.05)
