"""Examples as tensors on the machine's accelerator, where it has one."""

from __future__ import annotations

import numpy as np
import torch
from training.batches import Example

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Batch = dict[str, torch.Tensor]


def together(chosen: list[Example], device: str) -> Batch:
    """One batch; where lengths differ the mask says what is padding."""
    length = max(len(example.ids) for example in chosen)
    shape = (len(chosen), length)
    ids, mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    starts, ends = np.zeros(shape, bool), np.zeros(shape, bool)
    for i, example in enumerate(chosen):
        n = len(example.ids)
        ids[i, :n], mask[i, :n], types[i, example.second : n] = example.ids, 1, 1
        starts[i, list(example.starts)], ends[i, list(example.ends)] = True, True
    parts = {"ids": ids, "mask": mask, "types": types, "starts": starts, "ends": ends}
    for name in ("answers", "supported"):
        parts[name] = np.array([getattr(example, name) for example in chosen], np.float32)
    return {name: torch.from_numpy(part).to(device) for name, part in parts.items()}
