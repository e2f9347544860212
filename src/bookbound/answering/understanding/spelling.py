"""Corrects misspelt words of a question to words of the book, and phrases a keyword as a question."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase

from bookbound.domain.chunk import Passage
from bookbound.domain.ports import Embedder, Index
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.languages import LANGUAGE
from bookbound.text import STOP_WORDS, normalize_text, split_words, stem

MAX_CORRECTED_CHARS = 500
MAX_KEYWORD_CHARS = 60
MAX_KEYWORDS = 4
MIN_LETTERS = 4
MIN_LETTERS_FOR_VOWELS = 7
# One use of an odd word may itself be a slip of the author.
MIN_USES = 2
# A word that the book uses this many times less often than another is not meant.
CLEAR_LEAD = 4
MAX_SPELLINGS = 3
# Enough chunks to compare how often the book uses two words, in one search.
SEARCHED_CHUNKS = 50
_FORMS = LANGUAGE.questions
# Parts of identifiers, options and file names are left alone.
_WORD = re.compile(r"(?<![\w`./'-])[^\W\d_]+(?![\w`(/-]|[.']\w)")
VOWELS = frozenset("aeiouy")


def phrase_keyword(text: str) -> str:
    """Returns a few words that ask nothing as a question about them, or an empty text for a question."""
    words = normalize_text(text).strip(" ?.!").split() if len(text) <= MAX_KEYWORD_CHARS else []
    is_order = len(words) > 1 and words[0] in _FORMS.order_words
    if is_order or not 1 <= len(words) <= MAX_KEYWORDS or STOP_WORDS & set(words):
        return ""
    return _FORMS.definition.format(text.rstrip(" ?.!"))


class UsedWords:
    """The words of some texts, and how often these have them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.counts = Counter(word for text in texts for word in split_words(text))
        self.by_stem: dict[str, list[str]] = {}
        for word in self.counts:
            self.by_stem.setdefault(stem(word), []).append(word)

    def __contains__(self, word: str) -> bool:
        """Returns whether a form of the word is used; "taks" has the stem of "taking", but is no form of it."""
        return any(used.startswith(word) or word.startswith(used) for used in self.by_stem.get(stem(word), ()))


@dataclass(frozen=True, slots=True)
class SpellingCorrector:
    """Writes the words of a question as the book does.

    A common English word is at most given its other spelling, British or American. Any other word that the book does
    not use becomes the word of the book that it misspells. If several words are almost as frequent, each of them may be
    meant.
    """

    index: Index
    embedder: Embedder

    async def correct(
        self, question: str, passages: Sequence[Passage], deadline: Deadline = NO_DEADLINE
    ) -> tuple[str, ...]:
        """Returns the questions that may be meant, the likeliest first.

        The words of the passages that were found for the question are known; all others are looked up in one search.
        """
        found = [] if len(question) > MAX_CORRECTED_CHARS else list(_find_correctable(question))
        known = UsedWords(passage.chunk.embedding_text for passage in passages)
        others = {word: self._list_others(word, at == 0) for at, word in found if word not in known}
        if not any(others.values()):
            return (question,)
        looked_up = " ".join([*others, *(other for each in others.values() for other in each)])
        chunks = await self.index.match(looked_up, SEARCHED_CHUNKS, deadline)
        used = UsedWords(chunk.embedding_text for chunk in chunks)
        better = {word: self._choose(word, used, others[word]) for word in others if word not in used}
        return _replace_words(question, better)

    def _list_others(self, word: str, is_first: bool) -> list[str]:
        """Returns all words that may be meant if the book does not use this one."""
        openers = [each for each in _FORMS.openers if is_first and is_misspelling(word, each)]
        if len(word) < MIN_LETTERS:
            return openers
        if self._is_common(word):
            return openers + list_other_spellings(word)
        return openers + [each for each in sorted(list_corrections(word)) if each[0] == word[0]]

    def _choose(self, word: str, used: UsedWords, others: Sequence[str]) -> list[str]:
        """Returns the words that are meant instead of one that the book does not use."""
        if openers := [each for each in others if each in _FORMS.openers]:
            return openers[:1]
        if self._is_common(word):
            return [each for each in others if stem(each) in used.by_stem][:1]
        return find_intended_words(word, used.counts)

    def _is_common(self, word: str) -> bool:
        """Returns whether a word is one token of the network: such a word is English, and not a slip."""
        return self.embedder.count_tokens(word) <= self.embedder.count_tokens("") + 1


def _find_correctable(question: str) -> Iterator[tuple[int, str]]:
    """Yields each word that is neither a name nor a stop word, with its place; the first of several words is 0."""
    for found in _WORD.finditer(question):
        is_first = not question[: found.start()].strip()
        is_name = found.group()[0].isupper() and not is_first and not question.isupper()
        word = normalize_text(found.group())
        if word not in STOP_WORDS and not is_name:
            yield 0 if is_first and " " in question else found.start() + 1, word


def _replace_words(question: str, better: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Returns the question with each combination of better words, at most `MAX_SPELLINGS`."""
    spelled, end = [""], 0
    for found in _WORD.finditer(question):
        if meant := better.get(normalize_text(found.group())):
            before = question[end : found.start()]
            spelled = [f"{text}{before}{each}" for each in meant for text in spelled][:MAX_SPELLINGS]
            end = found.end()
    return tuple(text + question[end:] for text in spelled)


def list_other_spellings(word: str) -> list[str]:
    """Returns the word in the spellings that it may have on the other side of the Atlantic."""
    pairs = [*_FORMS.spellings, *((other, one) for one, other in _FORMS.spellings)]
    return [word.replace(one, other) for one, other in pairs if one in word[2:]]


def find_intended_words(word: str, word_counts: Mapping[str, int]) -> list[str]:
    """Returns the words of the book that may be meant, the most frequent first, one for each stem."""
    meant = sorted(
        (-count, other)
        for other, count in word_counts.items()
        if count >= MIN_USES and other[0] == word[0] and is_misspelling(word, other)
    )
    best: dict[str, str] = {}
    for count, other in meant:
        if CLEAR_LEAD * count < meant[0][0]:
            best.setdefault(stem(other), other)
    return list(best.values())


@lru_cache(maxsize=64)
def list_corrections(word: str) -> frozenset[str]:
    """Returns every word that this one may misspell, whether it exists or not.

    Two letters are swapped, one is left out, one is doubled, or another vowel stands in a long word. Any other
    difference more often makes another word: a colcon is no colon, and a solver does not mean to solve.
    """
    found: set[str] = set()
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        found |= {f"{before}{letter}{after}" for letter in ascii_lowercase}
        if len(after) > 1:
            found.add(f"{before}{after[1]}{after[0]}{after[2:]}")
        if at and after[:1] == before[-1]:
            found.add(f"{before}{after[1:]}")
        if after[:1] in VOWELS and len(word) >= MIN_LETTERS_FOR_VOWELS:
            found |= {f"{before}{vowel}{after[1:]}" for vowel in VOWELS}
    return frozenset(found - {word})


def is_misspelling(word: str, other: str) -> bool:
    """Returns whether a word may be a misspelling of another one."""
    return other in list_corrections(word)
