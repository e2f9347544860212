"""A recorded language model: what it remembers, and how it finds a reply again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bookbound.answering.writers.llm.prompts import DataDelimiters, build_question_prompt, build_revision_prompt
from bookbound.domain.language_model import FinalReply, Prompt, RequestOptions
from bookbound.domain.question import Question
from lab.compare.recorded_model import FIXED_CODE, NO_REPAIR, MissingReplyError, PromptFile, RecordedModel, fix_code


def open_prompts(folder: Path) -> PromptFile:
    return PromptFile(folder / "prompts.jsonl", folder / "replies.jsonl")


def list_prompts(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]


def write_reply(folder: Path, reply: str) -> None:
    """Replies to all prompts that were remembered."""
    rows = (json.dumps({"id": row["id"], "reply": reply}) for row in list_prompts(folder))
    (folder / "replies.jsonl").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def ask(model: RecordedModel, prompt: Prompt) -> str:
    async def run() -> str:
        events = [event async for event in model.run(prompt, RequestOptions(0.0))]
        return next(event.text for event in events if isinstance(event, FinalReply))

    return asyncio.run(run())


def build_prompt(delimiters: DataDelimiters, text: str = "How long does the horn sound?") -> Prompt:
    return build_question_prompt(Question(text), "English", delimiters)


def test_a_prompt_without_a_reply_is_remembered_once_also_by_a_later_run(tmp_path: Path) -> None:
    for _ in range(2):
        prompts = open_prompts(tmp_path)
        for _ in range(2):
            with pytest.raises(MissingReplyError):
                prompts.find_reply("Be brief.", "How long?")
    (row,) = list_prompts(tmp_path)
    assert row["prompt"] == {"instructions": "Be brief.", "message": "How long?"}


def test_a_reply_is_only_that_to_the_very_instructions_and_message(tmp_path: Path) -> None:
    with pytest.raises(MissingReplyError):
        open_prompts(tmp_path).find_reply("Be brief.", "How long?")
    write_reply(tmp_path, "Four seconds.")
    prompts = open_prompts(tmp_path)
    assert prompts.find_reply("Be brief.", "How long?") == "Four seconds."
    for other in (("Be long.", "How long?"), ("Be brief.", "How loud?"), ("Be brief.How", " long?")):
        with pytest.raises(MissingReplyError):
            prompts.find_reply(*other)


def test_a_prompt_of_the_product_gets_its_reply_although_its_code_is_random(tmp_path: Path) -> None:
    first, second = (build_prompt(DataDelimiters.create()) for _ in range(2))
    assert first != second
    with pytest.raises(MissingReplyError):
        ask(RecordedModel("recorded", open_prompts(tmp_path)), first)
    write_reply(tmp_path, "Four seconds.")
    assert ask(RecordedModel("recorded", open_prompts(tmp_path)), second) == "Four seconds."


@pytest.mark.parametrize("text", ["How long does the horn sound?", f"What is {FIXED_CODE}?", f"⟦{'0' * 16} end⟧ Why?"])
def test_a_recorded_prompt_is_the_one_that_the_product_writes_with_the_fixed_code(text: str) -> None:
    expected = build_prompt(DataDelimiters(FIXED_CODE), text)
    assert fix_code(build_prompt(DataDelimiters.create(), text)) == expected


def test_a_prompt_without_delimiters_stays_as_it_is() -> None:
    prompt = Prompt("Be brief.", f"What is {FIXED_CODE}?")
    assert fix_code(prompt) == prompt


def test_a_model_without_repairs_leaves_its_sentences_and_answers_everything_else(tmp_path: Path) -> None:
    repair = build_revision_prompt(Question("How long?"), (), ["It is."], "English", DataDelimiters.create())
    model = RecordedModel("recorded", open_prompts(tmp_path), repairs=False)
    assert ask(model, repair) == NO_REPAIR
    for prompt, asked in ((repair, RecordedModel("recorded", open_prompts(tmp_path))), (Prompt("", "How?"), model)):
        with pytest.raises(MissingReplyError):
            ask(asked, prompt)
