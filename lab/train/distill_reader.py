"""`python -m lab.train.distill_reader`: the last stage of the fast reader, on the passages that a search finds.

The fast reader chooses what the strong one reads, so it learns from it about all candidates of a question at once:
whether each answers, their order, the words that answer, and whether claims are supported.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lab.train.batches import Example, ExampleBuilder, Row, load_negatives, load_rows
from lab.train.constants import BASE, OUT, TOKENIZER, TWIN_SOURCES
from lab.train.lessons import (
    MIN_CANDIDATES,
    Taught,
    choose_questions,
    find_candidates,
    half_precision,
    load_embedder,
    load_teacher,
    make_pair,
    teach,
)
from lab.train.network import TABLES, Reader, save_trained
from lab.train.reader import EMA_DECAY, predict
from lab.train.reader_metrics import HeldOut, measure_reader
from lab.train.tensors import DEVICE, Batch, collate

OTHER_QUESTIONS, CLAIMS, QUESTION_SEED, CLAIM_SEED, PATH_SEED = 5000, 16000, 3, 4, 9
NEAREST_KEPT, FARTHER_KEPT = 7, 5
"""Of the similar passages, the nearest and a sample of the others are read."""
OMITTED_PATH_SHARE = 0.25
QUESTIONS_AT_ONCE, CLAIMS_AT_ONCE, STEPS_PER_CLAIMS, SORTED_BATCHES = 20, 96, 5, 40
TEMPERATURE, ORDER_WEIGHT, SPAN_WEIGHT = 2.0, 0.6, 0.35
WARMUP_STEPS, MIN_RATE_SHARE = 100, 0.02


class Lessons(NamedTuple):
    """The pairs of all questions, which of them belong to each question, claims, and what the teacher says."""

    pairs: list[Example]
    questions: list[range]
    claims: list[Example]
    taught: Taught
    taught_claims: Taught


def prepare_lessons(
    builder: ExampleBuilder, asked: list[Row], claims: list[Row], options: argparse.Namespace
) -> Lessons:
    """Has the teacher read all questions with their candidates, and the claims."""
    rng, path_rng = random.Random(QUESTION_SEED), random.Random(PATH_SEED)
    pairs: list[Example] = []
    questions = []
    candidates = find_candidates(builder, asked, load_embedder(options.embedder, options.base))
    for row, (own, *others) in zip(asked, candidates, strict=True):
        farther = others[NEAREST_KEPT:]
        kept = [own, *others[:NEAREST_KEPT], *rng.sample(farther, min(FARTHER_KEPT, len(farther)))]
        first = len(pairs)
        pairs += [make_pair(builder, row["question"], i, path_rng.random() < OMITTED_PATH_SHARE) for i in kept]
        if len(kept) >= MIN_CANDIDATES:
            questions.append(range(first, len(pairs)))
    print(f"the teacher reads {len(pairs)} pairs and {len(claims)} claims", flush=True)
    teacher = load_teacher(options.teacher, options.base)
    examples = [builder.claim_example(row) for row in claims]
    return Lessons(pairs, questions, examples, teach(teacher, pairs, keep_spans=True), teach(teacher, examples))


def build_batch(lessons: Lessons, questions: Sequence[range]) -> Batch:
    """All pairs of some questions with the teacher's logits and spans; `question` says whose pair each row is."""
    chosen = [i for numbers in questions for i in numbers]
    batch = collate([lessons.pairs[i] for i in chosen], "cpu")
    spans = np.zeros((2, *batch["ids"].shape), np.float32)
    for row, i in enumerate(chosen):
        if i in lessons.taught.spans:
            start, end = lessons.taught.spans[i]
            spans[0, row, : len(start)], spans[1, row, : len(end)] = start, end
    owners = np.repeat(np.arange(len(questions)), [len(numbers) for numbers in questions])
    added = {"taught": lessons.taught.answers[chosen], "spans": spans, "question": owners}
    return batch | {name: torch.from_numpy(values) for name, values in added.items()}


def iterate_questions(lessons: Lessons, rng: random.Random) -> Iterator[list[range]]:
    """The questions of one batch after the other, without end; those of a batch have pairs of similar lengths."""
    questions = list(lessons.questions)
    lengths = {each: max(len(lessons.pairs[i].ids) for i in each) for each in questions}
    block = QUESTIONS_AT_ONCE * SORTED_BATCHES
    while True:
        rng.shuffle(questions)
        for at in range(0, len(questions), block):
            near = sorted(questions[at : at + block], key=lambda each: lengths[each])
            groups = [near[i : i + QUESTIONS_AT_ONCE] for i in range(0, len(near), QUESTIONS_AT_ONCE)]
            rng.shuffle(groups)
            yield from groups


def question_loss(model: Reader, batch: Batch) -> Tensor:
    """The distance from the teacher in each answer, in the order of a question's passages, and in the spans."""
    with half_precision(torch.bfloat16):
        start, end, answers, _ = model(batch["ids"], batch["mask"], batch["types"])
    taught, owners = batch["taught"], batch["question"]
    probability = taught.sigmoid()
    loss = functional.binary_cross_entropy_with_logits(answers, probability)
    wanted, learned = (log_softmax_by(logits / TEMPERATURE, owners) for logits in (taught, answers))
    loss = loss + ORDER_WEIGHT * (wanted.exp() * (wanted - learned)).sum() / (owners.max() + 1)
    has_spans = (batch["spans"][0].sum(1) > 0.5) * probability
    distance = sum(
        -0.5 * (expected * found.log_softmax(1).clamp(min=-30)).sum(1)
        for expected, found in zip(batch["spans"], (start, end), strict=True)
    )
    return loss + SPAN_WEIGHT * (distance * has_spans).sum() / has_spans.sum().clamp(min=1)


def log_softmax_by(logits: Tensor, owners: Tensor) -> Tensor:
    """The logarithm of each row's share among the rows of its question."""
    count = int(owners.max()) + 1
    highest = torch.full((count,), -1e9, device=logits.device).scatter_reduce(0, owners, logits, "amax")
    shifted = logits - highest[owners]
    total = torch.zeros(count, device=logits.device).scatter_add(0, owners, shifted.exp())
    return shifted - total.log()[owners]


def claim_loss(model: Reader, lessons: Lessons, rng: random.Random) -> Tensor:
    """The distance from the teacher on some claims."""
    chosen = rng.sample(range(len(lessons.claims)), min(CLAIMS_AT_ONCE, len(lessons.claims)))
    batch = collate([lessons.claims[i] for i in chosen], DEVICE)
    with half_precision(torch.bfloat16):
        supported = model(batch["ids"], batch["mask"], batch["types"])[3]
    taught = torch.from_numpy(lessons.taught_claims.supported[chosen]).to(DEVICE)
    return functional.binary_cross_entropy_with_logits(supported, taught.sigmoid())


def train(model: Reader, lessons: Lessons, options: argparse.Namespace) -> None:
    """Trains for a given time and leaves the running average of the weights in the model."""
    for name in TABLES:
        model.encoder.get_parameter(name).requires_grad_(False)
    trainable = [part for part in model.parameters() if part.requires_grad]
    average = [part.detach().clone() for part in trainable]
    optimizer = torch.optim.AdamW(trainable, lr=options.rate, weight_decay=0.01, fused=DEVICE == "cuda")
    rng = random.Random(options.seed)
    questions = iterate_questions(lessons, rng)
    threads = ThreadPoolExecutor(4)
    waiting = [threads.submit(build_batch, lessons, next(questions)) for _ in range(12)]
    model.train()
    start, step = perf_counter(), 0
    while (elapsed := perf_counter() - start) < options.seconds:
        share = min(1, (step + 1) / WARMUP_STEPS) * max(MIN_RATE_SHARE, 1 - elapsed / options.seconds)
        for group in optimizer.param_groups:
            group["lr"] = options.rate * share
        batch = {name: part.to(DEVICE) for name, part in waiting.pop(0).result().items()}
        waiting.append(threads.submit(build_batch, lessons, next(questions)))
        loss = question_loss(model, batch)
        if step % STEPS_PER_CLAIMS == 0:
            loss = loss + claim_loss(model, lessons, rng)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        step += 1
        with torch.no_grad():
            torch._foreach_lerp_(average, trainable, 1 - min(EMA_DECAY, step / (step + 10)))
        if step % 200 == 0:
            print(f"{options.name} step {step}, loss {loss.item():.3f}, {elapsed:.0f} s", flush=True)
    threads.shutdown(cancel_futures=True)
    print(f"{options.name}: {step} steps")
    with torch.no_grad():
        torch._foreach_copy_(trainable, average)
    model.eval()


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="fast-5", help="the name of the weights and figures in lab/train/out")
    parser.add_argument("--start", type=Path, required=True, help="start from this fast reader")
    parser.add_argument("--teacher", type=Path, required=True, help="the strong reader")
    parser.add_argument("--embedder", type=Path, required=True, help="the embedder that finds the candidates")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--sample", type=int, help="try it on so many questions and claims only")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    torch.manual_seed(options.seed)
    reading, support = load_rows("reading"), load_rows("support")
    builder = ExampleBuilder.load(TOKENIZER, reading, [] if options.sample else support)
    builder.negatives = load_negatives()
    asked = choose_questions(reading, OTHER_QUESTIONS, QUESTION_SEED, options.sample)
    claims = [row for row in support if row["part"] == "train" and row["source"] not in TWIN_SOURCES]
    claims = random.Random(CLAIM_SEED).sample(claims, options.sample or CLAIMS)
    lessons = prepare_lessons(builder, asked, claims, options)
    model = Reader.load(options.start, options.base).to(DEVICE)
    train(model, lessons, options)
    save_trained(model, options.out / f"{options.name}.safetensors")
    held_out = HeldOut.select(reading, support, options.sample)
    figures = measure_reader(builder, lambda examples: predict(model, examples), held_out)
    (options.out / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
