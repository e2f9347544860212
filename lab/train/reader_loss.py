"""The loss of a reader: on its labels, and on the logits of its teacher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lab.train.network import Reader
from lab.train.tensors import Batch

SUPPORTED_WEIGHT = 1.5
"""The weight of a supported claim: most claims are unsupported."""


class Losses(NamedTuple):
    """The losses on the questions and on the claims of a batch."""

    questions: Tensor
    claims: Tensor


class TeacherShares(NamedTuple):
    """How much the teacher counts next to the labels, for questions and for claims."""

    questions: float
    claims: float


def label_loss(logits: Sequence[Tensor], batch: Batch) -> Losses:
    """The loss of span, answerability and support, as far as the example has labels for them."""
    starts, ends, answers, supported = logits
    has_answer = batch["starts"].any(1)
    questions = starts.new_zeros(())
    for predicted, allowed in ((starts, batch["starts"]), (ends, batch["ends"])):
        is_counted = allowed | ~has_answer[:, None]
        log_probability = predicted.log_softmax(1).masked_fill(~is_counted, -torch.inf).logsumexp(1)
        questions = questions - 0.5 * (log_probability * has_answer).mean()
    questions = questions + _labelled_entropy(answers, batch["answers"], 1.0)
    return Losses(questions, _labelled_entropy(supported, batch["supported"], SUPPORTED_WEIGHT))


def _labelled_entropy(predicted: Tensor, labels: Tensor, weight: float) -> Tensor:
    weights = torch.where(labels > 0.5, weight, 1.0) * (labels >= 0)
    return functional.binary_cross_entropy_with_logits(predicted, labels.clamp(0), weights)


def distillation_loss(logits: Sequence[Tensor], taught: Sequence[Tensor], batch: Batch) -> Losses:
    """The distance of a student from its teacher; spans count as much as the teacher sees an answer."""
    is_reading = batch["supported"] < 0
    questions = logits[0].new_zeros(())
    inside = batch["types"].bool()
    has_answer = taught[2].sigmoid() * is_reading
    for i in (0, 1):
        distance = -(taught[i].softmax(1) * logits[i].log_softmax(1).masked_fill(~inside, 0)).sum(1)
        questions = questions + 0.5 * (distance * has_answer).mean()
    answers, claims = (
        functional.binary_cross_entropy_with_logits(logits[i], taught[i].sigmoid(), reduction="none") for i in (2, 3)
    )
    return Losses(questions + (answers * is_reading).mean(), (claims * ~is_reading).mean())


def compute_loss(model: Reader, teacher: Reader | None, batch: Batch, shares: TeacherShares) -> Tensor:
    """The loss on the labels, mixed with the distance from the teacher if there is one."""
    logits = [part.float() for part in model(batch["ids"], None, batch["types"])]
    labelled = label_loss(logits, batch)
    if teacher is None:
        return labelled.questions + labelled.claims
    with torch.no_grad():
        taught = [part.float() for part in teacher(batch["ids"], None, batch["types"])]
    distilled = distillation_loss(logits, taught, batch)
    mixed = [(1 - share) * own + share * other for share, own, other in zip(shares, labelled, distilled, strict=True)]
    return mixed[0] + mixed[1]
