"""Stands between the nodes of a cluster, so that their connections can be delayed or cut without a word."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import sleep

HOST = "127.0.0.1"
_POLL_SECONDS = 0.05


class PeerProxy:
    """Passes connections on to one node; what blocked nodes send gets lost, and nobody is told."""

    def __init__(self, find_sender: Callable[[int], int | None]) -> None:
        self._find_sender = find_sender
        self.target = (HOST, 0)
        self.delay = 0.0
        self._blocked: frozenset[int] = frozenset()
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self._is_closed = False
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"

    def block(self, senders: set[int]) -> None:
        self._blocked = frozenset(senders)

    def __enter__(self) -> PeerProxy:
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed = True
        self._listener.close()

    def _accept(self) -> None:
        while not self._is_closed:
            with suppress(OSError):
                client, (_, port) = self._listener.accept()
                Thread(target=self._pass_on, args=(client, port), daemon=True).start()

    def _pass_on(self, client: socket.socket, port: int) -> None:
        sender = self._find_sender(port)
        with client, suppress(OSError):
            while sender in self._blocked:
                sleep(_POLL_SECONDS)
            with socket.create_connection(self.target, timeout=5) as node:
                node.settimeout(None)
                self._copy(client, node, sender)

    def _copy(self, client: socket.socket, node: socket.socket, sender: int | None) -> None:
        other = {client: node, node: client}
        while not self._is_closed:
            if sender in self._blocked:
                sleep(_POLL_SECONDS)
                continue
            for source in select.select([client, node], [], [], _POLL_SECONDS)[0]:
                content = source.recv(65536)
                if not content:
                    return
                if self.delay:
                    sleep(self.delay)
                other[source].sendall(content)


def socket_inodes(port: int) -> set[str]:
    """The sockets that are bound to a local port, from the table of the kernel. Linux only."""
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return {row.split()[9] for row in rows if int(row.split()[1].rpartition(":")[2], 16) == port}


def open_sockets(process_id: int) -> set[str]:
    """The sockets that a process has open."""
    found = set[str]()
    with suppress(OSError):
        for entry in Path(f"/proc/{process_id}/fd").iterdir():
            with suppress(OSError):
                name = str(entry.readlink())
                if name.startswith("socket:["):
                    found.add(name[8:-1])
    return found
