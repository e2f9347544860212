"""`python -m lab.train.measure_networks`: measures the exported networks on held-out data.

It reads one text or pair per call, as the product does. The strong reader needs about 0.4 s per pair and core, and all
held-out pairs are about 20,000: use `--sample` to read fewer of each set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bookbound.models.networks import Outputs
from bookbound.models.onnx import OnnxNetwork
from lab.train.batches import NO_LABEL, Array, Example, ExampleBuilder, TokenCache, load_negatives, load_rows
from lab.train.constants import (
    CLAIM_WEIGHTS,
    CLS,
    EMBEDDER,
    FAST_READER,
    IS_CLAIM,
    MAX_TEXT_TOKENS,
    MODELS,
    SEP,
    STRONG_READER,
    TOKENIZER,
)
from lab.train.reader_metrics import HeldOut, Logits, measure_reader
from lab.train.retrieval_metrics import measure_retrieval, measure_selection

FILES = {"strong": STRONG_READER, "fast": FAST_READER, "embedder": EMBEDDER}
OUTPUTS = ("start", "end", "answers", "supported")
Figures = dict[str, dict[str, float]]
"""The figures of each network."""


class ParallelNetwork:
    """A network as the product opens it, with one thread per call and several calls at once."""

    def __init__(self, file: Path, threads: int = 1) -> None:
        self.has_claim_weights = file.name == STRONG_READER
        claim_weights = file.with_name(CLAIM_WEIGHTS) if self.has_claim_weights else None
        self._network = OnnxNetwork(file, claim_weights=claim_weights)
        self._threads = ThreadPoolExecutor(threads)

    def read(self, rows: Sequence[dict[str, list[int]]]) -> list[Outputs]:
        """The outputs for each row of inputs."""
        return list(self._threads.map(lambda row: self._network.read(**row), rows))


class OnnxReader:
    """Reads examples with an exported reader."""

    def __init__(self, file: Path, threads: int = 1) -> None:
        self._network = ParallelNetwork(file, threads)

    def __call__(self, examples: Sequence[Example]) -> Logits:
        found = self._network.read([self._build_row(example) for example in examples])
        starts, ends, answers, supported = ([each[name] for each in found] for name in OUTPUTS)
        return starts, ends, np.array(answers), np.array(supported)

    def _build_row(self, example: Example) -> dict[str, list[int]]:
        types = [int(at >= example.second_start) for at in range(len(example.ids))]
        row = {"ids": example.ids.tolist(), "token_type_ids": types}
        is_claim = self._network.has_claim_weights and example.supported != NO_LABEL
        return row | {IS_CLAIM: [1]} if is_claim else row


class OnnxTextEmbedder:
    """Embeds tokenized texts with an exported embedder."""

    def __init__(self, file: Path, threads: int = 1) -> None:
        self._network = ParallelNetwork(file, threads)

    def __call__(self, texts: list[Array]) -> Array:
        rows = [{"ids": [CLS, *ids[:MAX_TEXT_TOKENS].tolist(), SEP]} for ids in texts]
        return np.array([outputs["embedding"] for outputs in self._network.read(rows)])


def evaluate(networks: Sequence[str], folder: Path, sample: int | None, threads: int) -> Figures:
    """Measures the networks of a folder, on all held-out rows or on a sample of each set."""
    builder = ExampleBuilder(TokenCache(TOKENIZER), load_rows("passages"), load_negatives())
    reading, support = load_rows("reading"), load_rows("support")
    held_out = HeldOut.select(reading, support, sample)
    figures: Figures = {}
    for name in networks:
        if name == "embedder":
            books = [row for _, row in HeldOut.select(reading, support).books]
            figures[name] = measure_retrieval(OnnxTextEmbedder(folder / EMBEDDER, threads), builder, books)
        else:
            reader = OnnxReader(folder / FILES[name], threads)
            figures[name] = measure_reader(builder, reader, held_out)
        if name == "fast":
            embed = OnnxTextEmbedder(folder / EMBEDDER, threads)
            figures[name] |= measure_selection(embed, reader, builder, [row for _, row in held_out.books])
        print(name, "is measured", flush=True)
    return figures


def format_table(figures: Figures) -> str:
    """One line per measure, one column per network."""
    measures = list(dict.fromkeys(measure for of_network in figures.values() for measure in of_network))
    width = max(map(len, measures))
    lines = [" " * width + "".join(f"{name:>10}" for name in figures)]
    for measure in measures:
        cells = [of_network.get(measure) for of_network in figures.values()]
        lines.append(f"{measure:{width}}" + "".join(" " * 10 if cell is None else f"{cell:10.4f}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=FILES, default=list(FILES), help="measure only these networks")
    parser.add_argument("--models", type=Path, default=MODELS, help="the folder of the exported networks")
    parser.add_argument(
        "--sample", type=int, help="read at most so many rows of the books, SQuAD and each claim source"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file, too")
    options = parser.parse_args()
    figures = evaluate(options.only, options.models, options.sample, options.threads)
    print(format_table(figures))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
