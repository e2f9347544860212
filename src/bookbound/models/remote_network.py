"""Reads with the networks of another process, over a local socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from math import prod
from multiprocessing.connection import Client
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.question import Deadline

SOCKET_VARIABLE = "BOOKBOUND_NETWORK_SOCKET"
"""Names the socket of the process that has the networks; the supervisor of several workers sets it for them."""
MAX_REQUEST_BYTES = 1 << 20
TIMEOUT_SECONDS = 60.0
"""How long a reading may wait for others and for a restart; a process that hangs needs longer."""
RETRY_AFTER_SECONDS = 5
UNREACHABLE_MESSAGE = (
    f"The process that computes the networks does not answer. Try again in {RETRY_AFTER_SECONDS} seconds."
)
Outputs = Mapping[str, NDArray[np.float32]]


class ReadingRequest(NamedTuple):
    """A row of tokens for a network; without inputs, the network is only opened."""

    network: str
    inputs: Mapping[str, Sequence[int]]

    def encode(self) -> bytes:
        return json.dumps(self).encode()

    @classmethod
    def decode(cls, message: bytes) -> ReadingRequest:
        return cls(*json.loads(message))


def encode_outputs(outputs: Outputs) -> bytes:
    """Returns a line with the shapes of the outputs, and their numbers, bit by bit."""
    shapes = json.dumps({name: array.shape for name, array in outputs.items()}).encode()
    return b"\n".join((shapes, b"".join(array.tobytes() for array in outputs.values())))


def decode_outputs(message: bytes) -> Outputs:
    shapes, _, content = message.partition(b"\n")
    numbers, outputs = np.frombuffer(content, np.float32).copy(), {}
    for name, shape in json.loads(shapes).items():
        outputs[name], numbers = numbers[: prod(shape)].reshape(shape), numbers[prod(shape) :]
    return outputs


class RemoteNetwork:
    """A network of another process; each thread has a connection of its own.

    A reading whose connection breaks is sent once more, because the process is started again when it dies.
    """

    def __init__(self, socket: str, name: str) -> None:
        self._socket, self._name = socket, name
        self._of_thread = threading.local()
        self._send({})

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        """Returns the outputs for a row by name."""
        return self._send({"input_ids": ids, **inputs})

    def _send(self, inputs: Mapping[str, Sequence[int]]) -> Outputs:
        message, deadline = ReadingRequest(self._name, inputs).encode(), Deadline.after(TIMEOUT_SECONDS)
        try:
            try:
                return self._exchange(message, deadline)
            except (EOFError, ConnectionError):
                return self._exchange(message, deadline)
        except (EOFError, OSError) as error:
            raise ServiceUnreachableError(
                UNREACHABLE_MESSAGE, service="networks", retry_after=RETRY_AFTER_SECONDS
            ) from error

    def _exchange(self, message: bytes, deadline: Deadline) -> Outputs:
        """Sends a message and waits for the reply; a connection that failed or is late is not used again."""
        connection = getattr(self._of_thread, "connection", None) or Client(self._socket, "AF_UNIX")
        self._of_thread.connection = None
        connection.send_bytes(message)
        if not connection.poll(max(0.0, deadline.limit(TIMEOUT_SECONDS))):
            raise TimeoutError
        reply = decode_outputs(connection.recv_bytes())
        self._of_thread.connection = connection
        return reply
