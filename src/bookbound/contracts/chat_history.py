"""Reads the earlier turns of a conversation from the `history` of contract 001, whose shape nobody fixed."""

from __future__ import annotations

from typing import Any

from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import MAX_TURN_ANSWER_CHARS, MAX_TURNS, Turn


def parse_history(history: Any, question: str) -> tuple[Turn, ...]:
    """The last turns of a history; the contract ignores fields that it does not know, so what is no turn is skipped."""
    turns: list[Turn] = []
    for message in history if isinstance(history, list) else ():
        texts = (
            {name: text for name, text in message.items() if isinstance(text, str)} if isinstance(message, dict) else {}
        )
        content = texts.get("content", "")
        asked = content if texts.get("role") == "user" else texts.get("question", "")
        if asked.strip():
            turns.append(Turn(asked.strip(), texts.get("answer", "")))
        elif turns and texts.get("role") == "assistant":
            turns[-1] = turns[-1]._replace(answer=content)
    if turns and turns[-1] == Turn(question):  # some clients also send the question as the last message
        turns.pop()
    fitting = [turn._replace(answer=turn.answer[:MAX_TURN_ANSWER_CHARS]) for turn in turns]
    return tuple(filter(_is_usable, fitting))[-MAX_TURNS:]


def _is_usable(turn: Turn) -> bool:
    try:
        turn.check()
    except InvalidInputError:
        return False
    return True
