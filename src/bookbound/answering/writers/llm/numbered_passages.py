"""Numbers the passages that a language model reads, runs its searches and turns its drafts into cited sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from bookbound.answering.writers.llm import prompts
from bookbound.answering.writers.llm.stream_parser import DraftSentence, MalformedReplyError
from bookbound.answering.writers.llm.unicode_guard import UnicodeGuard, strip_invisible
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence
from bookbound.domain.ports import BookSearch
from bookbound.domain.question import MAX_QUESTION_CHARS, Question
from bookbound.domain.reply import SEARCH_TOOL_NAME, AnswerSentence
from bookbound.languages import LANGUAGE
from bookbound.text import split_sentences


class NumberedPassages:
    """The passages that a model was given, numbered from one, and the sentences that it wrote about them."""

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        self._passages: list[Passage] = []
        self._known_sentences: set[str] = set()
        for passage in passages:
            self.add(passage)

    def add(self, passage: Passage) -> int | None:
        """Returns the number of a new passage, or None for one that has a number already."""
        if any(passage.chunk.id == known.chunk.id for known in self._passages):
            return None
        self._passages.append(passage)
        return len(self._passages)

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def text(self) -> str:
        return "\n".join(passage.chunk.text for passage in self._passages)

    def build_sentences(self, draft: DraftSentence, probability: float | None = None) -> list[AnswerSentence]:
        """Cleans a draft and cites the whole of the passages that it names; drops sentences that came before.

        Unknown numbers are ignored. A sentence in letters or signs that its passages do not have gets no evidence.
        Without a `probability` the score of each passage counts.
        """
        numbers = [number for number in dict.fromkeys(draft.passages) if 1 <= number <= len(self)]
        named = [self._passages[number - 1] for number in numbers]
        evidence = tuple(
            Evidence.from_chunk(each.chunk, 0, len(each.chunk.text), each.score if probability is None else probability)
            for each in named
        )
        book = "\n".join(each.chunk.text for each in named)
        text, guard = strip_citation_marks(draft.text, book), UnicodeGuard(book)
        single = [text[unit.start : unit.end] for unit in split_sentences(text)]
        found = [AnswerSentence(each, () if guard.is_foreign(each) else evidence) for each in single]
        return [sentence for sentence in found if self._is_new(sentence)]

    def _is_new(self, sentence: AnswerSentence) -> bool:
        """Returns whether a sentence is new, and remembers it if it has evidence."""
        words = " ".join(sentence.text.casefold().split())
        is_new = words not in self._known_sentences
        if sentence.evidence:
            self._known_sentences.add(words)
        return is_new


_FORMS = LANGUAGE.models
# Every repetition is bounded: a model may write anything.
_GAP = r"\s{0,3}"
_NUMBERS = rf"\d{{1,3}}(?:{_GAP}(?:,|;|{_FORMS.between_numbers}|&|[-–]){_GAP}\d{{1,3}}){{0,9}}"
_SHORT_LABEL = r"\^?(?:[a-z]{1,8}\d{0,2}|\d{1,3})"
_BRACKETED_MARK = (  # [1], [passages 1 and 2], 【1†a】, [A], [one], [^1], but no link
    rf"[\[【](?:(?:{_FORMS.passage}\s)?{_GAP}{_NUMBERS}(?:†[^\]】]{{0,40}})?|{_SHORT_LABEL})[\]】](?!\()"
)
_NAMED_MARK = (
    rf"[(（](?:{_FORMS.before_passage})?{_FORMS.passage}\s{_GAP}{_NUMBERS}[)）]"  # (passage 2), (see passages 1, 2)
)
_CITATION_MARKS = re.compile(rf"(?P<before>\S{{0,24}}?)(?P<marks>(?:{_GAP}(?:{_BRACKETED_MARK}|{_NAMED_MARK}))+)", re.I)
_SUPERSCRIPT_DIGITS = "¹²³⁰⁴-⁹"
_SUPERSCRIPT_MARK = (
    rf"(?:{_GAP}(?:⁽[^⁽⁾]{{0,8}}⁾|[{_SUPERSCRIPT_DIGITS}]{{1,3}}(?:[,⁻–][{_SUPERSCRIPT_DIGITS}]{{1,3}}){{0,9}})){{1,9}}"
)
# Only after a long word or a stop: after a short word it may be a power, as in m².
_FOOTNOTE_MARKS = re.compile(
    rf"(?P<before>[^\W\d_]{{4}}|[.,;:!?)\]\"”’]){_SUPERSCRIPT_MARK}"
    rf"|(?P<words>\S{{0,24}}?){_GAP}[†‡※①-⓿❶-➓]{{1,9}}"
)
_EMPHASIS = re.compile(
    r"(?<![\w*])(?P<style>\*{1,3}|_{1,3})(?=[^\s*_])(?P<words>[^*_\n]{1,200})(?<=\S)(?P=style)(?![\w*])"
)


def strip_citation_marks(text: str, book: str) -> str:
    """Returns a model's text in plain letters, without citation marks and emphasis that the book does not have."""

    def strip_mark(found: re.Match[str]) -> str:
        marks = found["marks"].strip()
        lettered = "," in marks or not any(map(str.isdigit, marks))
        in_book = (found["before"] and found.group() in book) or (lettered and marks in book)
        return found.group() if in_book else found["before"]

    def keep_words(found: re.Match[str]) -> str:
        return found.group() if found.group() in book else found["words"] or found.groupdict().get("before") or ""

    text = _CITATION_MARKS.sub(strip_mark, UnicodeGuard(book).simplify(strip_invisible(text)))
    return _EMPHASIS.sub(keep_words, _FOOTNOTE_MARKS.sub(keep_words, text)).strip()


MAX_SEARCHES = 3
MIN_SEARCH_PASSAGES = 3
MAX_SEARCH_PASSAGES = 8
"""The limits of a search, whatever the model asks for."""
_COUNT = re.compile(r"\s{0,9}[0-9]{1,4}\s{0,9}")


class BookSearchTool:
    """The tool with which a model searches the book a few times; a search gives at most the question's `k` passages."""

    name = SEARCH_TOOL_NAME
    description = prompts.SEARCH_TOOL_DESCRIPTION

    def __init__(
        self, question: Question, search: BookSearch, delimiters: prompts.DataDelimiters, *, must_search: bool
    ) -> None:
        self.passages = NumberedPassages()
        self.must_search = must_search
        self.error: Exception | None = None
        self._max_passages = _clamp(question.k, MAX_SEARCH_PASSAGES)
        self._question, self._search, self._delimiters = question, search, delimiters
        self._count = 0

    @property
    def arguments_schema(self) -> Mapping[str, Any]:
        return prompts.build_search_schema(MIN_SEARCH_PASSAGES, self._max_passages)

    @property
    def can_search(self) -> bool:
        return self._count < MAX_SEARCHES

    @property
    def found_nothing(self) -> bool:
        return self._count > 0 and not len(self.passages)

    async def run(self, arguments: str) -> str:
        """Searches with arguments in JSON, and returns what the model reads."""
        if not self.can_search:
            return prompts.NO_MORE_SEARCHES_MESSAGE
        self._count += 1
        query, k = _parse_arguments(arguments)
        wanted = self._max_passages if k is None else _clamp(k, self._max_passages)
        try:
            retrieval, texts = await self._search(query or self._question.text, wanted)
            found = list(zip(retrieval.passages, texts, strict=True)) if texts else []
        except Exception as error:
            self.error = error
            raise
        new = [(number, text) for passage, text in found if (number := self.passages.add(passage))]
        if new:
            return prompts.format_numbered_passages(self._delimiters, new)
        return prompts.NOTHING_NEW_MESSAGE if found else prompts.NOTHING_FOUND_MESSAGE


def _parse_arguments(arguments: str) -> tuple[str, int | None]:
    """Returns the query and the number of passages, if the model gives one."""
    values = json.loads(arguments)
    query, k = values["query"], values.get("k")
    if isinstance(k, str) and _COUNT.fullmatch(k):
        k = int(k)
    if not isinstance(query, str) or not (k is None or type(k) is int):
        raise MalformedReplyError("The model's search has no query, or a number of passages that is not a number.")
    return strip_invisible(query).strip()[:MAX_QUESTION_CHARS].strip(), k


def _clamp(k: int, maximum: int) -> int:
    return min(max(k, MIN_SEARCH_PASSAGES), maximum)
