"""Finds out with one small call what a language model can do."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic

from bookbound.answering.writers.llm.model_requests import AcceptedOptions, RetriedStream
from bookbound.domain.language_model import FinalReply, ModelEvent, Prompt, RequestOptions
from bookbound.domain.ports import LanguageModel
from bookbound.domain.question import Deadline
from bookbound.domain.trace import TokenUsage

CHECK_PROMPT = Prompt(
    'Reply with a JSON object that has one field, "numbers".',
    "Write the numbers from one to ten as English words into the field, with a space between them.",
    {
        "type": "object",
        "properties": {"numbers": {"type": "string"}},
        "required": ["numbers"],
        "additionalProperties": False,
    },
)
"""Long enough to come in several pieces."""


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """What a language model did with a small call, which took `seconds`."""

    pieces: int
    takes_schema: bool
    takes_temperature: bool
    usage: TokenUsage
    seconds: float


async def check_model(model: LanguageModel, deadline: Deadline) -> ModelCheck:
    """Makes a call as for an answer, also without what the service rejects; it fails as an answer would."""
    accepted, begin = AcceptedOptions(model), monotonic()
    sent = accepted.current
    pieces, usage = 0, TokenUsage()

    async def run(options: RequestOptions) -> AsyncGenerator[ModelEvent]:
        nonlocal sent
        sent = options
        async with aclosing(model.run(CHECK_PROMPT, options)) as events:
            async for event in events:
                yield event

    async with aclosing(RetriedStream(accepted, run, deadline).items()) as items:
        async for item in items:
            if isinstance(item, TokenUsage):
                usage += item
            elif not isinstance(item, FinalReply):
                pieces += 1
    return ModelCheck(pieces, sent.send_schema, sent.temperature is not None, usage, monotonic() - begin)
