"""Removes the marks with which a language model names passages, in whatever form it writes them."""

from __future__ import annotations

import re

from bookbound.answering.writers.llm.unicode_guard import build_guard, strip_invisible
from bookbound.languages import LANGUAGE

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
_CODE = r"(?P<code>`[^`\n]{1,400}`)"  # stays as it is
_CITATION_MARKS = re.compile(
    rf"{_CODE}|(?P<before>[^\s`]{{0,24}}?)(?P<marks>(?:{_GAP}(?:{_BRACKETED_MARK}|{_NAMED_MARK}))+)", re.I
)
_SUPERSCRIPT_DIGITS = "¹²³⁰⁴-⁹"
_SUPERSCRIPT_MARK = (
    rf"(?:{_GAP}(?:⁽[^⁽⁾]{{0,8}}⁾|[{_SUPERSCRIPT_DIGITS}]{{1,3}}(?:[,⁻–][{_SUPERSCRIPT_DIGITS}]{{1,3}}){{0,9}})){{1,9}}"
)
# Only after a long word or a stop: after a short word it may be a power, as in m².
_FOOTNOTE_MARKS = re.compile(
    rf"{_CODE}|(?P<before>[^\W\d_]{{4}}|[.,;:!?)\]\"”’]){_SUPERSCRIPT_MARK}"
    rf"|(?P<words>[^\s`]{{0,24}}?){_GAP}[†‡※①-⓿❶-➓]{{1,9}}"
)
_EMPHASIS = re.compile(
    rf"{_CODE}|(?<![\w*])(?P<style>\*{{1,3}}|_{{1,3}})(?=[^\s*_])(?P<words>[^*_\n]{{1,200}})(?<=\S)(?P=style)(?![\w*])"
)


def strip_citation_marks(text: str, book: str) -> tuple[str, tuple[int, ...]]:
    """Returns a model's text in plain letters, without citation marks that the book does not have, and their numbers.

    Emphasis that the book does not have is left out too.
    """
    return strip_marks(build_guard(book).simplify(strip_invisible(text)), book)


def strip_marks(text: str, book: str) -> tuple[str, tuple[int, ...]]:
    """Returns a text in any letters without citation marks and emphasis that the book does not have."""
    numbers: list[int] = []

    def strip_mark(found: re.Match[str]) -> str:
        if found["code"]:
            return found.group()
        marks = found["marks"].strip()
        lettered = "," in marks or not any(map(str.isdigit, marks))
        in_book = (found["before"] and found.group() in book) or (lettered and marks in book)
        if in_book:
            return found.group()
        numbers.extend(map(int, re.findall(r"\d{1,3}", marks.partition("†")[0])))
        return found["before"]

    def keep_words(found: re.Match[str]) -> str:
        is_kept = found["code"] or found.group() in book
        return found.group() if is_kept else found["words"] or found.groupdict().get("before") or ""

    text = _CITATION_MARKS.sub(strip_mark, text)
    return _EMPHASIS.sub(keep_words, _FOOTNOTE_MARKS.sub(keep_words, text)).strip(), tuple(numbers)
