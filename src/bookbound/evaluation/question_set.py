"""Loads and validates a question set from a JSON Lines file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question

_TYPE_NAMES = {str: "text", bool: "true or false", list: "a list", dict: "an object"}
_REQUIRED = object()
UNSPECIFIED_KIND = "unspecified"
LINE_HINT = 'Write one JSON object on each line, as in {"question": "What is a trot?", "answerable": true}'
T = TypeVar("T")


class EvidenceQuote(NamedTuple):
    """Words from a source file of the book that answer a question."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """One question, what is known about its answer, and its line in the file, which also names it without an `id`."""

    line: int
    id: str
    question: str
    answerable: bool
    kind: str
    evidence: tuple[EvidenceQuote, ...] = ()
    must_contain: tuple[str, ...] = ()
    answer: str = ""
    why: str = ""

    @property
    def is_checkable(self) -> bool:
        """Whether the set says which answers are right; to an unanswerable question, none is."""
        return not self.answerable or bool(self.evidence or self.must_contain)


def build_line_error(line: int, message: str) -> InvalidInputError:
    return InvalidInputError(f"Line {line} of the question set: {message}")


def load_question_set(file: Path) -> list[EvaluationQuestion]:
    """Loads one question per line; an error names the line and the field."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError("The question set is not valid UTF-8 text.") from error
    # Not splitlines: it also splits at characters that JSON text may contain.
    items = [_parse_question(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not items:
        raise InvalidInputError(f"The question set is empty. {LINE_HINT}")
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise build_line_error(item.line, "`id` was used on an earlier line. Choose another, or leave it out.")
        seen.add(item.id)
    return items


def _parse_question(number: int, line: str) -> EvaluationQuestion:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise build_line_error(number, f"It is not valid JSON. {LINE_HINT}") from None
    if not isinstance(row, dict):
        raise build_line_error(number, f"It is not a JSON object. {LINE_HINT}")
    fields = _JsonFields(number, row)
    item = EvaluationQuestion(
        line=number,
        id=fields.get_text("id", f"line {number}"),
        question=fields.get_text("question"),
        answerable=fields.get("answerable", bool),
        kind=fields.get_text("type", UNSPECIFIED_KIND),
        evidence=tuple(
            EvidenceQuote(quote.get_text("file"), quote.get_text("quote")) for quote in fields.get_objects("evidence")
        ),
        must_contain=tuple(fields.get_list("must_contain", str)),
        answer=fields.get("answer", str, ""),
        why=fields.get("why", str, ""),
    )
    try:
        Question(item.question)
    except InvalidInputError as error:
        raise build_line_error(number, f"`question` is invalid. {error}") from None
    return item


class _JsonFields:
    """Reads the fields of one JSON object and checks their types."""

    def __init__(self, line: int, row: dict[str, Any], prefix: str = "") -> None:
        self._line, self._row, self._prefix = line, row, prefix

    def get(self, name: str, kind: type[T], default: Any = _REQUIRED) -> T:
        """A field; an optional one may also be null."""
        value = self._row.get(name)
        if value is None and default is not _REQUIRED:
            return default  # type: ignore[no-any-return]
        if name not in self._row:
            raise self._error(name, "is missing. Add it.")
        return self._check(value, kind, name)

    def get_text(self, name: str, default: Any = _REQUIRED) -> str:
        """A text that is not blank."""
        text = self.get(name, str, default)
        if not text.strip():
            raise self._error(name, "is empty.")
        return text

    def get_list(self, name: str, kind: type[T]) -> list[T]:
        values: list[Any] = self.get(name, list, [])
        return [self._check(value, kind, f"{name}[{i}]") for i, value in enumerate(values)]

    def get_objects(self, name: str) -> list[_JsonFields]:
        rows = self.get_list(name, dict)
        return [_JsonFields(self._line, row, f"{name}[{i}].") for i, row in enumerate(rows)]

    def _check(self, value: Any, kind: type[T], name: str) -> T:
        if not isinstance(value, kind):
            raise self._error(name, f"must be {_TYPE_NAMES[kind]}.")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self._error(name, "contains an invalid character.")
        return value

    def _error(self, name: str, message: str) -> InvalidInputError:
        return build_line_error(self._line, f"`{self._prefix}{name}` {message}")
