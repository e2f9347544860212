"""Parses a language model's JSON reply while it streams, sentence by sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from bookbound.languages import LANGUAGE

REPLY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "passages": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["text", "passages"],
                "additionalProperties": False,
            },
        },
        "missing": {"type": "string"},
    },
    "required": ["sentences", "missing"],
    "additionalProperties": False,
}
MAX_REPLY_CHARACTERS = 32768
MAX_DRAFT_SENTENCE_CHARACTERS = 1000
MAX_DRAFT_SENTENCES = 50
_SPACE = re.compile(r"[ \t\n\r]*")
_FENCE = re.compile(r"```[A-Za-z]*[ \t\r]*")
_END_OF_REPLY = {True: re.compile(r"[ \t\n\r]*```[ \t\n\r]*"), False: _SPACE}
_CLOSING_MARKS = {"{": "}", "[": "]", '"': '"'}
_AFTER_VALUE = frozenset(" \t\n\r,]}")
_EMPTY_VALUES = LANGUAGE.models.empty_values | {""}


class MalformedReplyError(ValueError):
    """A reply is not the JSON that was asked for; the message contains none of it."""


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A sentence as a model wrote it, and the numbers of the passages that it names."""

    text: str
    passages: tuple[int, ...]


Result = TypeVar("Result")
# Yields each complete sentence, and None if more text is needed.
ParserSteps = Generator[DraftSentence | None, None, Result]


class StreamParser:
    """Parses one JSON object piece by piece; a code fence around it is removed, and nothing else is repaired."""

    def __init__(self) -> None:
        self.text = ""
        self.missing = ""
        self._at = 0
        self._is_fenced = self._is_complete = False
        self._decoder = json.JSONDecoder()
        self._steps = self._reply()

    def feed(self, piece: str) -> list[DraftSentence]:
        """Returns the sentences that are complete with this piece of text."""
        self.text += piece
        if len(self.text) > MAX_REPLY_CHARACTERS:
            raise MalformedReplyError("The reply is too long.")
        return list(iter(partial(next, self._steps, None), None))

    def end(self) -> None:
        """Checks that the reply is complete."""
        if not self._is_complete or not _END_OF_REPLY[self._is_fenced].fullmatch(self.text, self._at):
            raise MalformedReplyError("The reply is not one complete JSON object.")

    def _reply(self) -> ParserSteps[None]:
        if (yield from self._peek()) == "`":
            yield from self._fence()
        keys: set[str] = set()
        yield from self._take("{")
        while True:
            key = yield from self._value()
            if not isinstance(key, str) or key in keys:
                raise MalformedReplyError("The reply has a key that is not a string, or has it twice.")
            keys.add(key)
            yield from self._take(":")
            yield from self._member(key)
            if (yield from self._peek()) != ",":
                break
            self._at += 1
        yield from self._take("}")
        if "sentences" not in keys:
            raise MalformedReplyError("The reply has no list of sentences.")
        self._is_complete = True

    def _member(self, key: str) -> ParserSteps[None]:
        if key == "sentences":
            yield from self._sentences()
            return
        value = yield from self._value()
        if key == "missing":
            if not isinstance(value, str | None):
                raise MalformedReplyError("`missing` is not a text.")
            missing = (value or "").strip()
            self.missing = "" if missing.strip(".-").casefold() in _EMPTY_VALUES else missing

    def _sentences(self) -> ParserSteps[None]:
        yield from self._take("[")
        if (yield from self._peek()) != "]":
            for _ in range(MAX_DRAFT_SENTENCES):
                yield _parse_sentence((yield from self._value()))
                if (yield from self._peek()) != ",":
                    break
                self._at += 1
            else:
                raise MalformedReplyError("The reply has too many sentences.")
        yield from self._take("]")

    def _fence(self) -> ParserSteps[None]:
        while (end := self.text.find("\n", self._at)) < 0:
            yield None
        if not _FENCE.fullmatch(self.text, self._at, end):
            raise MalformedReplyError("The code fence is malformed.")
        self._is_fenced, self._at = True, end + 1

    def _peek(self) -> ParserSteps[str]:
        """Returns the next character that is not white space."""
        while True:
            found = _SPACE.match(self.text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self.text):
                return self.text[self._at]
            yield None

    def _take(self, mark: str) -> ParserSteps[None]:
        if (yield from self._peek()) != mark:
            raise MalformedReplyError("The reply is not the JSON that was asked for.")
        self._at += 1

    def _value(self) -> ParserSteps[Any]:
        """Returns the next value when it is complete; decodes only after its closing mark has come."""
        first = yield from self._peek()
        closing, seen = _CLOSING_MARKS.get(first, ""), self._at + 1
        while True:
            if self.text.find(closing, seen) >= 0:
                try:
                    value, end = self._decoder.raw_decode(self.text, self._at)
                except (ValueError, RecursionError):
                    end = 0  # not complete yet, or never
                if end and (closing or self.text[end : end + 1] in _AFTER_VALUE):
                    self._at = end
                    return value
            seen = len(self.text)
            yield None


def _parse_sentence(value: object) -> DraftSentence:
    text, passages = (value.get("text"), value.get("passages")) if isinstance(value, dict) else (None, None)
    if not isinstance(text, str) or not isinstance(passages, list):
        raise MalformedReplyError("A sentence must have a text and passages.")
    if len(text) > MAX_DRAFT_SENTENCE_CHARACTERS:
        raise MalformedReplyError("A sentence is too long.")
    if not all(type(number) is int for number in passages):
        raise MalformedReplyError("A passage must be named by its number.")
    return DraftSentence(text, tuple(passages))
