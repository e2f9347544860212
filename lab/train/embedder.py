"""`python -m lab.train.embedder`: fine-tunes the embedder on questions and the passages that answer them.

Each question must find its passage among those of its batch and the most similar wrong one. The result is a mean of the
published and the tuned weights, which is better on other kinds of books.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lab.train.batches import Array, ExampleBuilder, Row, load_negatives, load_rows
from lab.train.constants import BASE, IMPOSSIBLE_LOGIT, OUT, TOKENIZER
from lab.train.negatives import embed_texts
from lab.train.network import TABLES, Embedder, Encoder, save_trained
from lab.train.reader_metrics import HeldOut
from lab.train.retrieval_metrics import measure_retrieval
from lab.train.tensors import DEVICE, collate_texts

ENCODER = "gte"
BATCH_SIZE, SCORE_SCALE, TUNED_SHARES = 384, 20.0, (0.0, 0.5, 0.75, 0.8, 1.0)
Triple = tuple[Array, Array, Array | None]
"""A question, the passage that answers it, and a similar one that does not."""
SOURCE_SHARES = {
    "squadshifts_amazon_reviews": 0.15,
    "squadshifts_reddit": 0.15,
    "squadshifts_new_wiki": 0.5,
    "fairytaleqa": 0.3,
}


def train(model: Embedder, builder: ExampleBuilder, reading: list[Row], options: argparse.Namespace) -> None:
    rng = random.Random(options.seed)
    questions = [
        (i, row)
        for i, row in enumerate(reading)
        if row["part"] == "train" and row["answerable"] and builder.negatives.get(i)
    ]
    pairs = load_rows("pairs")
    builder.tokens.encode_all([row[name] for row in pairs for name in ("question", "text")])
    steps = int(options.passes * (len(questions) * 0.6 + len(pairs)) / BATCH_SIZE) + 1
    steps = min(steps, options.steps or steps)
    for name in TABLES:
        model.encoder.get_parameter(name).requires_grad_(False)
    trainable = [part for part in model.parameters() if part.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=options.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / (0.1 * steps), max(0.0, 1.1 * (1 - s / steps)))
    )
    model.train()
    step = 0
    while step < steps:
        triples = sample_triples(builder, questions, pairs, rng)
        for at in range(0, len(triples) - BATCH_SIZE, BATCH_SIZE):
            if step >= steps:
                break
            loss = contrastive_loss(model, triples[at : at + BATCH_SIZE])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trainable, 1.0)
            optimizer.step()
            schedule.step()
            if step % 50 == 0:
                print(f"{options.name} step {step} of {steps}, loss {loss.item():.3f}", flush=True)
            step += 1
    model.eval()


def sample_triples(
    builder: ExampleBuilder, questions: list[tuple[int, Row]], pairs: list[Row], rng: random.Random
) -> list[Triple]:
    """The shuffled triples of one pass: a share of the questions, each with one of its negatives, and all pairs."""
    triples: list[Triple] = []
    for i, row in questions:
        if rng.random() < SOURCE_SHARES.get(row["source"], 1.0):
            wrong = builder.passage_tokens(rng.choice(builder.negatives[i][:4]))
            triples.append((builder.tokens[row["question"]][0], builder.passage_tokens(row["passage"]), wrong))
    triples += [(builder.tokens[row["question"]][0], builder.tokens[row["text"]][0], None) for row in pairs]
    rng.shuffle(triples)
    return triples


def contrastive_loss(model: Embedder, triples: list[Triple]) -> Tensor:
    """How badly each question finds its passage among all passages of the batch; equal passages do not compete."""
    passages = [right for _, right, _ in triples] + [wrong for _, _, wrong in triples if wrong is not None]
    with torch.autocast(DEVICE, torch.bfloat16):
        question_vectors = model(*collate_texts([question for question, _, _ in triples]))
        passage_vectors = model(*collate_texts(passages))
    scores = SCORE_SCALE * question_vectors.float() @ passage_vectors.float().T
    keys = np.array([zlib.crc32(text.tobytes()) for text in passages])
    is_equal = keys[: len(triples), None] == keys[None, :]
    np.fill_diagonal(is_equal, False)
    competing = scores.masked_fill(torch.from_numpy(is_equal).to(DEVICE), IMPOSSIBLE_LOGIT)
    return functional.cross_entropy(competing, torch.arange(len(triples), device=DEVICE))


def measure_shares(
    published: Encoder, tuned: Encoder, builder: ExampleBuilder, books: list[Row]
) -> dict[str, dict[str, float]]:
    """The retrieval figures of several means of the published and the tuned weights."""
    figures = {}
    theirs, ours = published.state_dict(), tuned.state_dict()
    for share in TUNED_SHARES:
        mean = Encoder(ENCODER)
        mean.load_state_dict({name: torch.lerp(theirs[name], ours[name].cpu(), share) for name in ours})
        embedder = Embedder(mean).to(DEVICE).eval()
        figures[str(share)] = measure_retrieval(partial(embed_to_numpy, embedder), builder, books)
    return figures


def embed_to_numpy(embedder: Embedder, texts: list[Array]) -> Array:
    vectors: Array = embed_texts(embedder, texts).cpu().numpy()
    return vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="embedder")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--passes", type=float, default=4)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--steps", type=int, help="stop after this many batches")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    reading = load_rows("reading")
    builder = ExampleBuilder.load(TOKENIZER, reading, [])
    builder.negatives = load_negatives()
    published = Encoder.pretrained(ENCODER, options.base)
    tuned = Embedder(copy.deepcopy(published)).to(DEVICE).eval()
    train(tuned, builder, reading, options)
    save_trained(tuned.encoder, OUT / f"{options.name}.safetensors")
    books = [row for _, row in HeldOut.select(reading, []).books]
    figures = measure_shares(published, tuned.encoder, builder, books)
    (OUT / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
