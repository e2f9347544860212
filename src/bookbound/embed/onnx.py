"""The embedder that ships with the package: all-MiniLM-L6-v2, int8, on onnxruntime."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bookbound.errors import BadSetup

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # must stand before the import: no word of a reader's use leaves the machine
import onnxruntime
import tokenizers

if TYPE_CHECKING:
    from bookbound.ports import Vectors

MODELS = Path(__file__).parent.parent / "models"
MODEL, TOKENIZER = "minilm-l6-int8.onnx", "tokenizer.json"
DIGESTS = {
    MODEL: "cf98255d792850ad0656a3b643aba9d90d00a15f5f5b01f3bb418ef113586539",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DIMENSION, BUDGET = 384, 256


class OnnxEmbedder:
    """Embeds one text a call, on a bounded number of threads, without a network.

    A text goes through the model alone: quantised on the fly, its vector would otherwise depend on its batch mates.
    """

    dimension, budget = DIMENSION, BUDGET
    name = f"all-MiniLM-L6-v2-int8@{DIGESTS[MODEL][:12]}"

    def __init__(self, folder: Path = MODELS, threads: int = 2) -> None:
        model, tokenizer = _intact(folder / MODEL), _intact(folder / TOKENIZER)
        self._tokenizer = tokenizers.Tokenizer.from_str(tokenizer.decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._session = onnxruntime.InferenceSession(model, _options(), providers=["CPUExecutionProvider"])
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="embed")

    def tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text).ids)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        loop = asyncio.get_running_loop()
        rows = await asyncio.gather(*(loop.run_in_executor(self._threads, self._vector, text) for text in texts))
        return np.stack(rows) if rows else np.empty((0, DIMENSION), np.float32)

    async def embed_question(self, text: str) -> Vectors:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._vector, text)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)

    def _vector(self, text: str) -> Vectors:
        ids = self._tokenizer.encode(text).ids
        if len(ids) > BUDGET:
            ids = [*ids[: BUDGET - 1], ids[-1]]
        tokens = np.array([ids], np.int64)
        (rows,) = self._session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
        vector: Vectors = np.asarray(rows, np.float32)[0]
        return vector


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _intact(file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as trouble:
        raise BadSetup(f"The model file {file.name} is missing; install bookbound again.") from trouble
    if hashlib.sha256(data).hexdigest() != DIGESTS[file.name]:
        raise BadSetup(f"The model file {file.name} is damaged; install bookbound again.")
    return data
