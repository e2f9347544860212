"""Converts examples to tensors on the GPU, if there is one."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lab.train.batches import Array, Example
from lab.train.constants import CLS, MAX_TEXT_TOKENS, SEP

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LENGTH_STEP = 8
"""The fast kernels of a GPU for attention need lengths that are multiples of this."""
Batch = dict[str, torch.Tensor]


def collate(chosen: list[Example], device: str) -> Batch:
    """Stacks examples into one batch; if their lengths differ, the mask is zero at the padding."""
    length = max(len(example.ids) for example in chosen)
    length += -length % LENGTH_STEP if device == "cuda" else 0
    shape = (len(chosen), length)
    ids, mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    starts, ends = np.zeros(shape, bool), np.zeros(shape, bool)
    for i, example in enumerate(chosen):
        n = len(example.ids)
        ids[i, :n], mask[i, :n], types[i, example.second_start : n] = example.ids, 1, 1
        starts[i, list(example.starts)], ends[i, list(example.ends)] = True, True
    parts = {"ids": ids, "mask": mask, "types": types, "starts": starts, "ends": ends}
    for name in ("answers", "supported"):
        parts[name] = np.array([getattr(example, name) for example in chosen], np.float32)
    return {name: torch.from_numpy(part).to(device) for name, part in parts.items()}


def collate_texts(texts: list[Array]) -> tuple[Tensor, Tensor]:
    """The ids and the mask of single texts, for the embedder."""
    batch = collate([Example(np.concatenate([[CLS], ids[:MAX_TEXT_TOKENS], [SEP]]), 0) for ids in texts], DEVICE)
    return batch["ids"], batch["mask"]
