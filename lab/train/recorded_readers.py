"""The product's readers with stored logits, so that a fit sees exactly what the product computes from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bookbound.domain.chunk import Chunk
from bookbound.models import CONSTANTS_FILE
from bookbound.models.cross_encoder import CrossEncoder, ReaderName, build_windows
from bookbound.models.networks import Outputs
from bookbound.models.onnx import ModelRuntime, Network
from lab.train.batches import Example
from lab.train.readings import LOGITS, READERS, ROWS

RAW_CONSTANTS = {
    "answers": {"scale": 1.0, "shift": 0.0},
    "supported": {"scale": 1.0, "shift": 0.0},
    "rank": {"odds": 1.0},
    "question": {"constant": 0.0},
    "selection": {"constant": 0.0},
    "paraphrase": {"constant": 0.0},
}
"""With these, the log-odds of a reading are the logit of the network."""
Constants = Mapping[str, Any]


def list_rows(pairs: Iterable[tuple[str, Chunk]], models: ModelRuntime) -> list[Example]:
    """The rows of tokens that a reader needs for these questions and passages, each once."""
    rows: dict[tuple[int, ...], Example] = {}
    for question, chunk in pairs:
        path = models.ids(chunk.embedding_text.removesuffix(chunk.text))
        for window in build_windows(models.special_ids, models.ids(question), path, models.ids(chunk.text)):
            rows.setdefault(tuple(window.ids), Example(np.array(window.ids, np.int32), window.second))
    return list(rows.values())


class RecordedNetwork:
    """Returns stored outputs for rows of tokens."""

    def __init__(self, outputs: Mapping[bytes, Outputs]) -> None:
        self._stored = outputs

    def read(self, ids: Sequence[int], **inputs: Sequence[int]) -> Outputs:
        try:
            return self._stored[np.array(ids, np.int32).tobytes()]
        except KeyError:
            raise SystemExit("A row of tokens was not read. List the rows again, and read them.") from None


class RecordedModels(ModelRuntime):
    """The product's tokenizer, with stored readings and with constants that are still being fitted."""

    def __init__(self, networks: Mapping[str, Network], constants: Mapping[str, Constants]) -> None:
        super().__init__()
        self._networks, self._constants = networks, constants

    def network(self, name: str) -> Network:
        return self._networks[name]

    def constants(self, name: str) -> dict[str, Any]:
        return dict(self._constants) if name == CONSTANTS_FILE else super().constants(name)


class RecordedReaders:
    """Opens both readers with the constants of a fit."""

    def __init__(self) -> None:
        rows = [row.ids.astype(np.int32).tobytes() for row in ROWS.load()]
        self._networks = {file: RecordedNetwork(_load_outputs(name, rows)) for name, file in READERS.items()}

    def open(self, constants: Mapping[str, Constants]) -> dict[ReaderName, CrossEncoder]:
        """Opens the readers; constants that are missing are those of raw logits."""
        completed = {name: {**RAW_CONSTANTS, **constants.get(name, {})} for name in READERS}
        models = RecordedModels(self._networks, completed)
        return {"fast": CrossEncoder(models, "fast"), "strong": CrossEncoder(models, "strong")}


def _load_outputs(name: str, rows: Sequence[bytes]) -> dict[bytes, Outputs]:
    start, end, answers = LOGITS[name].load()
    return {
        row: {"start": first, "end": last, "answers": answer}
        for row, first, last, answer in zip(rows, start, end, answers, strict=True)
    }
