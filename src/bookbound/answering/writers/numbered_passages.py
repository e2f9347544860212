"""Numbers the passages that a language model reads, runs its searches and turns its drafts into cited sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from bookbound.answering.writers import llm_request
from bookbound.answering.writers.stream_parser import DraftSentence, MalformedReplyError
from bookbound.answering.writers.unicode_guard import UnicodeGuard, strip_invisible
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence
from bookbound.domain.ports import BookSearch
from bookbound.domain.question import MAX_QUESTION_CHARS, Question
from bookbound.domain.reply import AnswerSentence
from bookbound.text.sentences import split_sentences


class NumberedPassages:
    """The passages that a model was given, numbered from one in the order it was given them, and what it says of them.

    What it has said once does not count again.
    """

    def __init__(self, passages: Iterable[Passage] = ()) -> None:
        self._passages: list[Passage] = []
        self._said: set[str] = set()
        for passage in passages:
            self.add(passage)

    def add(self, passage: Passage) -> int | None:
        """The number of a passage that is new; none where it has one already."""
        if any(passage.chunk.id == known.chunk.id for known in self._passages):
            return None
        self._passages.append(passage)
        return len(self._passages)

    def __len__(self) -> int:
        return len(self._passages)

    @property
    def text(self) -> str:
        return "\n".join(passage.chunk.text for passage in self._passages)

    def sentences(self, drafted: DraftSentence, probability: float | None = None) -> list[AnswerSentence]:
        """The sentences of what was drafted, clean, each resting on the whole of the passages that are named.

        Numbers of none are dropped. A sentence rests on nothing where it is written in other letters or signs than its
        passages. How probably a passage answers is its score, where nobody judged.
        """
        numbers = [number for number in dict.fromkeys(drafted.passages) if 1 <= number <= len(self)]
        named = [self._passages[number - 1] for number in numbers]
        evidence = tuple(
            Evidence.of(each, 0, len(each.chunk.text), each.score if probability is None else probability)
            for each in named
        )
        book = "\n".join(each.chunk.text for each in named)
        text, lettering = strip_citation_marks(drafted.text, book), UnicodeGuard(book)
        single = [text[unit.start : unit.end] for unit in split_sentences(text)]
        found = [AnswerSentence(each, () if lettering.strange(each) else evidence) for each in single]
        return [sentence for sentence in found if not self._again(sentence)]

    def _again(self, sentence: AnswerSentence) -> bool:
        """Whether a sentence was given before; what rests on nothing was not."""
        words = " ".join(sentence.text.casefold().split())
        if words in self._said:
            return True
        if sentence.evidence:
            self._said.add(words)
        return False


# Every repetition is bounded: a model may write anything.
_GAP = r"\s{0,3}"
_NUMBERS = rf"\d{{1,3}}(?:{_GAP}(?:,|;|and|&|[-–]){_GAP}\d{{1,3}}){{0,9}}"
_SHORT_LABEL = r"\^?(?:[a-z]{1,8}\d{0,2}|\d{1,3})"
_BRACKETED_MARK = (  # [1], [passages 1 and 2], 【1†a】, [A], [one], [^1], but no link
    rf"[\[【](?:(?:passages?\s)?{_GAP}{_NUMBERS}(?:†[^\]】]{{0,40}})?|{_SHORT_LABEL})[\]】](?!\()"
)
_NAMED_MARK = (
    rf"[(（](?:see |cf\. |from |source: )?passages?\s{_GAP}{_NUMBERS}[)）]"  # (passage 2), (see passages 1, 2)
)
_CITATION_MARKS = re.compile(rf"(?P<before>\S{{0,24}}?)(?P<marks>(?:{_GAP}(?:{_BRACKETED_MARK}|{_NAMED_MARK}))+)", re.I)
_SUPERSCRIPT_DIGITS = "¹²³⁰⁴-⁹"
_SUPERSCRIPT_MARK = (
    rf"(?:{_GAP}(?:⁽[^⁽⁾]{{0,8}}⁾|[{_SUPERSCRIPT_DIGITS}]{{1,3}}(?:[,⁻–][{_SUPERSCRIPT_DIGITS}]{{1,3}}){{0,9}})){{1,9}}"
)
# After a long word or a stop: what is raised after a short one may be a power, as in m².
_FOOTNOTE_MARKS = re.compile(
    rf"(?P<before>[^\W\d_]{{4}}|[.,;:!?)\]\"”’]){_SUPERSCRIPT_MARK}"
    rf"|(?P<any>\S{{0,24}}?){_GAP}[†‡※①-⓿❶-➓]{{1,9}}"
)
_EMPHASIS = re.compile(
    r"(?<![\w*])(?P<style>\*{1,3}|_{1,3})(?=[^\s*_])(?P<words>[^*_\n]{1,200})(?<=\S)(?P=style)(?![\w*])"
)


def strip_citation_marks(text: str, book: str) -> str:
    """A model's text in plain letters, without the marks that point at passages or set words off.

    What stands so in the book is the book's own.
    """

    def unmarked(found: re.Match[str]) -> str:
        marks = found["marks"].strip()
        lettered = "," in marks or not any(map(str.isdigit, marks))
        own = (found["before"] and found.group() in book) or (lettered and marks in book)
        return found.group() if own else found["before"]

    def unnoted(found: re.Match[str]) -> str:
        return found.group() if found.group() in book else found["before"] or found["any"] or ""

    def unstyled(found: re.Match[str]) -> str:
        return found.group() if found.group() in book else found["words"]

    text = _CITATION_MARKS.sub(unmarked, UnicodeGuard(book).plain(strip_invisible(text)))
    return _EMPHASIS.sub(unstyled, _FOOTNOTE_MARKS.sub(unnoted, text)).strip()


MAX_SEARCHES = 3
MIN_SEARCH_PASSAGES, MAX_SEARCH_PASSAGES = 3, 8
"""How many passages a search gives, whatever is asked for: the fewest, and the most."""
_COUNT = re.compile(r"\s{0,9}[0-9]{1,4}\s{0,9}")


class BookSearchTool:
    """What a model may look for by itself, or `must`: the book's own search, a few times, told between marks.

    A search gives as many passages as the question asks for, or fewer where the model wants fewer.
    """

    def __init__(
        self, question: Question, search: BookSearch, marks: llm_request.DataDelimiters, *, must: bool = True
    ) -> None:
        self.book, self.must = NumberedPassages(), must
        self.most = _clamp(question.k, MAX_SEARCH_PASSAGES)
        self.trouble: Exception | None = None
        self._question, self._search, self._marks = question, search, marks
        self._times = 0

    @property
    def more(self) -> bool:
        """Whether there may be another search."""
        return self._times < MAX_SEARCHES

    @property
    def over(self) -> bool:
        """It was searched, and nothing was given to read: there is nothing to answer from."""
        return self._times > 0 and not len(self.book)

    async def asked(self, arguments: str) -> str:
        """What a search for these arguments, in JSON, gives the model to read."""
        if not self.more:
            return llm_request.NO_MORE_SEARCHES_MESSAGE
        self._times += 1
        query, k = _parse_arguments(arguments)
        wanted = self.most if k is None else _clamp(k, self.most)
        try:
            retrieval, told = await self._search(query or self._question.text, wanted)
            found = list(zip(retrieval.passages, told, strict=True)) if told else []
        except Exception as trouble:
            self.trouble = trouble
            raise
        new = [(number, text) for passage, text in found if (number := self.book.add(passage))]
        if new:
            return llm_request.format_numbered_passages(self._marks, new)
        return llm_request.NOTHING_NEW_MESSAGE if found else llm_request.NOTHING_FOUND_MESSAGE


def _parse_arguments(arguments: str) -> tuple[str, int | None]:
    """What a model looks for, as far as a search takes it, and how many passages it wants, where it says so."""
    given = json.loads(arguments)
    query, k = given["query"], given.get("k")
    if isinstance(k, str) and _COUNT.fullmatch(k):
        k = int(k)
    if not isinstance(query, str) or not (k is None or type(k) is int):
        raise MalformedReplyError("The model searches for no words, or not for a number of passages.")
    return strip_invisible(query).strip()[:MAX_QUESTION_CHARS].strip(), k


def _clamp(k: int, most: int) -> int:
    return min(max(k, MIN_SEARCH_PASSAGES), most)
