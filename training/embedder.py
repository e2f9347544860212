"""`python -m training.embedder`: tune the embedder on questions and the passages that answer them.

Each question must find its passage among those of its batch and the most similar wrong one. What is kept lies between
the published weights and the tuned ones: such a mean holds up better on books of another kind.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import zlib
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional
from training.batches import NEGATIVES, Array, Example, Library, Row, library, rows
from training.negatives import vectors
from training.network import Embedder, Encoder
from training.shape import CLS, LONGEST_TEXT, SEP
from training.tensors import DEVICE, together

BATCH, SHARPNESS, BETWEEN = 384, 20.0, (0.0, 0.25, 0.5, 0.75, 1.0)
SHARE = {
    "squadshifts_amazon_reviews": 0.15,
    "squadshifts_reddit": 0.15,
    "squadshifts_new_wiki": 0.5,
    "fairytaleqa": 0.3,
}


def together_(texts: list[Array]) -> tuple[Tensor, Tensor]:
    batch = together([Example(np.concatenate([[CLS], ids[:LONGEST_TEXT], [SEP]]), 0) for ids in texts], DEVICE)
    return batch["ids"], batch["mask"]


def recall(embedder: Embedder, kept: Library, reading: list[Row]) -> dict[str, float]:
    """Mean reciprocal rank and recall in the first five, in each book held out whole."""
    found = {}
    for book in sorted({row["group"] for row in reading if row["part"] == "test" and row["source"] == "book_reading"}):
        asked = [
            row for row in reading if row["group"] == book and row["answerable"] and row["source"] == "book_reading"
        ]
        shelf = [i for i, row in enumerate(kept.passages) if row["group"] == book]
        passages = vectors(embedder, [kept.pieces(i) for i in shelf])
        questions = vectors(embedder, [kept.words[row["question"]][0] for row in asked])
        scores = questions @ passages.T
        own = torch.tensor([shelf.index(row["passage"]) for row in asked], device=DEVICE)
        ranks = (scores > scores.gather(1, own[:, None])).sum(1) + 1
        found[f"{book}: MRR"] = round((1 / ranks.float()).mean().item(), 4)
        found[f"{book}: recall@5"] = round((ranks <= 5).float().mean().item(), 4)
    return found


def train(model: Embedder, kept: Library, reading: list[Row], options: argparse.Namespace) -> None:
    rng = random.Random(options.seed)
    lessons = [(i, row) for i, row in enumerate(reading) if row["part"] == "train" and row["answerable"]]
    lessons = [(i, row) for i, row in lessons if kept.negatives.get(i)]
    pairs = rows("pairs")
    kept.words.learn([row[name] for row in pairs for name in ("question", "text")])
    steps = int(options.passes * (len(lessons) * 0.6 + len(pairs)) / BATCH) + 1
    for name in Encoder.TABLES:
        model.encoder.get_parameter(name).requires_grad_(False)
    learnt = [part for part in model.parameters() if part.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=options.rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min((s + 1) / (0.1 * steps), max(0.0, 1.1 * (1 - s / steps)))
    )
    model.train()
    step = 0
    while step < steps:
        chosen: list[tuple[Array, Array, Array | None]] = []
        for i, row in lessons:
            if rng.random() < SHARE.get(row["source"], 1.0):
                wrong = kept.pieces(rng.choice(kept.negatives[i][:4]))
                chosen.append((kept.words[row["question"]][0], kept.pieces(row["passage"]), wrong))
        chosen += [(kept.words[row["question"]][0], kept.words[row["text"]][0], None) for row in pairs]
        rng.shuffle(chosen)
        for at in range(0, len(chosen) - BATCH, BATCH):
            if step >= steps:
                break
            part = chosen[at : at + BATCH]
            wrong_ones = [wrong for _, _, wrong in part if wrong is not None]
            with torch.autocast(DEVICE, torch.bfloat16):
                asked = model(*together_([one for one, _, _ in part]))
                found = model(*together_([other for _, other, _ in part] + wrong_ones))
            scores = SHARPNESS * asked.float() @ found.float().T
            keys = np.array([zlib.crc32(text.tobytes()) for text in [*(other for _, other, _ in part), *wrong_ones]])
            alike = keys[: len(part), None] == keys[None, :]
            np.fill_diagonal(alike, False)
            same = torch.from_numpy(alike)
            total = functional.cross_entropy(
                scores.masked_fill(same.to(DEVICE), -1e4), torch.arange(len(part), device=DEVICE)
            )
            optimiser.zero_grad(set_to_none=True)
            total.backward()
            torch.nn.utils.clip_grad_norm_(learnt, 1.0)
            optimiser.step()
            schedule.step()
            if step % 50 == 0:
                print(f"{options.name} step {step} of {steps}, loss {total.item():.3f}", flush=True)
            step += 1
    model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, help="the folder of the pretrained encoder and its tokenizer")
    parser.add_argument("--name", default="embedder")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--passes", type=float, default=3)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--out", type=Path, default=Path("training/out"))
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    reading = rows("reading")
    kept = library(options.models / "tokenizer.json", reading, [])
    published = Encoder.pretrained(options.models / "minilm-l6-fp16.safetensors")
    tuned = Embedder(copy.deepcopy(published)).to(DEVICE).eval()
    kept.negatives = dict(enumerate(json.loads(NEGATIVES.read_text())))
    train(tuned, kept, reading, options)
    figures = {}
    theirs, ours = published.state_dict(), tuned.encoder.state_dict()
    for share in BETWEEN:
        mean = Encoder()
        mean.load_state_dict({name: torch.lerp(theirs[name], ours[name].cpu(), share) for name in ours})
        figures[str(share)] = recall(Embedder(mean).to(DEVICE).eval(), kept, reading)
    save_file(
        {name: part.half().cpu().contiguous() for name, part in ours.items()},
        options.out / f"{options.name}.safetensors",
    )
    (options.out / f"{options.name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(options.name, json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
