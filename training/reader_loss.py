"""The loss of a reader: on its labels, and on the logits of its teacher."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional
from training.network import Reader
from training.tensors import Batch

SUPPORTED_WEIGHT = 1.5
"""The weight of a supported claim: most claims are unsupported."""


def label_loss(logits: Sequence[Tensor], batch: Batch) -> Tensor:
    """The loss of span, answerability and support, as far as the example has labels for them."""
    starts, ends, answers, supported = logits
    has_answer = batch["starts"].any(1)
    total = starts.new_zeros(())
    for predicted, allowed in ((starts, batch["starts"]), (ends, batch["ends"])):
        is_counted = allowed | ~has_answer[:, None]
        log_probability = predicted.log_softmax(1).masked_fill(~is_counted, -torch.inf).logsumexp(1)
        total = total - 0.5 * (log_probability * has_answer).mean()
    for predicted, name, weight in ((answers, "answers", 1.0), (supported, "supported", SUPPORTED_WEIGHT)):
        weights = torch.where(batch[name] > 0.5, weight, 1.0) * (batch[name] >= 0)
        total = total + functional.binary_cross_entropy_with_logits(predicted, batch[name].clamp(0), weights)
    return total


def distillation_loss(logits: Sequence[Tensor], taught: Sequence[Tensor], batch: Batch) -> Tensor:
    """The distance of a student from its teacher; spans count as much as the teacher sees an answer."""
    is_reading = batch["supported"] < 0
    total = logits[0].new_zeros(())
    inside = batch["types"].bool()
    has_answer = taught[2].sigmoid() * is_reading
    for i in (0, 1):
        distance = -(taught[i].softmax(1) * logits[i].log_softmax(1).masked_fill(~inside, 0)).sum(1)
        total = total + 0.5 * (distance * has_answer).mean()
    for i, is_counted in ((2, is_reading), (3, ~is_reading)):
        distance = functional.binary_cross_entropy_with_logits(logits[i], taught[i].sigmoid(), reduction="none")
        total = total + (distance * is_counted).mean()
    return total


def compute_loss(model: Reader, teacher: Reader | None, batch: Batch, distillation_weight: float) -> Tensor:
    """The loss on the labels, mixed with the distance from the teacher if there is one."""
    logits = [part.float() for part in model(batch["ids"], None, batch["types"])]
    loss = label_loss(logits, batch)
    if teacher is None:
        return loss
    with torch.no_grad():
        taught = [part.float() for part in teacher(batch["ids"], None, batch["types"])]
    return (1 - distillation_weight) * loss + distillation_weight * distillation_loss(logits, taught, batch)
