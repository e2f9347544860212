"""`python -m training.reader`: train the reader, alone or under teachers that were trained the same way.

A teacher is the same network from another seed. A student learns from the labels and, more, from what its teachers
say of each pair, which also mends what the labels have wrong.
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
from training.batches import NEGATIVES, TOKENS_A_BATCH, Array, Example, Library, Row, batches, epoch, library, rows
from training.measure import Logits, all_figures
from training.network import Encoder, Reader
from training.tensors import DEVICE, Batch, together

AVERAGE, SOFT = 0.999, 0.7
PACE = (600, 1600)
WEIGHTS = "minilm-l6-fp16.safetensors"


class Passes(IterableDataset[Batch]):
    """Batches of several passes at once: each worker reads one pass."""

    def __init__(self, kept: Library, reading: list[Row], support: list[Row], seed: int) -> None:
        self._data, self._seed = (kept, reading, support), seed

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(self._seed * 1000 + (worker.id if worker else 0))
        yield from (together(group, "cpu") for group in batches(epoch(*self._data, rng), rng))


def loss(logits: Sequence[Tensor], batch: Batch, balance: float) -> Tensor:
    """Where an answer stands, whether there is one, and whether a claim is supported, as far as the example says."""
    starts, ends, answers, supported = logits
    has = batch["starts"].any(1)
    total = starts.new_zeros(())
    for found, allowed in ((starts, batch["starts"]), (ends, batch["ends"])):
        chance = found.log_softmax(1).masked_fill(~(allowed | ~has[:, None]), -torch.inf).logsumexp(1)
        total = total - 0.5 * (chance * has).mean()
    for found, name, weight in ((answers, "answers", 1.0), (supported, "supported", balance)):
        each = torch.where(batch[name] > 0.5, weight, 1.0) * (batch[name] >= 0)
        total = total + functional.binary_cross_entropy_with_logits(found, batch[name].clamp(0), each)
    return total


def taught(logits: Sequence[Tensor], teachers: Sequence[Sequence[Tensor]], batch: Batch) -> Tensor:
    """How far a student is from the mean of its teachers."""
    reads = batch["supported"] < 0
    total = logits[0].new_zeros(())
    inside = batch["types"].bool()
    sure = torch.stack([said[2] for said in teachers]).mean(0).sigmoid() * reads
    for i in (0, 1):
        meant = torch.stack([said[i].softmax(1) for said in teachers]).mean(0)
        away = -(meant * logits[i].log_softmax(1).masked_fill(~inside, 0)).sum(1)
        total = total + 0.5 * (away * sure).mean()
    for i, wanted in ((2, reads), (3, ~reads)):
        meant = torch.stack([said[i].sigmoid() for said in teachers]).mean(0)
        away = functional.binary_cross_entropy_with_logits(logits[i], meant, reduction="none")
        total = total + (away * wanted).mean()
    return total


class Weights:
    """What is learnt, in full precision, beside the network that computes with half of it."""

    def __init__(self, model: Reader, rate: float) -> None:
        names = [name for name, _ in model.named_parameters() if name.removeprefix("encoder.") not in Encoder.TABLES]
        self._live = [model.get_parameter(name) for name in names]
        self._full = [part.detach().float().clone() for part in self._live]
        self.average = [part.clone() for part in self._full]
        self._names = names
        body = [part for part, name in zip(self._full, names, strict=True) if name.startswith("encoder")]
        heads = [part for part, name in zip(self._full, names, strict=True) if not name.startswith("encoder")]
        groups = [{"params": body, "lr": rate}, {"params": heads, "lr": 4 * rate}]
        self.optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=DEVICE == "cuda")

    @torch.no_grad()
    def step(self, number: int) -> None:
        """Learn from the gradients of the network, and keep the average along the way."""
        for full, live in zip(self._full, self._live, strict=True):
            full.grad = live.grad.float() if live.grad is not None else None
            live.grad = None
        torch.nn.utils.clip_grad_norm_(self._full, 1.0)
        self.optimiser.step()
        torch._foreach_copy_(self._live, self._full)
        torch._foreach_lerp_(self.average, self._full, 1 - min(AVERAGE, number / (number + 10)))

    def averaged(self) -> dict[str, Tensor]:
        return dict(zip(self._names, self.average, strict=True))


def train(model: Reader, data: Passes, options: argparse.Namespace, steps: int, teachers: list[Reader]) -> Reader:
    """The average of the weights along the way, which reads better than the last of them.

    The tables of words and places stay as they were published.
    """
    trained = copy.deepcopy(model)
    model = model.to(torch.bfloat16).train()
    for name in Encoder.TABLES:
        model.encoder.get_parameter(name).requires_grad_(False)
    weights = Weights(model, options.rate)
    peak = max(1, int(0.06 * steps))

    def rate(step: int) -> float:
        return min((step + 1) / peak, max(0.0, (steps - step) / (steps - peak)))

    schedule = torch.optim.lr_scheduler.LambdaLR(weights.optimiser, rate)
    heard = [teacher.to(torch.bfloat16) for teacher in teachers]
    began = marked = perf_counter()
    loader = DataLoader(
        data, batch_size=None, num_workers=options.passes, pin_memory=DEVICE == "cuda", prefetch_factor=8
    )
    for step, given in enumerate(loader):
        batch = {name: part.to(DEVICE, non_blocking=True) for name, part in given.items()}
        logits = [part.float() for part in model(batch["ids"], None, batch["types"])]
        total = loss(logits, batch, options.balance)
        if heard:
            with torch.no_grad():
                said = [[part.float() for part in teacher(batch["ids"], None, batch["types"])] for teacher in heard]
            total = (1 - SOFT) * total + SOFT * taught(logits, said, batch)
        (total * batch["ids"].numel() / TOKENS_A_BATCH).backward()  # what is left of a length makes a smaller step
        weights.step(step)
        schedule.step()
        if step % 500 == 0:
            took = perf_counter() - began
            print(f"{options.name} step {step} of {steps}, loss {total.item():.3f}, {took:.0f} s", flush=True)
        if step == PACE[0]:
            marked = perf_counter()
        if step == PACE[1] and options.seconds:
            pace = (perf_counter() - marked) / (PACE[1] - PACE[0])
            steps = min(steps, step + int((options.seconds - (perf_counter() - began)) / pace))
        if step + 1 >= steps:
            break
    trained.load_state_dict(weights.averaged(), strict=False)
    return trained.eval()


@torch.inference_mode()
def predict(model: Reader, examples: Sequence[Example]) -> Logits:
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].ids))
    starts: list[Array] = [np.empty(0)] * len(examples)
    ends, answers, supported = list(starts), np.empty(len(examples)), np.empty(len(examples))
    for at in range(0, len(order), 128):
        chosen = order[at : at + 128]
        batch = together([examples[i] for i in chosen], DEVICE)
        found = [part.float().cpu().numpy() for part in model(batch["ids"], batch["mask"], batch["types"])]
        for row, i in enumerate(chosen):
            n = len(examples[i].ids)
            starts[i], ends[i] = found[0][row, :n], found[1][row, :n]
            answers[i], supported[i] = found[2][row], found[3][row]
    return starts, ends, answers, supported


def restored(file: Path, models: Path) -> Reader:
    """A reader that was trained before; its tables, which are not trained, may be left out of the file."""
    reader = Reader(Encoder.pretrained(models / WEIGHTS))
    reader.load_state_dict({name: part.float() for name, part in load_file(file).items()}, strict=False)
    return reader.to(DEVICE).eval()


def keep(reader: Reader, file: Path) -> None:
    """Write what was learnt, in half precision, without the tables, which are as published."""
    tables = tuple(f"encoder.{name}" for name in Encoder.TABLES)
    learnt = {name: part for name, part in reader.state_dict().items() if name not in tables}
    save_file({name: part.half().contiguous() for name, part in learnt.items()}, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="the folder of the pretrained encoder and its tokenizer")
    parser.add_argument("--name", default="reader")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--balance", type=float, default=1.5, help="the weight of a supported claim")
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--start", type=Path, help="begin from these weights instead of the pretrained encoder's")
    parser.add_argument("--steps", type=int, help="stop after so many batches")
    parser.add_argument("--seconds", type=float, help="stop after about so many seconds; the log says at which step")
    parser.add_argument("--out", type=Path, default=Path("training/out"))
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    reading, support = rows("reading"), rows("support")
    kept = library(options.models / "tokenizer.json", reading, support)
    kept.negatives = dict(enumerate(json.loads(NEGATIVES.read_text())))
    learn = [(i, row) for i, row in enumerate(reading) if row["part"] == "train"]
    negatives = {j: kept.negatives[i] for j, (i, _) in enumerate(learn) if i in kept.negatives}
    lessons = Library(kept.words, kept.passages, negatives)
    claims = [row for row in support if row["part"] == "train"]
    data = Passes(lessons, [row for _, row in learn], claims, options.seed)
    rng = random.Random(0)
    steps = options.passes * len(batches(epoch(lessons, [r for _, r in learn], claims, rng), rng))
    teachers = [restored(file, options.models) for file in options.teachers]
    model = (
        restored(options.start, options.models)
        if options.start
        else Reader(Encoder.pretrained(options.models / WEIGHTS)).to(DEVICE)
    )
    trained = train(model, data, options, min(steps, options.steps or steps), teachers)
    keep(trained, options.out / f"{options.name}.safetensors")
    figures = all_figures(kept, lambda examples: predict(trained, examples), reading, support)
    (options.out / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
