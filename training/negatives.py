"""`python -m training.negatives`: for each question the most similar passages that do not answer it."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from training.batches import NEGATIVES, Array, Example, Library, Row, library, rows
from training.network import Embedder, Encoder
from training.shape import CLS, LONGEST_TEXT, SEP
from training.tensors import DEVICE, together

MOST = 8


@torch.inference_mode()
def vectors(embedder: Embedder, texts: list[Array]) -> Tensor:
    """A vector for each text of word pieces."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = torch.empty(len(texts), 384, device=DEVICE)
    for at in range(0, len(order), 512):
        chosen = order[at : at + 512]
        batch = together([Example(np.concatenate([[CLS], texts[i][:LONGEST_TEXT], [SEP]]), 0) for i in chosen], DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16):
            found[chosen] = embedder(batch["ids"], batch["mask"]).float()
    return found


def mine(kept: Library, reading: list[Row], embedder: Embedder) -> list[list[int]]:
    """The most similar passages of a question's group, but its own and those that hold its answer's words."""
    groups = {row["group"] for row in reading}
    wanted = [i for i, row in enumerate(kept.passages) if row["group"] in groups]
    passages = torch.zeros(len(kept.passages), 384, device=DEVICE)
    passages[wanted] = vectors(embedder, [kept.pieces(i) for i in wanted])
    questions = vectors(embedder, [kept.words[row["question"]][0] for row in reading])
    shelves, asked = defaultdict(list), defaultdict(list)
    for i, row in enumerate(kept.passages):
        shelves[row["group"]].append(i)
    for i, row in enumerate(reading):
        asked[row["group"]].append(i)
    found: list[list[int]] = [[] for _ in reading]
    for group, those in asked.items():
        shelf = shelves[group]
        near = (questions[those] @ passages[shelf].T).topk(min(len(shelf), MOST + 6)).indices.tolist()
        for i, best in zip(those, near, strict=True):
            found[i] = _wrong(kept, reading[i], [shelf[j] for j in best])
    return found


def _wrong(kept: Library, row: Row, best: list[int]) -> list[int]:
    own = kept.passages[row["passage"]]["text"]
    answers = [own[start:end].lower() for start, end in row["spans"]]
    others = [j for j in best if kept.passages[j]["text"] != own]
    return [j for j in others if not any(a in kept.passages[j]["text"].lower() for a in answers)][:MOST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="the folder of the pretrained encoder and its tokenizer")
    parser.add_argument("--held-out", action="store_true", help="only for the questions of the books held out")
    options = parser.parse_args()
    models, reading = options.models, rows("reading")
    kept = library(models / "tokenizer.json", reading, [])
    embedder = Embedder(Encoder.pretrained(models / "minilm-l6-fp16.safetensors")).to(DEVICE).eval()
    asked = [not options.held_out or (row["part"] == "test" and row["source"] == "book_reading") for row in reading]
    found = iter(mine(kept, [row for row, wanted in zip(reading, asked, strict=True) if wanted], embedder))
    NEGATIVES.write_text(json.dumps([next(found) if wanted else [] for wanted in asked]))


if __name__ == "__main__":
    main()
