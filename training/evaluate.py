"""`python -m training.evaluate`: measures an exported reader on held-out data and against full precision."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from training.batches import NEGATIVES, Array, Example, ExampleBuilder, load_rows
from training.reader_metrics import Logits, measure_reader

AGREEMENT_SAMPLE_SIZE = 400
MODELS = Path("src/bookbound/models")


class OnnxReader:
    """Runs an exported reader with one example per call, as in production."""

    def __init__(self, file: Path, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

    def __call__(self, examples: Sequence[Example]) -> Logits:
        found = [self._read(example) for example in examples]
        starts, ends, answers, supported = zip(*found, strict=True)
        return list(starts), list(ends), np.array(answers), np.array(supported)

    def _read(self, example: Example) -> tuple[Array, Array, float, float]:
        ids = example.ids[None].astype(np.int64)
        types = (np.arange(ids.shape[1]) >= example.second_start)[None].astype(np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
        start, end, answers, supported = self._session.run(None, given)
        return start[0], end[0], float(answers[0]), float(supported[0])


def measure_agreement(one: Logits, other: Logits) -> dict[str, float]:
    """How far two networks agree on the same examples."""
    same_span = [
        a.argmax() == b.argmax() and c.argmax() == d.argmax()
        for a, b, c, d in zip(one[0], other[0], one[1], other[1], strict=True)
    ]
    figures = {"same span": float(np.mean(same_span))}
    for i, name in ((2, "answers"), (3, "supported")):
        probabilities = [1 / (1 + np.exp(-np.array(side[i]))) for side in (one, other)]
        figures[f"{name}: same verdict"] = float(np.mean((probabilities[0] > 0.5) == (probabilities[1] > 0.5)))
        figures[f"{name}: mean difference of the probabilities"] = float(
            np.abs(probabilities[0] - probabilities[1]).mean()
        )
    return {name: round(value, 4) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="the folder of the tokenizer")
    parser.add_argument("--small", type=Path, default=MODELS / "reader-int8.onnx")
    parser.add_argument("--full", type=Path, default=Path("training/out/reader-fp32.onnx"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sample", type=float, default=1.0, help="measure on this share of the held-out examples")
    options = parser.parse_args()
    reading, support = load_rows("reading"), load_rows("support")
    builder = ExampleBuilder.load(options.models / "tokenizer.json", [], [])
    builder.negatives = dict(enumerate(json.loads(NEGATIVES.read_text())))
    small = OnnxReader(options.small, options.threads)
    rng = random.Random(7)
    if options.full.exists():
        tested = [row for row in reading if row["part"] == "test"]
        chosen = [
            builder.reading_example(r["question"], r["passage"], r) for r in rng.sample(tested, AGREEMENT_SAMPLE_SIZE)
        ]
        chosen += [
            builder.claim_example(r)
            for r in rng.sample([r for r in support if r["part"] == "test"], AGREEMENT_SAMPLE_SIZE)
        ]
        print(
            json.dumps(measure_agreement(small(chosen), OnnxReader(options.full, options.threads)(chosen)), indent=1),
            flush=True,
        )
    for row in reading + support:
        if row["part"] == "test" and rng.random() > options.sample:
            row["part"] = "left out"
    reading = [row | {"source": "left out"} if row["part"] == "left out" else row for row in reading]
    scale = json.loads((MODELS / "reader.json").read_text())["supported"]
    threshold = -scale["shift"] / scale["scale"]
    print(json.dumps(measure_reader(builder, small, reading, support, threshold), indent=1))


if __name__ == "__main__":
    main()
