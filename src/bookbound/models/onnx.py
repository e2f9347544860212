"""Runs the shipped networks with onnxruntime and tokenizes text for them."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from io import BufferedReader
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import onnxruntime
import tokenizers
from numpy.typing import NDArray

from bookbound.models import (
    DIGESTS_FILE,
    MODELS_FOLDER,
    TOKENIZER_FILE,
    damaged_model_error,
    load_constants,
    missing_model_error,
)

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # must stand before the import: no word of a reader's use leaves the machine
P = ParamSpec("P")
T = TypeVar("T")
TOKEN_COUNT_CACHE_SIZE = 1 << 15
"""Of how many words it is remembered how many pieces they have."""


class TokenizedText(NamedTuple):
    """The word pieces of a text: their numbers, their characters, and the word that each belongs to."""

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]


class OnnxNetwork:
    """A network that reads one row of word pieces a call.

    A row goes through alone: quantised on the fly, what is read would otherwise depend on its batch mates.
    """

    def __init__(self, file: Path) -> None:
        self._session = onnxruntime.InferenceSession(
            str(file),
            _build_session_options(),
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],
        )
        self._outputs = [output.name for output in self._session.get_outputs()]

    def read(self, ids: Sequence[int], **given: Sequence[int]) -> Mapping[str, NDArray[np.float32]]:
        """What the network says of a row, by the names of its outputs."""
        row = np.array([ids], np.int64)
        inputs = {"input_ids": row, "attention_mask": np.ones_like(row)}
        inputs |= {name: np.array([values], np.int64) for name, values in given.items()}
        found = self._session.run(None, inputs)
        return {name: np.asarray(rows, np.float32)[0] for name, rows in zip(self._outputs, found, strict=True)}


class ModelRuntime:
    """The networks of one folder and the word pieces they share; all of them work on one bounded set of threads.

    Those named `ahead` are opened while their owner does other things.
    """

    def __init__(self, folder: Path = MODELS_FOLDER, threads: int = 2, ahead: Sequence[str] = ()) -> None:
        self.folder = folder
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="models")
        self._ahead = {name: self._threads.submit(self._network, name) for name in ahead}
        self._pieces_of = lru_cache(TOKEN_COUNT_CACHE_SIZE)(lambda word: len(self.ids(word)))

    def network(self, name: str) -> OnnxNetwork:
        """The network of that name, open."""
        return self._ahead[name].result() if name in self._ahead else self._network(name)

    def digest(self, name: str) -> str:
        """The SHA-256 that a file of the folder must have."""
        return self._digests.get(name, "")

    def constants(self, name: str) -> dict[str, Any]:
        """The constants in a file of that name."""
        return load_constants(self.folder / name)

    def ids(self, text: str) -> list[int]:
        """The numbers of a text's word pieces."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def count(self, text: str) -> int:
        """How many word pieces a text has; none spans a space, and a book repeats its words, so each is read once."""
        return sum(map(self._pieces_of, text.replace("\n", " ").split(" ")))

    def pieces(self, text: str) -> TokenizedText:
        """The word pieces of a text, and where they stand in it."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return TokenizedText(found.ids, found.offsets, found.word_ids)

    @cached_property
    def marks(self) -> tuple[int, int]:
        """The numbers that open a row and close each text in it."""
        opening, closing = self._tokenizer.encode("").ids
        return opening, closing

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What comes of some work on one of the threads, while the caller's loop goes on."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False)

    def _network(self, name: str) -> OnnxNetwork:
        return OnnxNetwork(self._intact(name))

    @cached_property
    def _digests(self) -> dict[str, str]:
        return self.constants(DIGESTS_FILE)

    @property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        with self._lock:
            return self._word_pieces

    @cached_property
    def _word_pieces(self) -> tokenizers.Tokenizer:
        tokenizer = tokenizers.Tokenizer.from_file(str(self._intact(TOKENIZER_FILE)))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _intact(self, name: str) -> Path:
        """A file of the folder, once its content was found to be what it should."""
        file = self.folder / name
        with _open_model_file(file) as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != self.digest(name):
                raise damaged_model_error(name)
        return file


def _build_session_options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Without VNNI, signed 8-bit kernels saturate and change the verdict. This setting makes the weights unsigned there,
    # which is exact; it takes effect from the extended level on. The fusion left out above rounds differently.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _open_model_file(file: Path) -> BufferedReader:
    try:
        return file.open("rb")
    except OSError as trouble:
        raise missing_model_error(file.name) from trouble
