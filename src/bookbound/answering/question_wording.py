"""Corrects misspelt words of a question to words of the book, and phrases a keyword as a question."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from bookbound.answering.run_state import RunState
from bookbound.domain.judgement import Judgement
from bookbound.domain.ports import Embedder, Index
from bookbound.domain.question import Deadline, Question, Retrieval
from bookbound.text.tokens import DEICTIC_WORDS, STOP_WORDS, normalize_text, stem

SearchAndJudge = Callable[[Question, RunState], Awaitable[tuple[Retrieval, Judgement]]]
MAX_CORRECTED_CHARS, MAX_KEYWORD_CHARS = 500, 60
MAX_KEYWORDS, MIN_LETTERS, MIN_LETTERS_FOR_VOWELS, MIN_USES = 4, 4, 7, 2
CLEAR_LEAD, MAX_READINGS = 4, 3
"""A word that the book uses this many times less often than another is not meant; of the others, so many are tried."""
QUESTION_WORDS = ("what", "how", "why", "when", "where", "which", "who", "does", "explain", "define")
_ORDER_WORDS = DEICTIC_WORDS | {"define", "compare"}
# Parts of identifiers, options and file names are left alone.
_WORD = re.compile(r"(?<![\w`./'-])[^\W\d_]+(?![\w`(/-]|[.']\w)")
_SPELLINGS = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("tre", "ter"), ("ogue", "og"), ("enc", "ens"))
"""What differs between British and American spellings."""
VOWELS = frozenset("aeiouy")


def phrase_keyword(text: str) -> str:
    """Returns a few words that ask nothing as a question about them, or an empty text for a question."""
    words = normalize_text(text).strip(" ?.!").split() if len(text) <= MAX_KEYWORD_CHARS else []
    if not 1 <= len(words) <= MAX_KEYWORDS or STOP_WORDS & set(words) or (len(words) > 1 and words[0] in _ORDER_WORDS):
        return ""
    return f"What is {text.rstrip(' ?.!')}?"


@dataclass(frozen=True, slots=True)
class SpellingCorrector:
    """Writes the words of a question as the book does.

    A common English word is at most given its other spelling, British or American. Any other word that the book does
    not use becomes the word of the book that it misspells. If several words are almost as frequent, each of them may be
    meant.
    """

    index: Index
    embedder: Embedder
    deadline: Deadline

    async def correct(self, question: str) -> list[str]:
        """Returns the questions that may be meant, the likeliest first."""
        if len(question) > MAX_CORRECTED_CHARS:
            return [question]
        readings, end = [""], 0
        for found in _WORD.finditer(question):
            is_first = not question[: found.start()].strip()
            is_name = found.group()[0].isupper() and not is_first and not question.isupper()
            word = normalize_text(found.group())
            if word in STOP_WORDS or is_name:
                continue
            better = await self._correct_question_word(word) if is_first and " " in question else []
            better = better or await self._correct_word(word) or [found.group()]
            before = question[end : found.start()]
            readings = [f"{reading}{before}{each}" for each in better for reading in readings][:MAX_READINGS]
            end = found.end()
        return [reading + question[end:] for reading in readings]

    async def _correct_question_word(self, word: str) -> list[str]:
        nearest = [each for each in QUESTION_WORDS if is_misspelling(word, each)][:1]
        return nearest if nearest and not await self._is_used(word) else []

    async def _correct_word(self, word: str) -> list[str]:
        """Returns the words that may be meant instead of this one."""
        if len(word) < MIN_LETTERS:
            return []
        if self.embedder.count_tokens(word) <= self.embedder.count_tokens("") + 1:  # one token: a common word
            others = list_other_spellings(word)
            if not others or await self._is_used(word):
                return []
            return [each for each in others if await self._is_used(each)][:1]
        if await self._is_used(word):
            return []
        return find_intended_words(word, (await self.index.outline(self.deadline)).word_counts)

    async def _is_used(self, word: str) -> bool:
        return bool(await self.index.match(word, 1, self.deadline))


async def judge_as_meant(
    run: RunState, corrector: SpellingCorrector, judge: SearchAndJudge
) -> tuple[Retrieval, Judgement]:
    """Judges a question in the book's spelling; a keyword is also read as a question, and the surest reading counts."""
    if run.question.selection:
        return await judge(run.question, run)
    with run.clock.measure("search"):
        readings = await corrector.correct(run.question.text)
    judged = [(text, await judge(replace(run.question, text=text), run)) for text in readings]
    meant, found = max(judged, key=_get_probability)
    if not found[1].answer_present and (asked := phrase_keyword(meant)):
        again = await judge(replace(run.question, text=asked), run)
        meant, found = max((meant, found), (asked, again), key=_get_probability)
    run.reword(meant)
    return found


def _get_probability(judged: tuple[str, tuple[Retrieval, Judgement]]) -> float:
    return judged[1][1].probability


def list_other_spellings(word: str) -> list[str]:
    """Returns the word in the spellings that it may have on the other side of the Atlantic."""
    pairs = [*_SPELLINGS, *((american, british) for british, american in _SPELLINGS)]
    return [word.replace(one, other) for one, other in pairs if one in word[2:]]


def find_intended_words(word: str, word_counts: Mapping[str, int]) -> list[str]:
    """Returns the words of the book that may be meant, the most frequent first, one for each stem."""
    meant = sorted(
        (-count, other)
        for other, count in word_counts.items()
        if count >= MIN_USES and other[0] == word[0] and is_misspelling(word, other)
    )
    frequent = [other for count, other in meant if CLEAR_LEAD * count < meant[0][0]]
    best: dict[str, str] = {}
    for other in frequent:
        best.setdefault(stem(other), other)
    return list(best.values())


def is_misspelling(word: str, other: str) -> bool:
    """Whether a word is another word with two letters swapped, one left out, one doubled, or another vowel.

    Any other difference more often makes another word: a colcon is no colon, and a solver does not mean to solve.
    """
    shorter = min(len(word), len(other))
    at = next((i for i in range(shorter) if word[i] != other[i]), shorter)
    is_swapped = word[at : at + 2] == other[at : at + 2][::-1] and word[at + 2 :] == other[at + 2 :]
    lacks_letter = word[at:] == other[at + 1 :]
    has_doubled = at > 0 and word[at - 1 : at] == word[at : at + 1] and word[at + 1 :] == other[at:]
    has_other_vowel = {*word[at : at + 1], *other[at : at + 1]} <= VOWELS and word[at + 1 :] == other[at + 1 :]
    is_long = len(word) >= MIN_LETTERS_FOR_VOWELS
    return word != other and (is_swapped or lacks_letter or has_doubled or (has_other_vowel and is_long))
