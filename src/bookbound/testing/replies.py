"""What a scripted model says, before it is put into any vendor's format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, Literal

from bookbound.testing.faults import Fault

Frame = bytes | Event
"""What goes over the wire next, or a signal that is waited for first."""

STOCK = "These words stand for a reply that no one scripted."
SORRY = "I'm sorry, but I can't help with that."


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to call a tool; arguments given as text are sent as they are, well-formed or not."""

    name: str
    arguments: Mapping[str, Any] | str

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


class Streamed:
    """A text that is sent in these very pieces; an event among them is waited for before the next piece goes out."""

    def __init__(self, *pieces: str | Event) -> None:
        self.pieces = pieces


Reply = str | ToolCall | Streamed | Mapping[str, Any] | Sequence[str | ToolCall]
"""Text, a call, a text in pieces, an object that is sent as JSON text, or one message of text and several calls."""

Line = Reply | Callable[[dict[str, Any]], Reply]
"""A reply, or what makes it from the JSON of the request."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a model: the pieces of its text, its calls, or its refusal, and why it ends.

    `turn` is how many messages went before it: the ids of calls differ from turn to turn, as those of real models do.
    """

    pieces: tuple[str | Event, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    ends: Literal["stop", "length", "content_filter"] = "stop"
    absent: bool = False
    turn: int = 0

    @property
    def text(self) -> str:
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    def failing(self, fault: Fault | None) -> Said:
        """This message as a model gives it that fails so."""
        match fault:
            case Fault.EMPTY:
                return Said(absent=True)
            case Fault.EMPTY_TEXT:
                return Said()
            case Fault.REFUSAL:
                return Said(refusal=SORRY)
            case Fault.CUT_SHORT:
                return replace(self._half(), ends="length")
            case Fault.FILTERED:
                return replace(self._half(), ends="content_filter")
        return self

    def _half(self) -> Said:
        text = self.text or STOCK
        return Said(in_words(text[: len(text) // 2]))


def said(reply: Reply) -> Said:
    """The message that a scripted reply means."""
    if isinstance(reply, Streamed):
        return Said(reply.pieces)
    if isinstance(reply, Mapping):
        return Said(in_words(json.dumps(dict(reply))))
    parts = (reply,) if isinstance(reply, str | ToolCall) else tuple(reply)
    text = "".join(part for part in parts if isinstance(part, str))
    return Said(in_words(text), tuple(part for part in parts if isinstance(part, ToolCall)))


def in_words(text: str) -> tuple[str, ...]:
    """The pieces in which a model streams a text."""
    return tuple(re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+\Z", text))
