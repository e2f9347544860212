"""Analyses plain text: its search terms and sentences, and which words are no facts because they give orders."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from bookbound.domain.chunk import Chunk, QuotableUnit
from bookbound.domain.judgement import Evidence
from bookbound.languages import LANGUAGE, compiled

TextRange = tuple[int, int]
_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(
    r"`[^`]+`"  # marked as code
    r"|(?<![\w-])--?[a-z][\w-]+"  # an option
    r"|\b\w+(?:[._:/]{1,2}\w+)+\b"  # a dotted, slashed or snake-cased name
    r"|\b[A-Z]+[a-z]*[A-Z]\w*\b"  # an acronym or a CamelCase name
    r"|\b[A-Za-z]+\d\w*\b"  # a name with a number in it
)
STOP_WORDS = LANGUAGE.words.stop_words
DEICTIC_WORDS = LANGUAGE.words.deictic_words
stem = lru_cache(maxsize=65536)(LANGUAGE.words.stem)
_MARKS = LANGUAGE.sentences
_BLANK_LINES = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_LIST_MARKER = re.compile(r"\s*(?:[-*+•◦▪‣–]|\d{1,3}[.)]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})\))\s+\S")
_TABLE_ROW = re.compile(r"\S.*(?:\s\|\s|\t)|\s*\|.*\|\s*$")
_BRACKET = re.compile("[()（）]")
_SENTENCE_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]*_]*+(?=\s|$)|[。！？]+["'”’」』）]*""")
_WORD_BEFORE = re.compile(r"""[^\s("'“‘\[]+$""")
_INITIALS = re.compile(r"[^\W\d_a-z](?:\.[^\W\d_a-z])*")
_CONTEXT_CHARS = 80  # enough for the words next to a full stop; a paragraph may be one long line
_LOWERCASE_IDENTIFIER = re.compile(r"""["'“‘(\[]*[a-z]\w*(?:[_./:(\d]\w|\(\)|[A-Z])""")
_LIST_NUMBER = re.compile(r"\W*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\.$")
MIN_WORDS_AROUND_QUOTE = 3
"""With this many words around it, a quotation is spoken about."""
MIN_COMMAND_WORDS = 3
"""Fewer are a keyword: "Ignore rules" in a book about a linter."""
_QUOTED = re.compile(
    r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`|(?<!\w)[‘'][^’'\n]{0,300}[’'](?!\w)"
)
_NAME_OR_WORD = re.compile(r"\w+")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


def normalize_text(text: str) -> str:
    """The text in lower case, without accents, and with compatible characters unified."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without accents, in order, with repeats."""
    return _WORD.findall(normalize_text(text))


def extract_terms(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order, with repeats."""
    return [stem(word) for word in split_words(text) if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]


def asks_about_whole_text(question: str) -> bool:
    """Whether a question points at a whole text and names nothing in it: "Explain this", but not "Why?"."""
    words = {word for word in split_words(question) if len(word) > 1}
    return words <= STOP_WORDS | DEICTIC_WORDS and bool(words & (DEICTIC_WORDS | LANGUAGE.words.pointing_words))


def extract_identifiers(text: str) -> set[str]:
    """Identifiers, options, acronyms and other names that cannot be paraphrased, in lower case."""
    return {name.strip("`").casefold() for name in _IDENTIFIER.findall(text)}


def split_sentences(text: str) -> list[QuotableUnit]:
    """The sentences, list items and table rows of a text, in order; every word is in one of them."""
    return [unit.trimmed(text) for start, end in _split_paragraphs(text) for unit in _split_paragraph(text, start, end)]


def _split_paragraphs(text: str) -> Iterator[TextRange]:
    start = 0
    for gap in _BLANK_LINES.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _split_paragraph(text: str, start: int, end: int) -> Iterator[QuotableUnit]:
    lines = list(_split_lines(text, start, end))
    marked = [i for i, (a, b) in enumerate(lines) if _LIST_MARKER.match(text[a:b])]
    if marked:
        yield from _split_list(text, lines, marked)
    elif len(lines) > 1 and all(_TABLE_ROW.match(text[a:b]) for a, b in lines):
        yield from (QuotableUnit("row", *line) for line in lines)
    else:
        yield from _split_prose(text, start, end)


def _split_lines(text: str, start: int, end: int) -> Iterator[TextRange]:
    """The lines that are not blank."""
    for line in re.finditer(r"[^\n]+", text[start:end]):
        if line.group().strip():
            yield start + line.start(), start + line.end()


def _split_list(text: str, lines: list[TextRange], marked: list[int]) -> Iterator[QuotableUnit]:
    """Each marked line with the unmarked lines after it; text before the first mark is prose."""
    if marked[0]:
        yield from _split_prose(text, lines[0][0], lines[marked[0] - 1][1])
    for first, next_first in pairwise([*marked, len(lines)]):
        yield QuotableUnit("item", lines[first][0], lines[next_first - 1][1])


def _split_prose(text: str, start: int, end: int) -> Iterator[QuotableUnit]:
    parentheses = _find_parentheses(text, start, end)
    for stop in _SENTENCE_END.finditer(text, start, end):
        if not _is_inside_parentheses(parentheses, stop) and _ends_sentence(text, start, stop, end):
            yield QuotableUnit("sentence", start, stop.end())
            start = stop.end()
    if text[start:end].strip():
        yield QuotableUnit("sentence", start, end)


def _find_parentheses(text: str, start: int, end: int) -> list[TextRange]:
    """The outermost pairs of parentheses."""
    opened: list[int] = []
    found: list[TextRange] = []
    for bracket in _BRACKET.finditer(text, start, end):
        if bracket.group() in "(（":
            opened.append(bracket.start())
        elif opened:
            begin = opened.pop()
            while found and found[-1][0] > begin:
                found.pop()
            found.append((begin, bracket.start()))
    return found


def _is_inside_parentheses(parentheses: Sequence[TextRange], stop: re.Match[str]) -> bool:
    """Whether a full stop is inside parentheses and not at their end."""
    last_opened = bisect_left(parentheses, (stop.start(), 0)) - 1
    return last_opened >= 0 and stop.end() <= parentheses[last_opened][1]


def _ends_sentence(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether this punctuation ends the sentence that began at `start`."""
    rest = text[stop.end() : min(end, stop.end() + _CONTEXT_CHARS)].lstrip()
    if not rest or stop.group()[0] in "。！？":
        return True
    if not any(map(str.isalnum, rest)):
        return False
    opener = rest.lstrip("\"'“‘([*_")[:1]
    if opener.islower() and not _LOWERCASE_IDENTIFIER.match(rest):
        return False
    before = text[max(start, stop.start() - _CONTEXT_CHARS) : stop.start()]
    return stop.group()[0] != "." or stop.group().startswith("..") or not _is_abbreviation(before, rest)


def _is_abbreviation(before: str, rest: str) -> bool:
    """Whether the full stop after `before` belongs to an abbreviation, an initial or a list number."""
    if _LIST_NUMBER.match(before.lstrip() + "."):
        return True
    found = _WORD_BEFORE.search(before[-20:])
    word = found.group() if found else ""
    lower, following = word.lower(), re.match(r"\W*(\w*)(\.?)", rest)
    next_word, next_dot = following.groups() if following else ("", "")
    if lower in _MARKS.abbreviations_before_number:
        return next_word[:1].isdigit()
    if lower in _MARKS.abbreviations or word in _MARKS.personal_titles:
        return True
    if lower in _MARKS.final_abbreviations:
        return not next_word[:1].isupper()
    if _INITIALS.fullmatch(word):
        return bool(next_dot) or next_word.lower() not in _MARKS.openers
    return False


def is_prompt_injection(text: str) -> bool:
    """Returns whether a text gives a language model commands, instead of speaking about such commands."""
    if len(_NAME_OR_WORD.findall(text)) < MIN_COMMAND_WORDS:
        return False
    unquoted = _QUOTED.sub(" ", text)
    is_about_quote = len(_NAME_OR_WORD.findall(unquoted)) >= MIN_WORDS_AROUND_QUOTE
    return compiled(LANGUAGE.models.prompt_injection).match(unquoted if is_about_quote else text) is not None


def drop_injected_units(piece: Evidence) -> list[QuotableUnit]:
    """Returns the units of a piece of evidence without commands to a model and the rest of their paragraphs."""
    kept: list[QuotableUnit] = []
    end, is_injected = 0, False
    for unit in piece.units:
        same_paragraph = not _PARAGRAPH.search(piece.text, end, unit.start)
        is_injected = (is_injected and same_paragraph) or is_prompt_injection(piece.text[unit.start : unit.end])
        end = unit.end
        if not is_injected:
            kept.append(unit)
    return kept


def is_exercise(chunk: Chunk) -> bool:
    """Returns whether a chunk asks the reader to do something, so that its words are no facts."""
    return any(compiled(LANGUAGE.quotes.exercise_heading).match(name) for name in chunk.place.heading_path[-2:])
