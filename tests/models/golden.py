"""Real pairs of texts, and what the shipped networks compute for them.

After new networks are shipped, `python tests/models/golden.py` computes golden.json again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bookbound.models import EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE
from bookbound.models.cross_encoder import CLAIM_INPUTS
from bookbound.models.onnx import ModelRuntime, Network

FILE = Path(__file__).with_name("golden.json")


def read_pair(models: ModelRuntime, network: Network, name: str, first: str, second: str) -> dict[str, float]:
    """Returns the logits of a reader, and the tokens where the most probable answer begins and ends."""
    opening, closing = models.special_ids
    one, two = [opening, *models.ids(first), closing], [*models.ids(second), closing]
    types = [0] * len(one) + [1] * len(two)
    outputs = network.read(one + two, token_type_ids=types)
    supported = network.read(one + two, token_type_ids=types, **CLAIM_INPUTS[name])["supported"]
    logits = {"answers": round(float(outputs["answers"]), 4), "supported": round(float(supported), 4)}
    return logits | {name: int(outputs[name].argmax()) for name in ("start", "end")}


def measure_cosine(models: ModelRuntime, network: Network, first: str, second: str) -> float:
    opening, closing = models.special_ids
    one, two = (network.read([opening, *models.ids(text), closing])["embedding"] for text in (first, second))
    return round(float(one @ two), 4)


def compute(golden: dict[str, Any], models: ModelRuntime) -> dict[str, Any]:
    """Returns the same texts with new results."""
    passages = golden["passages"]
    readers = {"fast": models.network(FAST_READER_FILE), "strong": models.network(STRONG_READER_FILE)}
    embedder = models.network(EMBEDDER_FILE)
    for pair in golden["pairs"]:
        texts = pair["text"], passages[pair["passage"]]
        pair |= {name: read_pair(models, reader, name, *texts) for name, reader in readers.items()}
    for pair in golden["similarities"]:
        pair["cosine"] = measure_cosine(models, embedder, pair["question"], passages[pair["passage"]])
    return golden


if __name__ == "__main__":
    result = compute(json.loads(FILE.read_text("utf-8")), ModelRuntime())
    FILE.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
