"""Loads the shipped networks, tokenizes text for them, and embeds text."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from math import exp
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np
import tokenizers

from bookbound import models as model_files
from bookbound.domain.ports import Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.models.networks import Outputs, RemoteNetwork, open_session

P = ParamSpec("P")
T = TypeVar("T")
TOKEN_COUNT_CACHE_SIZE = 1 << 15  # words: more than most books have
EMBEDDING_SIZE, EMBEDDER_MAX_TOKENS = 384, 256  # also what remote embedders get, so that chunks stay the same


class TokenizedText(NamedTuple):
    """The tokens of a text: their ids, their character spans, and the number of the word of each."""

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]


class Network(Protocol):
    """Reads rows of tokens."""

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        """Returns the outputs for a row by name."""


class OnnxNetwork:
    """A network that reads one row of tokens per call, because dynamic quantization makes rows of a batch differ."""

    def __init__(
        self,
        file: Path,
        *,
        claim_weights: Path | None = None,
        threads: int = 1,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._session = open_session(file, claim_weights, threads, options or {})
        self._outputs = [output.name for output in self._session.get_outputs()]

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        arrays = {name: np.array([values], np.int64) for name, values in {"input_ids": ids, **inputs}.items()}
        found = self._session.run(None, arrays)
        return {name: np.asarray(rows, np.float32)[0] for name, rows in zip(self._outputs, found, strict=True)}


class ModelRuntime:
    """The networks of one folder and their tokenizer, on one bounded pool of threads; `preload` starts loading some.

    With a socket, the networks are in the process at its other end.
    """

    def __init__(
        self,
        folder: Path = model_files.MODELS_FOLDER,
        threads: int = 2,
        preload: Sequence[str] = (),
        socket: str | None = None,
    ) -> None:
        self.folder, self._socket = folder, socket
        self._lock, self._thread_count = Lock(), threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="models")
        self._preloaded = {name: self._threads.submit(self._load_network, name) for name in preload}
        self._count_word = lru_cache(TOKEN_COUNT_CACHE_SIZE)(lambda word: len(self.ids(word)))

    def network(self, name: str) -> Network:
        return self._preloaded[name].result() if name in self._preloaded else self._load_network(name)

    def digest(self, name: str) -> str:
        """Returns the SHA-256 that a file of the folder must have."""
        return self._digests.get(name, "")

    def constants(self, name: str) -> dict[str, Any]:
        return model_files.load_constants(self.folder / name)

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def count(self, text: str) -> int:
        """Counts tokens; no token spans a space and a book repeats its words, so each word is tokenized once."""
        return sum(map(self._count_word, text.replace("\n", " ").split(" ")))

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

    def _load_network(self, name: str) -> Network:
        if self._socket:
            return RemoteNetwork(self._socket, name)
        files = {file: self._verify_file(file) for file in (name, *model_files.EXTRA_FILES.get(name, ()))}
        # The strong reader reads few passages, one after the other, so each reading takes all threads.
        threads = self._thread_count if name == model_files.STRONG_READER_FILE else 1
        network = OnnxNetwork(files[name], claim_weights=files.get(model_files.CLAIM_WEIGHTS_FILE), threads=threads)
        return_free_memory()
        return network

    @cached_property
    def _digests(self) -> dict[str, str]:
        return self.constants(model_files.DIGESTS_FILE)

    @property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        with self._lock:
            return self._loaded_tokenizer

    @cached_property
    def _loaded_tokenizer(self) -> tokenizers.Tokenizer:
        tokenizer = tokenizers.Tokenizer.from_file(str(self._verify_file(model_files.TOKENIZER_FILE)))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _verify_file(self, name: str) -> Path:
        """Returns a file of the folder after its checksum was verified."""
        file = model_files.find_model_file(name, self.folder)
        try:
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise model_files.missing_model_error(name) from error
        if digest != self.digest(name):
            raise model_files.damaged_model_error(name)
        return file


class OnnxEmbedder:
    """Embeds one text per call of the network, on a bounded number of threads."""

    dimension, max_tokens = EMBEDDING_SIZE, EMBEDDER_MAX_TOKENS

    def __init__(self, models: ModelRuntime | None = None) -> None:
        self._models = models or ModelRuntime()
        self._network = self._models.network(model_files.EMBEDDER_FILE)
        self._special_ids = self._models.special_ids
        try:
            score = model_files.check_numbers(self._models.constants(model_files.CONSTANTS_FILE)["score"])
            self._score_scale, self._score_shift = score["scale"], score["shift"]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise model_files.damaged_model_error(model_files.CONSTANTS_FILE) from error

    @property
    def name(self) -> str:
        return f"bookbound-gte-small@{self._models.digest(model_files.EMBEDDER_FILE)[:12]}"

    def count_tokens(self, text: str) -> int:
        return self._models.count(text) + len(self._special_ids)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = await asyncio.gather(*map(self.embed_question, texts))
        return np.stack(rows) if rows else np.empty((0, EMBEDDING_SIZE), np.float32)

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        return await self._models.run(self._compute_vector, text)

    def score_similarity(self, cosine: float) -> float:
        return 1 / (1 + exp(-(self._score_scale * cosine + self._score_shift)))

    async def close(self) -> None:
        self._models.close()

    def _compute_vector(self, text: str) -> Vectors:
        opening, closing = self._special_ids
        ids = self._models.ids(text)[: EMBEDDER_MAX_TOKENS - len(self._special_ids)]
        return self._network.read([opening, *ids, closing])["embedding"]


def return_free_memory() -> None:
    """Gives memory back that opening a network needed for a moment: 40 MB, which glibc would keep."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim:
        trim(0)
