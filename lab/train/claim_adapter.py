"""`python -m lab.train.claim_adapter NAME`: trains the weights with which the strong reader reads claims.

It trains the matrices of all linear layers of a copy of the encoder, and writes their differences from the encoder
(deltas), which stays as it is: nothing that was fitted on questions changes. Half of the loss is adversarial: it is
computed with the embeddings moved to where it is larger. A second stage starts from the mean of the
deltas of the first (`--start`); `lab.train.build_adapter` makes an adapter of them. The last stage trains the factors
of this adapter (`--factors`), rounded to 4 bits as they ship, and writes an adapter again.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from time import monotonic

import torch
from torch import Tensor, nn
from torch.nn import functional

from lab.train.adapted_layers import AdaptedLinear, adapt_layers, collect_factors
from lab.train.balanced_claims import ClaimSampler
from lab.train.batches import Example, ExampleBuilder, TokenCache, load_rows
from lab.train.constants import BASE, CLAIM_HEAD, DELTA, OUT, TOKENIZER
from lab.train.lessons import half_precision
from lab.train.low_rank import average_deltas, multiply_factors
from lab.train.network import DROPOUT, Reader, as_tensors
from lab.train.packed_weights import load_weights, save_weights
from lab.train.quantization import Weights
from lab.train.tensors import DEVICE, Batch, collate

RATE, HEAD_RATE, WEIGHT_DECAY, WARMUP_STEPS = 4e-5, 4e-4, 0.01, 100
FACTOR_RATE = 3e-3
"""A step of a factor, as a share of the root mean square of its weights."""
BATCH_GROUPS, POOLED_BATCHES = 64, 12
SMOOTHED_LABEL, PAIR_WEIGHT, EMA_DECAY = 0.01, 1.0, 0.998
ADVERSARIAL_STEP, EPSILON = 0.3, 1e-12
HEAD_BIAS, FACTOR_SUFFIX = f"{CLAIM_HEAD}2.bias", ".latent"
ClaimGroup = list[Example]
"""One claim, or two twins."""


def prepare_factors(reader: Reader, adapter: Weights) -> dict[str, AdaptedLinear]:
    """Freezes all of a reader but its head for claims and the factors of an adapter, which it adds."""
    prepare_head(reader, adapter)
    return adapt_layers(reader, adapter)


def prepare_head(reader: Reader, start: Weights) -> None:
    """Freezes all of a reader but its head for claims, and starts from another one if there is one."""
    reader.requires_grad_(False)
    reader.supported.requires_grad_(True)
    head = {name: values for name, values in start.items() if name.startswith(CLAIM_HEAD)}
    reader.load_state_dict(as_tensors(head), strict=False)


def prepare_matrices(reader: Reader, start: Weights) -> Weights:
    """Adds deltas to a reader, freezes all but its matrices and its head for claims, and returns the old matrices."""
    prepare_head(reader, start)
    layers = list_layers(reader)
    before = {name: layer.weight.detach().numpy().copy() for name, layer in layers.items()}
    for layer in layers.values():
        layer.weight.requires_grad_(True)
    if start:
        add_deltas(reader, start)
    return before


def add_deltas(reader: Reader, deltas: Weights) -> None:
    """Adds its delta to the matrix of each layer."""
    for name, layer in list_layers(reader).items():
        layer.weight.data += torch.tensor(deltas[name + DELTA])


def list_layers(reader: Reader) -> dict[str, nn.Linear]:
    """The linear layers of the encoder by name."""
    named = reader.named_modules()
    return {name: layer for name, layer in named if isinstance(layer, nn.Linear) and name.startswith("encoder.")}


def collect_deltas(reader: Reader, before: Weights) -> Weights:
    """How the matrices of the layers differ from those before."""
    layers = list_layers(reader)
    return {name + DELTA: layers[name].weight.detach().float().cpu().numpy() - old for name, old in before.items()}


def draw_batches(sampler: ClaimSampler, builder: ExampleBuilder, rng: random.Random) -> Iterator[list[ClaimGroup]]:
    """Batches of claims of similar lengths."""
    while True:
        pool = [[builder.claim_example(row) for row in sampler.draw()] for _ in range(BATCH_GROUPS * POOLED_BATCHES)]
        pool.sort(key=lambda group: max(len(example.ids) for example in group))
        batches = [pool[at : at + BATCH_GROUPS] for at in range(0, len(pool), BATCH_GROUPS)]
        rng.shuffle(batches)
        yield from batches


def backpropagate(reader: Reader, groups: list[ClaimGroup], adversarial_step: float) -> Tensor:
    """Adds the gradients of the mean of the loss and the adversarial loss, and returns this mean."""
    batch = collate([example for group in groups for example in group], DEVICE)
    # The tables of the encoder are frozen, so no gradient must reach them.
    embeddings = reader.encoder.embed_tokens(batch["ids"], batch["types"]).detach().requires_grad_()
    loss = compute_loss(reader, groups, batch, embeddings)
    if not adversarial_step:
        loss.backward()
        return loss.detach()
    (loss / 2).backward()
    gradient = embeddings.grad
    assert gradient is not None
    direction = gradient / (gradient.flatten(1).norm(dim=1)[:, None, None] + EPSILON)
    distance = adversarial_step * embeddings.detach().norm(dim=2).mean()
    adversarial_loss = compute_loss(reader, groups, batch, embeddings.detach() + distance * direction)
    (adversarial_loss / 2).backward()
    return (loss + adversarial_loss).detach() / 2


def compute_loss(reader: Reader, groups: list[ClaimGroup], batch: Batch, embeddings: Tensor) -> Tensor:
    """How wrong the logits are, and how little a true claim is above its twin."""
    with half_precision(torch.bfloat16):
        first = reader.encoder.run_layers(embeddings, batch["mask"])[:, 0]
    logits = reader.supported(functional.dropout(first.float(), DROPOUT, reader.training)).squeeze(1)
    labels = batch["supported"] * (1 - 2 * SMOOTHED_LABEL) + SMOOTHED_LABEL
    loss = functional.binary_cross_entropy_with_logits(logits, labels)
    margins, at = list[Tensor](), 0
    for group in groups:
        if len(group) == 2:
            margins.append(logits[at] - logits[at + 1])  # the true twin comes first
        at += len(group)
    return loss + PAIR_WEIGHT * functional.softplus(-torch.stack(margins)).mean() if margins else loss


def choose_rate(name: str, part: nn.Parameter, rate: float) -> float:
    """The learning rate of a parameter; the factors of a layer have very different sizes."""
    if name.startswith(CLAIM_HEAD):
        return HEAD_RATE
    return rate * float(part.detach().square().mean().sqrt()) if name.endswith(FACTOR_SUFFIX) else rate


def train(
    reader: Reader,
    batches: Iterator[list[ClaimGroup]],
    *,
    rate: float,
    adversarial_step: float,
    seconds: float,
    steps: int,
) -> dict[str, Tensor]:
    """Returns a running average of the trained weights; stops after so many seconds or steps."""
    trained = {name: part for name, part in reader.named_parameters() if part.requires_grad}
    averages = {name: part.detach().clone() for name, part in trained.items()}
    parameters = [{"params": [part], "lr": choose_rate(name, part, rate)} for name, part in trained.items()]
    optimizer = torch.optim.AdamW(parameters, weight_decay=WEIGHT_DECAY, betas=(0.9, 0.98), fused=DEVICE == "cuda")
    rates, start = [group["lr"] for group in optimizer.param_groups], monotonic()
    for step, groups in enumerate(islice(batches, steps)):
        done = max(step / steps, (monotonic() - start) / seconds)
        if done >= 1:
            break
        for group, full in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = full * min(1.0, (step + 1) / WARMUP_STEPS) * (1 - done)
        optimizer.zero_grad()
        loss = backpropagate(reader, groups, adversarial_step)
        nn.utils.clip_grad_norm_(trained.values(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for name, part in trained.items():
                averages[name].lerp_(part, 1 - min(EMA_DECAY, (step + 1) / (step + 11)))
        if step % 300 == 0:
            print(f"step {step}, {monotonic() - start:.0f} s, loss {loss.item():.3f}", flush=True)
    return averages


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="the file in lab/train/out to write, without its ending")
    parser.add_argument("--reader", type=Path, default=OUT / "strong.safetensors")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    starts = parser.add_mutually_exclusive_group()
    starts.add_argument("--start", type=Path, nargs="*", help="start from the mean of these deltas or adapters")
    starts.add_argument("--factors", type=Path, help="train the factors of this adapter instead of deltas")
    parser.add_argument(
        "--rate", type=float, help=f"{RATE} if not given; for a factor {FACTOR_RATE} of the size of its weights"
    )
    parser.add_argument(
        "--adversarial-step",
        type=float,
        default=ADVERSARIAL_STEP,
        help="how far the embeddings of an example move together, as a share of the length of one; 0 for none",
    )
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shift", type=float, default=0.0, help="add this to the logit in the end")
    parser.add_argument("--sample", type=int, help="try it on so many claims only")
    return parser.parse_args()


def prepare(reader: Reader, options: argparse.Namespace) -> Callable[[], Weights]:
    """Prepares a reader for the training of factors or of whole matrices; returns what collects what was trained."""
    if options.factors:
        return partial(collect_factors, prepare_factors(reader, load_weights(options.factors)))
    start = [multiply_factors(load_weights(file)) for file in options.start or ()]
    return partial(collect_deltas, reader, prepare_matrices(reader, average_deltas(start) if start else {}))


def main() -> None:
    options = parse_options()
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)
    rows = [row for row in (*load_rows("support"), *load_rows("natural")) if row["part"] == "train"]
    rows = rng.sample(rows, options.sample) if options.sample else rows
    reader = Reader.load(options.reader, options.base)
    collect = prepare(reader, options)
    default_rate = FACTOR_RATE if options.factors else RATE
    averages = train(
        reader.to(DEVICE).train(),
        draw_batches(ClaimSampler(rows, rng), ExampleBuilder(TokenCache(TOKENIZER), []), rng),
        rate=default_rate if options.rate is None else options.rate,
        adversarial_step=options.adversarial_step,
        seconds=options.seconds,
        steps=options.steps,
    )
    reader.load_state_dict(averages, strict=False)
    head = {name: part.float().cpu().numpy() for name, part in averages.items() if name.startswith(CLAIM_HEAD)}
    head[HEAD_BIAS] = head[HEAD_BIAS] + options.shift
    file = OUT / f"{options.name}.safetensors"
    save_weights(head | collect(), file)
    print(f"{file} has changes that were trained on {len(rows)} claims.")


if __name__ == "__main__":
    main()
