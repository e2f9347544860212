"""A language model whose replies were written elsewhere, such as on a machine with a GPU, one for each prompt."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from bookbound.domain.errors import ServiceError
from bookbound.domain.language_model import FinalReply, ModelEvent, Prompt, RequestOptions, SearchTool
from bookbound.domain.trace import TokenUsage

TIMEOUT_SECONDS = 600.0
FIXED_CODE = "0123456789abcdef"
_CODE = re.compile(r"⟦([0-9a-f]{16}) ")
# Only the prompt of a repair has data of this name.
REPAIRED_DATA, NO_REPAIR = f"{FIXED_CODE} sentences⟧", "They stay."


class MissingReplyError(ServiceError):
    """There is no reply to a prompt yet."""


class PromptFile:
    """The prompts that were asked, and the replies that were written to them."""

    def __init__(self, prompts: Path, *replies: Path) -> None:
        self._prompts = prompts
        self._known = _load(prompts, "prompt")
        self._replies = {name: reply for file in replies for name, reply in _load(file, "reply").items()}

    def find_reply(self, instructions: str, message: str) -> str:
        """Returns the reply to a prompt, or remembers it to be answered and raises an error."""
        name = hashlib.sha256(f"{instructions}\0{message}".encode()).hexdigest()[:16]
        if name in self._replies:
            return str(self._replies[name])
        if name not in self._known:
            self._known[name] = row = {"instructions": instructions, "message": message}
            with self._prompts.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"id": name, "prompt": row}, ensure_ascii=False) + "\n")
        raise MissingReplyError("There is no reply to this prompt yet.", service="language model")


def _load(file: Path, field: str) -> dict[str, object]:
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    return {row["id"]: row[field] for row in rows}


def fix_code(prompt: Prompt) -> Prompt:
    """The prompt with the same code between its data each time: it is random, and a prompt is found by its words."""
    code = _CODE.search(prompt.instructions + prompt.message)
    if code is None:
        return prompt
    # As `DataDelimiters.wrap` does, a text that has the code loses it.
    instructions, message = (
        text.replace(FIXED_CODE, "…").replace(code[1], FIXED_CODE) for text in (prompt.instructions, prompt.message)
    )
    return replace(prompt, instructions=instructions, message=message)


class RecordedModel:
    """Replies to each prompt with what was written to it, through the port of the product.

    Without repairs it leaves its sentences as they are if it is asked to say them again.
    """

    temperature = 0.0
    timeout_seconds = TIMEOUT_SECONDS

    def __init__(self, name: str, prompts: PromptFile, *, repairs: bool = True) -> None:
        self.name = name
        self._prompts = prompts
        self._repairs = repairs

    async def run(
        self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[ModelEvent]:
        prompt = fix_code(prompt)
        is_skipped = REPAIRED_DATA in prompt.message and not self._repairs
        reply = NO_REPAIR if is_skipped else self._prompts.find_reply(prompt.instructions, prompt.message)
        yield TokenUsage(1, len(prompt.message) // 4, len(reply) // 4)
        yield FinalReply(reply)

    async def close(self) -> None:
        """Has nothing to close."""
