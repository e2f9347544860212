"""Runs the shipped networks with onnxruntime, tokenizes text for them, and embeds text."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import onnxruntime
import tokenizers
from numpy.typing import NDArray

from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.models import (
    DIGESTS_FILE,
    EMBEDDER_FILE,
    MODELS_FOLDER,
    TOKENIZER_FILE,
    damaged_model_error,
    load_constants,
    missing_model_error,
)

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors

P = ParamSpec("P")
T = TypeVar("T")
TOKEN_COUNT_CACHE_SIZE = 1 << 15
EMBEDDING_SIZE, EMBEDDER_MAX_TOKENS = 384, 256


class TokenizedText(NamedTuple):
    """The tokens of a text: their ids, their character spans, and the number of the word of each."""

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]


class OnnxNetwork:
    """A network that reads one row of tokens per call, because dynamic quantization makes rows of a batch differ."""

    def __init__(self, file: Path) -> None:
        self._session = onnxruntime.InferenceSession(
            str(file),
            _build_session_options(),
            providers=["CPUExecutionProvider"],
            disabled_optimizers=["SkipLayerNormFusion"],
        )
        self._outputs = [output.name for output in self._session.get_outputs()]

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Mapping[str, NDArray[np.float32]]:
        """Returns the outputs for a row by name."""
        row = np.array([ids], np.int64)
        arrays = {"input_ids": row, "attention_mask": np.ones_like(row)}
        arrays |= {name: np.array([values], np.int64) for name, values in inputs.items()}
        found = self._session.run(None, arrays)
        return {name: np.asarray(rows, np.float32)[0] for name, rows in zip(self._outputs, found, strict=True)}


class ModelRuntime:
    """The networks of one folder and their tokenizer, on one bounded pool of threads; `preload` starts loading some."""

    def __init__(self, folder: Path = MODELS_FOLDER, threads: int = 2, preload: Sequence[str] = ()) -> None:
        self.folder = folder
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="models")
        self._preloaded = {name: self._threads.submit(self._load_network, name) for name in preload}
        self._count_word_tokens = lru_cache(TOKEN_COUNT_CACHE_SIZE)(lambda word: len(self.ids(word)))

    def network(self, name: str) -> OnnxNetwork:
        return self._preloaded[name].result() if name in self._preloaded else self._load_network(name)

    def digest(self, name: str) -> str:
        """Returns the SHA-256 that a file of the folder must have."""
        return self._digests.get(name, "")

    def constants(self, name: str) -> dict[str, Any]:
        return load_constants(self.folder / name)

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def count(self, text: str) -> int:
        """Counts tokens; no token spans a space and a book repeats its words, so each word is tokenized once."""
        return sum(map(self._count_word_tokens, text.replace("\n", " ").split(" ")))

    def tokenize(self, text: str) -> TokenizedText:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return TokenizedText(encoding.ids, encoding.offsets, encoding.word_ids)

    @cached_property
    def special_ids(self) -> tuple[int, int]:
        """The ids of the tokens that open a row and that close each text in it."""
        opening, closing = self._tokenizer.encode("").ids
        return opening, closing

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs some work on one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: work(*args, **kwargs))

    def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _load_network(self, name: str) -> OnnxNetwork:
        return OnnxNetwork(self._verify_file(name))

    @cached_property
    def _digests(self) -> dict[str, str]:
        return self.constants(DIGESTS_FILE)

    @property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        with self._lock:
            return self._loaded_tokenizer

    @cached_property
    def _loaded_tokenizer(self) -> tokenizers.Tokenizer:
        tokenizer = tokenizers.Tokenizer.from_file(str(self._verify_file(TOKENIZER_FILE)))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _verify_file(self, name: str) -> Path:
        """Returns a file of the folder after its checksum was verified."""
        file = self.folder / name
        try:
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise missing_model_error(name) from error
        if digest != self.digest(name):
            raise damaged_model_error(name)
        return file


class OnnxEmbedder:
    """Embeds one text per call of the network, on a bounded number of threads."""

    dimension, max_tokens = EMBEDDING_SIZE, EMBEDDER_MAX_TOKENS

    def __init__(self, models: ModelRuntime | None = None) -> None:
        self._models = models or ModelRuntime()
        self._network = self._models.network(EMBEDDER_FILE)
        self._special_ids = self._models.special_ids

    @property
    def name(self) -> str:
        return f"bookbound-MiniLM-L6-int8@{self._models.digest(EMBEDDER_FILE)[:12]}"

    def count_tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._special_ids)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = await asyncio.gather(*map(self.embed_question, texts))
        return np.stack(rows) if rows else np.empty((0, EMBEDDING_SIZE), np.float32)

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        return await self._models.run(self._compute_vector, text)

    async def close(self) -> None:
        self._models.close()

    def _compute_vector(self, text: str) -> Vectors:
        opening, closing = self._special_ids
        ids = self._models.ids(text)[: EMBEDDER_MAX_TOKENS - len(self._special_ids)]
        return self._network.read([opening, *ids, closing])["embedding"]


def _build_session_options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Without VNNI, signed 8-bit kernels saturate and change the verdict. This setting makes the weights unsigned there,
    # which is exact; it takes effect from the extended level on. The fusion disabled above rounds differently.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
