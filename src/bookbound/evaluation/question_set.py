"""Loads and validates a question set from a JSON Lines file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question

_TYPE_NAMES = {str: "text", bool: "true or false", list: "a list", dict: "an object"}
_MISSING = object()
T = TypeVar("T")


class EvidenceQuote(NamedTuple):
    """Words that answer a question, as they stand in a file of the book's source."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """One question with what is known of its answer, and the line it stands on."""

    line: int
    id: str
    question: str
    answerable: bool
    kind: str
    evidence: tuple[EvidenceQuote, ...] = ()
    must_contain: tuple[str, ...] = ()
    answer: str = ""
    why: str = ""


def build_line_error(line: int, rule: str) -> InvalidInputError:
    """What is wrong with a line of a question set."""
    return InvalidInputError(f"Line {line} of the question set: {rule}")


def load_question_set(file: Path) -> list[EvaluationQuestion]:
    """The questions of a file, one JSON object a line; a line that breaks a rule is told with the field that does."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise InvalidInputError("The question set is not valid UTF-8 text.") from trouble
    # Not splitlines: what it also takes for the end of a line may stand within a JSON text.
    items = [_parse_question(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not items:
        raise InvalidInputError("The question set holds no question. It has one JSON object on each line.")
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise build_line_error(item.line, "`id` was used on an earlier line.")
        seen.add(item.id)
    return items


def _parse_question(number: int, line: str) -> EvaluationQuestion:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise build_line_error(number, "It is no JSON.") from None
    if not isinstance(row, dict):
        raise build_line_error(number, "It is no JSON object.")
    fields = _JsonFields(number, row)
    item = EvaluationQuestion(
        line=number,
        id=fields.words("id"),
        question=fields.words("question"),
        answerable=fields.get("answerable", bool),
        kind=fields.words("type"),
        evidence=tuple(
            EvidenceQuote(quote.words("file"), quote.words("quote")) for quote in fields.objects("evidence")
        ),
        must_contain=fields.texts("must_contain"),
        answer=fields.get("answer", str, ""),
        why=fields.get("why", str, ""),
    )
    try:
        Question(item.question)
    except InvalidInputError as trouble:
        raise build_line_error(number, f"`question` breaks a rule. {trouble}") from None
    if item.answerable and not item.evidence:
        raise build_line_error(number, "`evidence` is missing; an answerable question has at least one quote.")
    return item


class _JsonFields:
    """The fields of one object on a line, each of the kind it should be."""

    def __init__(self, line: int, row: dict[str, Any], within: str = "") -> None:
        self._line, self._row, self._within = line, row, within

    def get(self, name: str, kind: type[T], default: Any = _MISSING) -> T:
        """A field; one that may be left out may also be null."""
        value = self._row.get(name)
        if value is None and default is not _MISSING:
            value = default
        if name not in self._row and value is None:
            raise build_line_error(self._line, f"`{self._within}{name}` is missing.")
        return self._checked(value, kind, name)

    def words(self, name: str) -> str:
        """A text that says something."""
        text = self.get(name, str)
        if not text.strip():
            raise build_line_error(self._line, f"`{self._within}{name}` is empty.")
        return text

    def texts(self, name: str) -> tuple[str, ...]:
        values: list[Any] = self.get(name, list, [])
        return tuple(self._checked(value, str, f"{name}[{i}]") for i, value in enumerate(values))

    def objects(self, name: str) -> list[_JsonFields]:
        values: list[Any] = self.get(name, list, [])
        rows = [self._checked(value, dict, f"{name}[{i}]") for i, value in enumerate(values)]
        return [_JsonFields(self._line, row, f"{name}[{i}].") for i, row in enumerate(rows)]

    def _checked(self, value: Any, kind: type[T], name: str) -> T:
        if not isinstance(value, kind):
            raise build_line_error(self._line, f"`{self._within}{name}` must be {_TYPE_NAMES[kind]}.")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise build_line_error(self._line, f"`{self._within}{name}` holds what is no character.")
        return value
