"""Reads a language model's reply while it streams, in whatever form it comes: Markdown, JSON, or a refusal in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

from bookbound.answering.writers.llm.draft_sentences import DraftSentence, MarkdownSplitter
from bookbound.answering.writers.llm.repetitions import RepetitionFilter
from bookbound.languages import LANGUAGE, compiled

NO_ANSWER, MISSING = "NO ANSWER", "MISSING:"
"""The lines with which a model says that the passages do not answer, or not all of it."""
MAX_REPLY_CHARACTERS, MAX_DRAFT_SENTENCES = 32768, 50
"""Nothing after so many characters or sentences is read; what a model thinks aloud does not count."""
_THOUGHTS = re.compile(r"\s*<(?P<tag>think|thinking|reasoning|thought)>.*?</(?P=tag)>\s*", re.S | re.I)
_OPEN_THOUGHT = re.compile(r"\s*<(?:think|thinking|reasoning|thought)>", re.I)
# Some servers put the beginning of a thought into the prompt, and its end into the reply.
_THOUGHT_END = re.compile(r"(?:\A|\n)[^\S\n]*</(?:think|thinking|reasoning|thought)>\s*", re.I)
_MAX_TAG_CHARACTERS = 16
_FENCED_REPLY = re.compile(r"\s*`{0,3}$|\s*```(?:\w*$|(?:json|markdown|md)\s)", re.I)
_MAY_BE_JSON = re.compile(r"\s*(?:<|[{\[]\s*(?:[\"{]|$))")
# JSON begins a line or follows a colon; within a sentence it is an example.
_JSON_START = re.compile(r"(?:^|[\n:])[^\S\n]*(?:```\w{0,20}\s{0,9})?(?=[{\[]\s*[\"{])")
_MIN_PROSE_WORDS = 3
_MAX_BEGINNING_CHARACTERS = 4000
# The end of a sentence or of a line that something else than JSON follows. Every repetition is bounded.
_PROSE_END = re.compile(r"(?:[.!?][\"'”’)\]*_`]{0,9}\s|(?P<line>\n)|[。！？])\s{0,99}[^\s`{\[]")
_MARKDOWN_FENCE = re.compile(r"\s*```(?:markdown|md)\s*\n(?P<text>.*?)(?:\n```\s*)?$", re.S | re.I)
_ANSWER_FIELD = re.compile(r"\s*\{\s*\"answer\"\s*:\s*\"")
# The letters of a JSON string up to its end, or to an escape or half of a pair of which more may come.
_UNFINISHED_ESCAPE = r"(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?|u[0-9a-fA-F]{0,3})\Z"
_WHOLE_LETTERS = re.compile(rf'(?:[^"\\]++|\\(?!{_UNFINISHED_ESCAPE}).)*+', re.S)
_BACKSLASH = re.compile(r'(?P<escape>\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))|\\')
_COMPLETE = re.compile(r"[.!?…。！？:|][\"'”’)\]*_`]{0,9}$")
_ENDINGS = ("", '"}', '"}]}', "]}", "}]}", "}", '"}}', "}}")
"""What may be missing at the end of JSON that is cut off."""
_STATEMENT = re.compile(rf"\W*(?:{NO_ANSWER}\b|(?i:{NO_ANSWER})\W*$|(?i:{MISSING})(?P<missing>.*))", re.S)
_FORMS = LANGUAGE.models
_TEXT_FIELDS = ("answer", "text", "sentence", "content", "response")
_NUMBER_FIELDS = ("passages", "citations", "sources")
_LIST_FIELDS = ("sentences", "answer", "answers")
_REPLY_FIELDS = frozenset({"missing", "response", *_LIST_FIELDS})
"""A JSON object without any of these is a part of the answer, such as an example."""
Form = Literal["", "markdown", "answer", "rest", "whole"]
"""How a reply is read: Markdown, a JSON object that begins with the answer, the rest of it, or all of it at its end."""


class ReplyReader:
    """Returns the sentences of a reply as soon as each is complete; nothing that a model writes is an error.

    What it says about the passages, such as that they do not answer, is not a sentence: `is_missing_part`, as is what
    comes after a limit. Repetitions are left out. Markdown and a JSON object that begins with the answer are read while
    they stream, other forms at their end. `has_restarted`: the sentences before these were a thought whose beginning
    the model did not mark.
    """

    def __init__(self, question: str, book: str) -> None:
        self._question, self._book = question, book
        self.has_restarted = False
        self._allowances = 2  # one for a thought without a beginning, one for the answer
        self._restart()

    def _restart(self) -> None:
        self._splitter, self._new = MarkdownSplitter(self._question, self._book), RepetitionFilter()
        self._form: Form = ""
        self._text, self._line, self._decoded = "", "", 0
        self._has_answer = self._has_ended = self._is_cut_off = self.is_missing_part = False
        if self._allowances:
            self._allowances -= 1
            self._room, self._sentences_left = MAX_REPLY_CHARACTERS, MAX_DRAFT_SENTENCES

    @property
    def is_loop(self) -> bool:
        return self._new.is_loop

    def feed(self, piece: str) -> list[DraftSentence]:
        """Returns the sentences that are complete with this piece of text."""
        if not self._form:
            piece = skip_thoughts(self._text + piece)
            self._form, self._text, self._line = _find_form(piece), "", ""
        self._line += piece
        if thought := _THOUGHT_END.search(self._line):
            rest = self._line[thought.end() :]
            self._restart()
            self.has_restarted = True
            return self.feed(rest)
        self._line = self._line[self._line.rfind("\n") + 1 :].lstrip()[:_MAX_TAG_CHARACTERS]
        if not self._form:
            self._text = piece
            return []
        if len(piece) > self._room:
            self._is_cut_off = self.is_missing_part = True
        piece = piece[: self._room]
        self._room -= len(piece)
        if self._form == "markdown":
            return self._keep_claims(self._splitter.feed(piece))
        self._text += piece
        return self._keep_claims(self._read_answer_field()) if self._form == "answer" else []

    def end(self) -> list[DraftSentence]:
        """Returns the sentences that the end of the reply completes."""
        found: list[DraftSentence] = []
        if self._form in ("answer", "rest"):
            self._is_cut_off |= self._form == "answer"
            self._read_missing(_decode_first_value(self._text), has_answer=self._has_answer)
        elif self._form != "markdown" and not _OPEN_THOUGHT.match(self._text):
            found = self._read_json()
            if not found and not self.is_missing_part:
                fenced = _MARKDOWN_FENCE.match(self._text)
                found = self._splitter.feed(fenced["text"] if fenced else self._text)
        found += self._splitter.end()
        if self._is_cut_off and found and not _COMPLETE.search(found[-1].text):
            found.pop()
        return self._keep_claims(found)

    def _read_answer_field(self) -> list[DraftSentence]:
        """Returns the sentences of a JSON object that begins with the answer, before it is complete."""
        opening = _ANSWER_FIELD.match(self._text)
        letters = _WHOLE_LETTERS.match(self._text, self._decoded or (opening.end() if opening else 0))
        assert letters  # it may be empty
        self._decoded = letters.end()
        if self._text.startswith('"', self._decoded):
            self._form = "rest"
        new = str(json.loads(f'"{_escape_backslashes(letters[0])}"', strict=False))
        self._has_answer |= bool(new.strip())
        return self._splitter.feed(new)

    def _read_json(self) -> list[DraftSentence]:
        """Returns the sentences of a reply in JSON of any form: texts, and lists of texts with passages."""
        start = _JSON_START.search(self._text)
        value = _decode_first_value(self._text[start.end() :]) if start else None
        texts = _find_texts(value) if _is_reply(value) else ()
        found = [each for words, passages in texts for each in self._splitter.feed(f"{words}\n\n", passages)]
        self._read_missing(value, has_answer=bool(found))
        return found

    def _read_missing(self, value: Any, *, has_answer: bool) -> None:
        """Reads from a JSON object what the model says is missing; all is if its answer is empty."""
        if isinstance(value, dict) and _is_reply(value):
            missing = value.get("missing")
            self.is_missing_part |= not has_answer or (isinstance(missing, str) and not _is_empty(missing))

    def _keep_claims(self, found: list[DraftSentence]) -> list[DraftSentence]:
        """Leaves out what the model says about the passages instead of their subject; a statement is its last word.

        A sentence that names a passage says what that passage says, whatever it sounds like.
        """
        kept = []
        for sentence in found:
            words = sentence.claim.words if sentence.claim else sentence.text
            is_answer = sentence.form.kind == "code" or bool(sentence.passages)
            if not is_answer and (statement := _STATEMENT.match(words)):
                self.is_missing_part |= statement["missing"] is None or not _is_empty(statement["missing"])
                self._has_ended |= self.is_missing_part
            elif not is_answer and compiled(_FORMS.denial).match(words):
                self.is_missing_part = True
            elif not self._has_ended:
                kept.append(sentence)
        new = self._new.keep_new(kept)
        self.is_missing_part |= len(new) > self._sentences_left
        new = new[: self._sentences_left]
        self._sentences_left -= len(new)
        return new


def skip_thoughts(reply: str) -> str:
    """Returns a reply without what a model thinks aloud before it; of a thought without an end, only its ends stay."""
    while thoughts := _THOUGHTS.match(reply):
        reply = reply[thoughts.end() :]
    while thought := _THOUGHT_END.search(reply):
        reply = reply[thought.end() :]
    if unfinished := _OPEN_THOUGHT.match(reply):
        return unfinished[0].lstrip() + reply[unfinished.end() :][-_MAX_TAG_CHARACTERS:]
    return reply


def strip_thoughts(reply: str) -> str:
    """Returns a whole reply without what a model thinks aloud before it; of an unfinished thought nothing is left."""
    rest = skip_thoughts(reply)
    return "" if _OPEN_THOUGHT.match(rest) else rest


def _find_form(text: str) -> Form:
    """Returns the form of a reply if its beginning shows it, or is so long that it is not looked at again."""
    if _ANSWER_FIELD.match(text):
        return "answer"
    is_long = len(text) > _MAX_BEGINNING_CHARACTERS
    unknown: Form = "whole" if is_long else ""
    if _FENCED_REPLY.match(text) or _MAY_BE_JSON.match(text):
        return unknown
    start, text = _JSON_START.search(text), text[:_MAX_BEGINNING_CHARACTERS]
    for prose in _PROSE_END.finditer(text):
        if start and prose.end() > start.end():
            return unknown
        if prose["line"] or prose[0][0] in "。！？" or len(text[: prose.start()].split()) > _MIN_PROSE_WORDS:
            return "markdown"
    return "markdown" if is_long and not start else unknown


def _escape_backslashes(text: str) -> str:
    """Returns JSON in which the backslashes of formulas, which are no escapes of JSON, are escaped."""
    return _BACKSLASH.sub(lambda found: found["escape"] or "\\\\", text)


def _is_empty(text: str) -> bool:
    return compiled(_FORMS.nothing_missing).fullmatch(text.strip(" .-*_\n")) is not None


def _decode_first_value(text: str) -> Any:
    """Returns the first JSON value of a text, whatever follows it; of one that is cut off, what is complete."""
    decoder = json.JSONDecoder(strict=False)
    valid = _escape_backslashes(text).lstrip()
    for ending in _ENDINGS:
        try:
            return decoder.raw_decode(f"{valid}{ending}")[0]
        except (ValueError, RecursionError):
            continue
    return None


def _is_reply(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(each, dict) and any(name in each for name in _TEXT_FIELDS) for each in value)
    if not isinstance(value, dict):
        return False
    names_passages = any(name in value for name in _TEXT_FIELDS) and any(name in value for name in _NUMBER_FIELDS)
    has_text = any(isinstance(value[name], str | list | dict | None) for name in _REPLY_FIELDS.intersection(value))
    return names_passages or has_text


def _find_texts(value: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields each text of a decoded reply with the numbers of its passages."""
    if isinstance(value, str):
        yield value, ()
    elif isinstance(value, list):
        for each in value:
            yield from _find_texts(each)
    elif isinstance(value, dict):
        nested = next((value[name] for name in _LIST_FIELDS if isinstance(value.get(name), list | dict)), None)
        text = next((value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str)), "")
        if nested is not None:
            yield from _find_texts(nested)
        elif text:
            yield text, _read_numbers(next((value[name] for name in _NUMBER_FIELDS if name in value), ()))


def _read_numbers(value: Any) -> tuple[int, ...]:
    """Returns the numbers in a list of numbers or texts, or in one of them."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(int(found) for each in values for found in re.findall(r"\d{1,3}", str(each)))
