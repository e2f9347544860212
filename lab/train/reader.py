"""`python -m lab.train.reader strong|fast`: trains a reader on the labels, alone or with a teacher.

A student learns from the labels and from the logits of its teacher, which also corrects wrong labels. The strong reader
learns from an earlier one of its kind, the fast one from the strong one.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from lab.train.batches import (
    MAX_BATCH_TOKENS,
    Array,
    Example,
    ExampleBuilder,
    Row,
    build_epoch,
    load_negatives,
    load_rows,
    make_batches,
)
from lab.train.constants import BASE, OUT, TOKENIZER
from lab.train.network import TABLES, WORD_TABLE, Encoder, Reader, save_trained
from lab.train.reader_loss import TeacherShares, compute_loss
from lab.train.reader_metrics import HeldOut, Logits, measure_reader
from lab.train.shapes import READER_ENCODERS
from lab.train.tensors import DEVICE, Batch, collate

EMA_DECAY, PREDICTED_AT_ONCE = 0.998, 128
DISTILLATION_WEIGHTS = {"strong": 0.5, "fast": 0.85}
PACE_STEPS = (60, 160)
"""Between these steps the speed is measured, to stop in time for `--seconds`."""


class EpochDataset(IterableDataset[Batch]):
    """Yields batches of several passes; each worker prepares one pass."""

    def __init__(
        self, builder: ExampleBuilder, reading: list[Row], support: list[Row], options: argparse.Namespace
    ) -> None:
        self._data, self._options = (builder, reading, support), options

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(self._options.seed * 1000 + (worker.id if worker else 0))
        yield from (collate(group, "cpu") for group in self.batches(rng))

    def batches(self, rng: random.Random) -> list[list[Example]]:
        """The batches of one pass."""
        return make_batches(build_epoch(*self._data, rng, self._options.negatives, self._options.about_claims), rng)


class MasterWeights:
    """The weights in full precision, next to the network that computes in half precision."""

    def __init__(self, model: Reader, rate: float) -> None:
        names = [name for name, part in model.named_parameters() if part.requires_grad]
        self._live = [model.get_parameter(name) for name in names]
        self._full = [part.detach().float().clone() for part in self._live]
        self.average = [part.clone() for part in self._full]
        self._names = names
        body = [part for part, name in zip(self._full, names, strict=True) if name.startswith("encoder")]
        heads = [part for part, name in zip(self._full, names, strict=True) if not name.startswith("encoder")]
        groups = [{"params": body, "lr": rate}, {"params": heads, "lr": 4 * rate}]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=DEVICE == "cuda")

    @torch.no_grad()
    def step(self, number: int) -> None:
        """Takes one optimizer step and updates the average."""
        for full, live in zip(self._full, self._live, strict=True):
            full.grad = live.grad.float() if live.grad is not None else None
            live.grad = None
        torch.nn.utils.clip_grad_norm_(self._full, 1.0)
        self.optimizer.step()
        torch._foreach_copy_(self._live, self._full)
        torch._foreach_lerp_(self.average, self._full, 1 - min(EMA_DECAY, number / (number + 10)))

    def averaged(self) -> dict[str, Tensor]:
        return dict(zip(self._names, self.average, strict=True))


def train(model: Reader, teacher: Reader | None, data: EpochDataset, options: argparse.Namespace, steps: int) -> Reader:
    """Returns a running average of the weights, which is better than the last weights."""
    trained = copy.deepcopy(model)
    model = model.to(torch.bfloat16).train()
    weights = MasterWeights(model, options.rate)
    warmup = max(1, int(0.06 * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        weights.optimizer, lambda step: min((step + 1) / warmup, max(0.0, (steps - step) / max(1, steps - warmup)))
    )
    shares = TeacherShares(options.distillation_weight, options.claim_distillation_weight)
    start = pace_start = perf_counter()
    loader = DataLoader(
        data, batch_size=None, num_workers=options.passes, pin_memory=DEVICE == "cuda", prefetch_factor=8
    )
    for step, loaded in enumerate(loader):
        batch = {name: part.to(DEVICE, non_blocking=True) for name, part in loaded.items()}
        loss = compute_loss(model, teacher, batch, shares)
        (loss * batch["ids"].numel() / MAX_BATCH_TOKENS).backward()  # the last batch of a length is smaller
        weights.step(step)
        schedule.step()
        if step == PACE_STEPS[0]:
            pace_start = perf_counter()
        if step == PACE_STEPS[1] and options.seconds:
            seconds_per_step = (perf_counter() - pace_start) / (PACE_STEPS[1] - PACE_STEPS[0])
            steps = min(steps, step + int((options.seconds - (perf_counter() - start)) / seconds_per_step))
        if step % 500 == 0 or step + 1 >= steps:
            elapsed = perf_counter() - start
            print(f"{options.name} step {step + 1} of {steps}, loss {loss.item():.3f}, {elapsed:.0f} s", flush=True)
        if step + 1 >= steps:
            break
    trained.load_state_dict(weights.averaged(), strict=False)
    return trained.eval()


@torch.inference_mode()
def predict(model: Reader, examples: Sequence[Example], precision: torch.dtype = torch.bfloat16) -> Logits:
    """Reads examples, on a GPU in half precision."""
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].ids))
    starts: list[Array] = [np.empty(0)] * len(examples)
    ends, answers, supported = list(starts), np.empty(len(examples)), np.empty(len(examples))
    for at in range(0, len(order), PREDICTED_AT_ONCE):
        chosen = order[at : at + PREDICTED_AT_ONCE]
        batch = collate([examples[i] for i in chosen], DEVICE)
        with torch.autocast(DEVICE, precision) if DEVICE == "cuda" else nullcontext():
            logits = model(batch["ids"], batch["mask"], batch["types"])
        found = [part.float().cpu().numpy() for part in logits]
        for row, i in enumerate(chosen):
            n = len(examples[i].ids)
            starts[i], ends[i] = found[0][row, :n], found[1][row, :n]
            answers[i], supported[i] = found[2][row], found[3][row]
    return starts, ends, answers, supported


def open_model(options: argparse.Namespace) -> Reader:
    """The reader to train, with its tables frozen."""
    kind = READER_ENCODERS[options.kind]
    if options.start:
        model = Reader.load(options.start, options.base)
    else:
        model = Reader(Encoder.pretrained(kind, options.base))
    # MPNet is published without token types, so its first run trains all tables but that of the words.
    for name in TABLES if options.start or kind != "mpnet" else (WORD_TABLE,):
        model.encoder.get_parameter(name).requires_grad_(False)
    return model.to(DEVICE)


def open_teacher(options: argparse.Namespace) -> Reader | None:
    if not options.teacher:
        return None
    return Reader.load(options.teacher, options.base).to(DEVICE, torch.bfloat16).eval().requires_grad_(False)


def open_data(
    builder: ExampleBuilder, options: argparse.Namespace, reading: list[Row], support: list[Row]
) -> EpochDataset:
    """The questions and claims to train on, with the hard negatives of the questions."""
    chosen = [i for i, row in enumerate(reading) if row["part"] == "train"]
    claims = [row for row in support if row["part"] == "train"]
    if options.sample:
        rng = random.Random(options.seed)
        chosen, claims = rng.sample(chosen, options.sample), rng.sample(claims, options.sample)
    negatives = {j: builder.negatives[i] for j, i in enumerate(chosen)}
    lessons = ExampleBuilder(builder.tokens, builder.passages, negatives)
    return EpochDataset(lessons, [reading[i] for i in chosen], claims, options)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=READER_ENCODERS)
    parser.add_argument("--name", help="the name of the weights and figures in lab/train/out; the kind if not given")
    parser.add_argument("--start", type=Path, help="start from these weights instead of the published encoder")
    parser.add_argument("--teacher", type=Path, help="learn from this reader, too")
    parser.add_argument("--distillation-weight", type=float, help="the share of the teacher; 0.5 strong, 0.85 fast")
    parser.add_argument("--claim-distillation-weight", type=float, help="the same for claims, if it is another")
    parser.add_argument("--negatives", type=int, default=0, help="so many hard negatives more than 2 or 3 per question")
    parser.add_argument(
        "--about-claims", action="store_true", help="read half of the questions, and hard claims thrice"
    )
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--steps", type=int, help="stop after this many batches")
    parser.add_argument("--seconds", type=float, help="stop after about this many seconds; the log shows the step")
    parser.add_argument("--sample", type=int, help="try it on so many questions and claims only")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    options = parser.parse_args()
    options.name = options.name or options.kind
    if options.distillation_weight is None:
        options.distillation_weight = DISTILLATION_WEIGHTS[options.kind]
    if options.claim_distillation_weight is None:
        options.claim_distillation_weight = options.distillation_weight
    return options


def main() -> None:
    options = parse_options()
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    reading, support = load_rows("reading"), load_rows("support")
    builder = ExampleBuilder.load(TOKENIZER, [] if options.sample else reading, [] if options.sample else support)
    builder.negatives = load_negatives()
    data = open_data(builder, options, reading, support)
    batches_per_pass = len(data.batches(random.Random(0)))
    steps = options.passes * batches_per_pass
    print(f"{options.name}: {batches_per_pass} batches per pass", flush=True)
    trained = train(open_model(options), open_teacher(options), data, options, min(steps, options.steps or steps))
    save_trained(trained, OUT / f"{options.name}.safetensors")
    held_out = HeldOut.select(reading, support, options.sample)
    figures = measure_reader(builder, lambda examples: predict(trained, examples), held_out)
    (OUT / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
