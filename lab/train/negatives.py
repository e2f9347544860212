"""`python -m lab.train.negatives`: finds for each question the most similar passages that do not answer it.

The published MiniLM finds them: the figures of all readers so far are comparable because they rest on these passages.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import torch
from torch import Tensor

from lab.train.batches import NEGATIVES, Array, ExampleBuilder, Row, load_rows
from lab.train.constants import BASE, TOKENIZER
from lab.train.network import Embedder, Encoder
from lab.train.tensors import DEVICE, collate_texts

NEGATIVES_PER_QUESTION = 8
MINER = "minilm"


@torch.inference_mode()
def embed_texts(embedder: Embedder, texts: list[Array]) -> Tensor:
    """One vector per tokenized text."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors = torch.empty(len(texts), embedder.encoder.shape.hidden, device=DEVICE)
    for at in range(0, len(order), 512):
        chosen = order[at : at + 512]
        with torch.autocast(DEVICE, torch.bfloat16):
            vectors[chosen] = embedder(*collate_texts([texts[i] for i in chosen])).float()
    return vectors


def find_nearest(builder: ExampleBuilder, reading: list[Row], embedder: Embedder, count: int) -> list[list[int]]:
    """For each question the most similar passages of its book, its own passage included."""
    group_passages, group_questions = defaultdict(list), defaultdict(list)
    for i, row in enumerate(reading):
        group_questions[row["group"]].append(i)
    for i, row in enumerate(builder.passages):
        if row["group"] in group_questions:
            group_passages[row["group"]].append(i)
    wanted = [i for group in group_passages.values() for i in group]
    row_of = {passage: row for row, passage in enumerate(wanted)}
    passages = embed_texts(embedder, [builder.passage_tokens(i) for i in wanted])
    questions = embed_texts(embedder, [builder.tokens[row["question"]][0] for row in reading])
    nearest: list[list[int]] = [[] for _ in reading]
    for group, asked in group_questions.items():
        candidates = group_passages[group]
        similarity = questions[asked] @ passages[[row_of[i] for i in candidates]].T
        best = similarity.topk(min(len(candidates), count)).indices.tolist()
        for i, found in zip(asked, best, strict=True):
            nearest[i] = [candidates[j] for j in found]
    return nearest


def mine_negatives(builder: ExampleBuilder, reading: list[Row], embedder: Embedder) -> list[list[int]]:
    """The most similar passages of a question's group, without its own and those that contain the answer."""
    nearest = find_nearest(builder, reading, embedder, NEGATIVES_PER_QUESTION + 6)
    return [_drop_answering(builder, row, best) for row, best in zip(reading, nearest, strict=True)]


def _drop_answering(builder: ExampleBuilder, row: Row, best: list[int]) -> list[int]:
    own = builder.passages[row["passage"]]["text"]
    answers = [own[start:end].lower() for start, end in row["spans"]]
    texts = {j: builder.passages[j]["text"] for j in best}
    wrong = [j for j, text in texts.items() if text != own and not any(each in text.lower() for each in answers)]
    return wrong[:NEGATIVES_PER_QUESTION]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    parser.add_argument("--held-out", action="store_true", help="only for questions of held-out books")
    options = parser.parse_args()
    reading = load_rows("reading")
    builder = ExampleBuilder.load(TOKENIZER, [] if options.held_out else reading, [])
    embedder = Embedder(Encoder.pretrained(MINER, options.base)).to(DEVICE).eval()
    asked = [not options.held_out or (row["part"] == "test" and row["source"] == "book_reading") for row in reading]
    found = iter(mine_negatives(builder, [row for row, wanted in zip(reading, asked, strict=True) if wanted], embedder))
    NEGATIVES.write_text(json.dumps([next(found) if wanted else [] for wanted in asked]))


if __name__ == "__main__":
    main()
