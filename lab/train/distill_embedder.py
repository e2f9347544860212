"""`python -m lab.train.distill_embedder`: teaches the embedder the order in which the strong reader sees passages.

For each question the embedder learns the teacher's distribution over ten candidates of the book, and to find the own
passage among those of the whole batch.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from lab.train.batches import Array, ExampleBuilder, Row, load_rows
from lab.train.constants import BASE, IMPOSSIBLE_LOGIT, MAX_QUESTION_TOKENS, OUT, TOKENIZER
from lab.train.embedder import SCORE_SCALE, measure_shares
from lab.train.lessons import (
    ENCODER,
    MIN_CANDIDATES,
    choose_questions,
    find_candidates,
    half_precision,
    load_embedder,
    load_teacher,
    make_pair,
    teach,
)
from lab.train.network import TABLES, Embedder, Encoder, save_trained
from lab.train.reader_metrics import HeldOut
from lab.train.tensors import DEVICE, collate_texts

OTHER_QUESTIONS, SIMILAR_PASSAGES, TAUGHT_AT_ONCE = 9000, 15, 10
QUESTION_SEED = 3
TEMPERATURE, CONTRASTIVE_WEIGHT = 2.0, 0.5
MIN_QUESTION_WEIGHT = 0.3
"""The weight of a question without an answer; one that is surely answered counts 1."""
MAX_WRONG_LOGIT = -1.0
"""A candidate above this logit of the teacher may answer, too, so the own passage does not compete with it."""


class Lesson(NamedTuple):
    """A question, its passages with its own first, the teacher's logits, and whether its own passage answers."""

    question: Array
    passages: list[Array]
    logits: Array
    is_answerable: bool

    def pick(self, rng: random.Random, count: int) -> Lesson:
        """The own passage and a few of the others."""
        others = range(1, len(self.passages))
        chosen = [0, *rng.sample(others, min(count - 1, len(others)))]
        return self._replace(passages=[self.passages[i] for i in chosen], logits=self.logits[chosen])


def prepare_lessons(
    builder: ExampleBuilder, asked: list[Row], start: Embedder, options: argparse.Namespace
) -> list[Lesson]:
    """Has the teacher read all questions with their candidates."""
    candidates = [found[: SIMILAR_PASSAGES + 1] for found in find_candidates(builder, asked, start)]
    pairs = [
        make_pair(builder, row["question"], passage)
        for row, found in zip(asked, candidates, strict=True)
        for passage in found
    ]
    print(f"the teacher reads {len(pairs)} pairs of {len(asked)} questions", flush=True)
    logits = iter(teach(load_teacher(options.teacher, options.base), pairs).answers)
    lessons = []
    for row, found in zip(asked, candidates, strict=True):
        own = np.array([next(logits) for _ in found])
        question = builder.tokens[row["question"]][0][:MAX_QUESTION_TOKENS]
        lessons.append(Lesson(question, [builder.passage_tokens(i) for i in found], own, row["answerable"]))
    return [lesson for lesson in lessons if len(lesson.passages) >= MIN_CANDIDATES]


def distillation_loss(model: Embedder, lessons: Sequence[Lesson]) -> Tensor:
    """The distance from the teacher's distribution, and how badly own passages are found in the batch."""
    texts = [text for lesson in lessons for text in lesson.passages]
    with half_precision(torch.bfloat16):
        questions = model(*collate_texts([lesson.question for lesson in lessons])).float()
        passages = model(*collate_texts(texts)).float()
    scores = SCORE_SCALE * questions @ passages.T
    counts = [len(lesson.passages) for lesson in lessons]
    firsts = np.cumsum([0, *counts])[:-1]
    order = scores.new_zeros(())
    for row, (lesson, first, count) in enumerate(zip(lessons, firsts, counts, strict=True)):
        taught = torch.tensor(lesson.logits, device=DEVICE)
        weight = MIN_QUESTION_WEIGHT + (1 - MIN_QUESTION_WEIGHT) * taught.max().sigmoid()
        learned = scores[row, first : first + count].log_softmax(0)
        order = order + weight * functional.kl_div(learned, (taught / TEMPERATURE).softmax(0), reduction="sum")
    answered = [row for row, lesson in enumerate(lessons) if lesson.is_answerable]
    loss = order / len(lessons)
    if answered:
        hidden = torch.from_numpy(find_ignored(lessons, texts, firsts)).to(DEVICE)
        competing = scores.masked_fill(hidden, IMPOSSIBLE_LOGIT)[answered]
        own = torch.from_numpy(firsts[answered]).to(DEVICE)
        loss = loss + CONTRASTIVE_WEIGHT * functional.cross_entropy(competing, own)
    return loss


def find_ignored(lessons: Sequence[Lesson], texts: Sequence[Array], firsts: Array) -> Array:
    """For each question the passages that its own one does not compete with: its copies, and those that may answer."""
    keys = np.array([zlib.crc32(text.tobytes()) for text in texts])
    ignored: Array = keys[firsts][:, None] == keys[None, :]
    for row, (lesson, first) in enumerate(zip(lessons, firsts, strict=True)):
        ignored[row, first : first + len(lesson.logits)] |= lesson.logits > MAX_WRONG_LOGIT
        ignored[row, first] = False
    return ignored


def iterate_batches(lessons: list[Lesson], size: int, rng: random.Random) -> Iterator[list[Lesson]]:
    """Batches of one pass after the other, without end."""
    while True:
        rng.shuffle(lessons)
        for at in range(0, max(len(lessons) - size, 1), size):
            yield [lesson.pick(rng, TAUGHT_AT_ONCE) for lesson in lessons[at : at + size]]


def train(model: Embedder, lessons: list[Lesson], options: argparse.Namespace) -> None:
    steps = max(1, int(options.passes * len(lessons) / options.batch))
    for name in TABLES:
        model.encoder.get_parameter(name).requires_grad_(False)
    trainable = [part for part in model.parameters() if part.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=options.rate, weight_decay=0.01, fused=DEVICE == "cuda")
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (0.06 * steps), max(0.0, 1.05 * (1 - step / steps)))
    )
    model.train()
    batches = iterate_batches(lessons, options.batch, random.Random(options.seed))
    for step in range(steps):
        loss = distillation_loss(model, next(batches))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step + 1 == steps:
            print(f"{options.name} step {step + 1} of {steps}, loss {loss.item():.3f}", flush=True)
    model.eval()


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="embedder-2", help="the name of the weights and figures in lab/train/out")
    parser.add_argument("--start", type=Path, required=True, help="start from this embedder")
    parser.add_argument("--teacher", type=Path, required=True, help="the strong reader")
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--passes", type=float, default=3)
    parser.add_argument("--batch", type=int, default=64, help="how many questions a batch has")
    parser.add_argument("--sample", type=int, help="try it on so many questions only")
    parser.add_argument("--base", type=Path, default=BASE, help="the folder that lab.train.base_weights wrote")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    torch.manual_seed(options.seed)
    reading = load_rows("reading")
    builder = ExampleBuilder.load(TOKENIZER, reading, [])
    asked = choose_questions(reading, OTHER_QUESTIONS, QUESTION_SEED, options.sample)
    start = load_embedder(options.start, options.base)
    lessons = prepare_lessons(builder, asked, start, options)
    model = copy.deepcopy(start)
    train(model, lessons, options)
    save_trained(model.encoder, options.out / f"{options.name}.safetensors")
    books = [row for _, row in HeldOut.select(reading, [], options.sample).books]
    published = Encoder.pretrained(ENCODER, options.base)
    figures = measure_shares(published, model.encoder, builder, books)
    (options.out / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
