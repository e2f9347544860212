"""`python -m lab.train.readings`: both readers read all candidates, and their logits are stored.

With PyTorch and a GPU, the trained networks read in a minute. Without them the shipped ONNX files read, which takes so
long that only a sample of the candidates is possible.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from lab.train.batches import Array, Example
from lab.train.constants import BASE, FAST_READER, MODELS, OUT, STRONG_READER
from lab.train.reader_metrics import Logits, Predict

READERS = {"fast": FAST_READER, "strong": STRONG_READER}
MAX_ONNX_ROWS = 5000
"""The strong reader needs about 0.4 s per row and core."""


class TokenRows:
    """A file of token rows: a question and a passage each, or a claim and a premise."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def save(self, rows: Sequence[Example]) -> None:
        ids = np.concatenate([row.ids for row in rows]).astype(np.int32)
        lengths = [len(row.ids) for row in rows]
        np.savez_compressed(self.file, ids=ids, lengths=lengths, second=[row.second_start for row in rows])

    def load(self) -> list[Example]:
        stored = np.load(self.file)
        pieces = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
        return [Example(ids, int(second)) for ids, second in zip(pieces, stored["second"], strict=True)]

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.file.read_bytes()).hexdigest()


class StoredLogits:
    """A file with the logits of a reader for all rows of another file."""

    def __init__(self, file: Path, rows: TokenRows) -> None:
        self.file, self._rows = file, rows

    def save(self, logits: Logits) -> None:
        """Spans are kept in half precision, because only their shares count."""
        start, end, answers, _ = logits
        both = np.stack([np.concatenate(start), np.concatenate(end)]).astype(np.float16)
        lengths, answers = list(map(len, start)), answers.astype(np.float32)
        np.savez_compressed(self.file, spans=both, answers=answers, lengths=lengths, rows=self._rows.digest)

    def load(self) -> tuple[list[Array], list[Array], Array]:
        """The start and end logits of each row, and its answer logit."""
        stored = np.load(self.file)
        if stored["rows"] != self._rows.digest:
            raise SystemExit(f"{self.file.name} is for other candidates. Read them: python -m lab.train.readings")
        cuts = np.cumsum(stored["lengths"])[:-1]
        start, end = (np.split(part.astype(np.float32), cuts) for part in stored["spans"])
        return start, end, stored["answers"]


ROWS = TokenRows(OUT / "rows.npz")
LOGITS = {name: StoredLogits(OUT / f"{name}-logits.npz", ROWS) for name in READERS}


def open_torch(name: str, weights: Path, base: Path) -> Predict:
    """The trained reader in PyTorch, in half precision."""
    import torch

    from lab.train.network import Reader
    from lab.train.reader import predict
    from lab.train.tensors import DEVICE

    model = Reader.load(weights / f"{name}.safetensors", base).to(DEVICE).eval()
    return partial(predict, model, precision=torch.float16)


def open_onnx(name: str) -> Predict:
    """The shipped reader."""
    from lab.train.measure_networks import OnnxReader

    return OnnxReader(MODELS / READERS[name], threads=2)


def has_gpu() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--weights", type=Path, default=OUT, help="the folder of fast.safetensors and strong.safetensors"
    )
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    options = parser.parse_args()
    rows = ROWS.load()
    is_fast = has_gpu()
    if not is_fast and len(rows) > MAX_ONNX_ROWS:
        raise SystemExit(
            f"Without a GPU, {len(rows)} rows take too long. Use a sample: python -m lab.train.candidates --sample 8"
        )
    for name, file in LOGITS.items():
        predict = open_torch(name, options.weights, options.base) if is_fast else open_onnx(name)
        file.save(predict(rows))
        print(f"{name}: {len(rows)} rows are read", flush=True)


if __name__ == "__main__":
    main()
