"""`python -m training.supported_head`: trains only the head of the strong reader that says if a claim is supported.

Encoder and other heads stay as they are, bit by bit, so nothing that was fitted on them changes.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from training.balanced_claims import balance, shorten_premises
from training.batches import Array, Example, ExampleBuilder, TokenCache, load_rows
from training.constants import BASE, OUT, TOKENIZER
from training.lessons import TAUGHT_TOKENS, group_by_length, half_precision
from training.network import DROPOUT, Reader, save_trained
from training.tensors import DEVICE, collate

STEPS, BATCH_SIZE, RATE, WEIGHT_DECAY, WARMUP_STEPS = 1500, 1024, 3e-4, 0.05, 40
EMA_DECAY = 0.99
SHIFT = 1.0
"""Added to the logit: the encoder knows its training claims, and is less sure of true claims that it never read."""


def compute_first_vectors(reader: Reader, examples: Sequence[Example]) -> Tensor:
    """The vector of the first token of each example."""
    vectors = torch.empty(len(examples), reader.encoder.shape.hidden, device=DEVICE)
    for chosen in group_by_length([len(example.ids) for example in examples], TAUGHT_TOKENS):
        batch = collate([examples[i] for i in chosen], DEVICE)
        with torch.inference_mode(), half_precision(torch.float16):
            vectors[chosen] = reader.encoder(batch["ids"], batch["mask"], batch["types"])[:, 0].float()
    return vectors


def train_head(head: nn.Sequential, vectors: Tensor, labels: Tensor, probabilities: Array, steps: int) -> nn.Sequential:
    """Returns a running average of the weights."""
    drawn_with = torch.from_numpy(probabilities).to(DEVICE)
    optimizer = torch.optim.AdamW(head.parameters(), RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARMUP_STEPS) * (1 - step / steps)
    )
    trained = copy.deepcopy(head)
    for step in range(steps):
        drawn = torch.multinomial(drawn_with, BATCH_SIZE, replacement=True)
        logits = head(functional.dropout(vectors[drawn], DROPOUT)).squeeze(1)
        loss = functional.binary_cross_entropy_with_logits(logits, labels[drawn])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for average, part in zip(trained.parameters(), head.parameters(), strict=True):
                average.lerp_(part, 1 - min(EMA_DECAY, step / (step + 10)))
        if step % 300 == 0 or step + 1 == steps:
            print(f"step {step + 1} of {steps}, loss {loss.item():.3f}", flush=True)
    return trained


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", type=Path, default=OUT / "strong.safetensors", help="the weights to change")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that training.base_weights wrote")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, help="try it on so many claims only")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    rows = [row for row in load_rows("support") if row["part"] == "train"]
    rows = rng.sample(rows, options.sample) if options.sample else rows
    rows += [*shorten_premises(rows, rng)]
    builder = ExampleBuilder(TokenCache(TOKENIZER), [])
    reader: Reader = Reader.load(options.reader, options.base).to(DEVICE).eval().requires_grad_(False)
    vectors = compute_first_vectors(reader, [builder.claim_example(row) for row in rows]).clone()
    labels = torch.tensor(np.array([row["supported"] for row in rows], np.float32), device=DEVICE)
    reader.supported = train_head(reader.supported.requires_grad_(True), vectors, labels, balance(rows), options.steps)
    with torch.no_grad():
        reader.supported[-1].bias += SHIFT
    if options.sample:
        print(f"A head was trained on {len(rows)} claims as a trial and is not kept.")
        return
    save_trained(reader, options.reader)
    print(f"{options.reader} has a new head, trained on {len(rows)} claims.")


if __name__ == "__main__":
    main()
