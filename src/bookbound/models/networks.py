"""Opens networks with onnxruntime, and reads with those of another process, over a local socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from math import prod
from multiprocessing.connection import Client
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.question import Deadline

if TYPE_CHECKING:
    import onnxruntime

SOCKET_VARIABLE = "BOOKBOUND_NETWORK_SOCKET"
"""Names the socket of the process that has the networks; the supervisor of several workers sets it for them."""
MAX_REQUEST_BYTES = 1 << 20
TIMEOUT_SECONDS = 60.0
"""How long a reading may wait for others and for a restart; a process that hangs needs longer."""
RETRY_AFTER_SECONDS = 5
UNREACHABLE_MESSAGE = (
    f"The process that computes the networks does not answer. Try again in {RETRY_AFTER_SECONDS} seconds."
)
ONNX_LOG_ERRORS = 3
"""The severity from which onnxruntime prints: otherwise it warns of the strong reader's optional input."""
Outputs = Mapping[str, NDArray[np.float32]]


def open_session(
    file: Path, claim_weights: Path | None, threads: int, options: Mapping[str, str]
) -> onnxruntime.InferenceSession:
    """Opens the file of a network; the weights for claims of the strong reader are in a file of their own."""
    import onnxruntime  # a process that reads with a remote network does not need it

    session_options = _build_session_options(threads, options)
    if claim_weights:
        # Given as arrays, because onnxruntime opens files only next to that of the network. It does not keep them
        # alive: `values` must live until the session has copied them.
        weights = load_claim_weights(claim_weights)
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(rows) for name, rows in weights.items()}
        session_options.add_external_initializers([*values], [*values.values()])
    providers, disabled = ["CPUExecutionProvider"], ["SkipLayerNormFusion"]
    return onnxruntime.InferenceSession(str(file), session_options, providers=providers, disabled_optimizers=disabled)


def load_claim_weights(file: Path) -> dict[str, NDArray[np.int8]]:
    """Loads integers from -7 to 7, two of which are stored in a byte."""
    weights: dict[str, NDArray[np.int8]] = {}
    with np.load(file) as packed:
        for name, pairs in packed.items():
            weights[name] = rows = np.empty((len(pairs), 2 * pairs.shape[1]), np.int8)
            rows[:, ::2], rows[:, 1::2] = pairs & 15, pairs >> 4
            rows -= 8
    return weights


def _build_session_options(threads: int, entries: Mapping[str, str]) -> onnxruntime.SessionOptions:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = ONNX_LOG_ERRORS
    # The fusions of the highest level and the one disabled above round differently on different CPUs.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    # Weights of 8 bits become full precision when a network is opened, and no CPU multiplies them in 8 bits.
    settings = {"session.intra_op.allow_spinning": "0", "session.disable_quant_qdq": "1"}
    for name, value in {**settings, **entries}.items():
        options.add_session_config_entry(name, value)
    return options


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
