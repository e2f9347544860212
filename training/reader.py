"""`python -m training.reader`: trains the reader, alone or with teachers.

A teacher is the same network with another seed. A student learns from the labels and, with more weight, from the logits
of its teachers, which also corrects wrong labels.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset
from training.batches import (
    MAX_BATCH_TOKENS,
    NEGATIVES,
    Array,
    Example,
    ExampleBuilder,
    Row,
    build_epoch,
    load_rows,
    make_batches,
)
from training.network import Encoder, Reader
from training.reader_metrics import Logits, measure_reader
from training.tensors import DEVICE, Batch, collate

EMA_DECAY, DISTILLATION_WEIGHT = 0.999, 0.7
PACE_STEPS = (600, 1600)
"""Between these steps the speed is measured, to stop in time for `--seconds`."""
PRETRAINED_FILE = "minilm-l6-fp16.safetensors"


class EpochDataset(IterableDataset[Batch]):
    """Yields batches of several passes; each worker prepares one pass."""

    def __init__(self, builder: ExampleBuilder, reading: list[Row], support: list[Row], seed: int) -> None:
        self._data, self._seed = (builder, reading, support), seed

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(self._seed * 1000 + (worker.id if worker else 0))
        yield from (collate(group, "cpu") for group in make_batches(build_epoch(*self._data, rng), rng))


def label_loss(logits: Sequence[Tensor], batch: Batch, balance: float) -> Tensor:
    """The loss of span, answerability and support, as far as the example has labels for them."""
    starts, ends, answers, supported = logits
    has_answer = batch["starts"].any(1)
    total = starts.new_zeros(())
    for predicted, allowed in ((starts, batch["starts"]), (ends, batch["ends"])):
        is_counted = allowed | ~has_answer[:, None]
        log_probability = predicted.log_softmax(1).masked_fill(~is_counted, -torch.inf).logsumexp(1)
        total = total - 0.5 * (log_probability * has_answer).mean()
    for predicted, name, weight in ((answers, "answers", 1.0), (supported, "supported", balance)):
        weights = torch.where(batch[name] > 0.5, weight, 1.0) * (batch[name] >= 0)
        total = total + functional.binary_cross_entropy_with_logits(predicted, batch[name].clamp(0), weights)
    return total


def distillation_loss(logits: Sequence[Tensor], teachers: Sequence[Sequence[Tensor]], batch: Batch) -> Tensor:
    """The distance of a student from the mean of its teachers."""
    is_reading = batch["supported"] < 0
    total = logits[0].new_zeros(())
    inside = batch["types"].bool()
    has_answer = torch.stack([teacher[2] for teacher in teachers]).mean(0).sigmoid() * is_reading
    for i in (0, 1):
        target = torch.stack([teacher[i].softmax(1) for teacher in teachers]).mean(0)
        distance = -(target * logits[i].log_softmax(1).masked_fill(~inside, 0)).sum(1)
        total = total + 0.5 * (distance * has_answer).mean()
    for i, is_counted in ((2, is_reading), (3, ~is_reading)):
        target = torch.stack([teacher[i].sigmoid() for teacher in teachers]).mean(0)
        distance = functional.binary_cross_entropy_with_logits(logits[i], target, reduction="none")
        total = total + (distance * is_counted).mean()
    return total


class MasterWeights:
    """The weights in full precision, next to the network that computes in half precision."""

    def __init__(self, model: Reader, rate: float) -> None:
        names = [name for name, _ in model.named_parameters() if name.removeprefix("encoder.") not in Encoder.TABLES]
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


def train(model: Reader, data: EpochDataset, options: argparse.Namespace, steps: int, teachers: list[Reader]) -> Reader:
    """Returns a running average of the weights, which is better than the last weights.

    The embedding tables of tokens, positions and types stay as published.
    """
    trained = copy.deepcopy(model)
    model = model.to(torch.bfloat16).train()
    for name in Encoder.TABLES:
        model.encoder.get_parameter(name).requires_grad_(False)
    weights = MasterWeights(model, options.rate)
    warmup = max(1, int(0.06 * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        weights.optimizer, lambda step: min((step + 1) / warmup, max(0.0, (steps - step) / (steps - warmup)))
    )
    teachers = [teacher.to(torch.bfloat16) for teacher in teachers]
    start = pace_start = perf_counter()
    loader = DataLoader(
        data, batch_size=None, num_workers=options.passes, pin_memory=DEVICE == "cuda", prefetch_factor=8
    )
    for step, loaded in enumerate(loader):
        batch = {name: part.to(DEVICE, non_blocking=True) for name, part in loaded.items()}
        loss = compute_loss(model, teachers, batch, options.balance)
        (loss * batch["ids"].numel() / MAX_BATCH_TOKENS).backward()  # the last batch of a length is smaller
        weights.step(step)
        schedule.step()
        if step % 500 == 0:
            elapsed = perf_counter() - start
            print(f"{options.name} step {step} of {steps}, loss {loss.item():.3f}, {elapsed:.0f} s", flush=True)
        if step == PACE_STEPS[0]:
            pace_start = perf_counter()
        if step == PACE_STEPS[1] and options.seconds:
            seconds_per_step = (perf_counter() - pace_start) / (PACE_STEPS[1] - PACE_STEPS[0])
            steps = min(steps, step + int((options.seconds - (perf_counter() - start)) / seconds_per_step))
        if step + 1 >= steps:
            break
    trained.load_state_dict(weights.averaged(), strict=False)
    return trained.eval()


def compute_loss(model: Reader, teachers: Sequence[Reader], batch: Batch, balance: float) -> Tensor:
    """The loss on the labels, mixed with the distance from the teachers if there are any."""
    logits = [part.float() for part in model(batch["ids"], None, batch["types"])]
    loss = label_loss(logits, batch, balance)
    if not teachers:
        return loss
    with torch.no_grad():
        taught = [[part.float() for part in teacher(batch["ids"], None, batch["types"])] for teacher in teachers]
    return (1 - DISTILLATION_WEIGHT) * loss + DISTILLATION_WEIGHT * distillation_loss(logits, taught, batch)


@torch.inference_mode()
def predict(model: Reader, examples: Sequence[Example]) -> Logits:
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].ids))
    starts: list[Array] = [np.empty(0)] * len(examples)
    ends, answers, supported = list(starts), np.empty(len(examples)), np.empty(len(examples))
    for at in range(0, len(order), 128):
        chosen = order[at : at + 128]
        batch = collate([examples[i] for i in chosen], DEVICE)
        found = [part.float().cpu().numpy() for part in model(batch["ids"], batch["mask"], batch["types"])]
        for row, i in enumerate(chosen):
            n = len(examples[i].ids)
            starts[i], ends[i] = found[0][row, :n], found[1][row, :n]
            answers[i], supported[i] = found[2][row], found[3][row]
    return starts, ends, answers, supported


def load_reader(file: Path, models: Path) -> Reader:
    """Loads a trained reader; the file may leave out the token tables, which are not trained."""
    reader = Reader(Encoder.pretrained(models / PRETRAINED_FILE))
    reader.load_state_dict({name: part.float() for name, part in load_file(file).items()}, strict=False)
    return reader.to(DEVICE).eval()


def save_reader(reader: Reader, file: Path) -> None:
    """Writes the weights in half precision, without the token tables, which are as published."""
    tables = tuple(f"encoder.{name}" for name in Encoder.TABLES)
    trained = {name: part for name, part in reader.state_dict().items() if name not in tables}
    save_file({name: part.half().contiguous() for name, part in trained.items()}, file)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="the folder of the pretrained encoder and its tokenizer")
    parser.add_argument("--name", default="reader")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--balance", type=float, default=1.5, help="the weight of a supported claim")
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--start", type=Path, help="start from these weights instead of the pretrained encoder")
    parser.add_argument("--steps", type=int, help="stop after this many batches")
    parser.add_argument("--seconds", type=float, help="stop after about this many seconds; the log shows the step")
    parser.add_argument("--out", type=Path, default=Path("training/out"))
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    reading, support = load_rows("reading"), load_rows("support")
    builder = ExampleBuilder.load(options.models / "tokenizer.json", reading, support)
    builder.negatives = dict(enumerate(json.loads(NEGATIVES.read_text())))
    train_indexes = [i for i, row in enumerate(reading) if row["part"] == "train"]
    negatives = {j: builder.negatives[i] for j, i in enumerate(train_indexes) if i in builder.negatives}
    train_builder = ExampleBuilder(builder.tokens, builder.passages, negatives)
    questions = [reading[i] for i in train_indexes]
    claims = [row for row in support if row["part"] == "train"]
    data = EpochDataset(train_builder, questions, claims, options.seed)
    rng = random.Random(0)
    steps = options.passes * len(make_batches(build_epoch(train_builder, questions, claims, rng), rng))
    teachers = [load_reader(file, options.models) for file in options.teachers]
    model = (
        load_reader(options.start, options.models)
        if options.start
        else Reader(Encoder.pretrained(options.models / PRETRAINED_FILE)).to(DEVICE)
    )
    trained = train(model, data, options, min(steps, options.steps or steps), teachers)
    save_reader(trained, options.out / f"{options.name}.safetensors")
    figures = measure_reader(builder, lambda examples: predict(trained, examples), reading, support)
    (options.out / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
