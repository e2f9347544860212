"""A model's text without what it marks up: numbers and notes that point at passages, and words that are set off."""

from __future__ import annotations

import re

from bookbound.answer.lettering import Lettering
from bookbound.answer.visible import visible

# Every repetition is bounded: a model may write anything.
_GAP = r"\s{0,3}"
_NUMBERS = rf"\d{{1,3}}(?:{_GAP}(?:,|;|and|&|[-–]){_GAP}\d{{1,3}}){{0,9}}"
_WORD = r"\^?(?:[a-z]{1,8}\d{0,2}|\d{1,3})"
_BRACKETED = (  # [1], [passages 1 and 2], 【1†a】, [A], [one], [^1], but no link
    rf"[\[【](?:(?:passages?\s)?{_GAP}{_NUMBERS}(?:†[^\]】]{{0,40}})?|{_WORD})[\]】](?!\()"
)
_NAMED = rf"[(（](?:see |cf\. |from |source: )?passages?\s{_GAP}{_NUMBERS}[)）]"  # (passage 2), (see passages 1, 2)
_MARKS = re.compile(rf"(?P<before>\S{{0,24}}?)(?P<marks>(?:{_GAP}(?:{_BRACKETED}|{_NAMED}))+)", re.I)
_DIGITS = "¹²³⁰⁴-⁹"
_RAISED = rf"(?:{_GAP}(?:⁽[^⁽⁾]{{0,8}}⁾|[{_DIGITS}]{{1,3}}(?:[,⁻–][{_DIGITS}]{{1,3}}){{0,9}})){{1,9}}"
# After a long word or a stop: what is raised after a short one may be a power, as in m².
_NOTES = re.compile(
    rf"(?P<before>[^\W\d_]{{4}}|[.,;:!?)\]\"”’]){_RAISED}"
    rf"|(?P<any>\S{{0,24}}?){_GAP}[†‡※①-⓿❶-➓]{{1,9}}"
)
_STYLED = re.compile(
    r"(?<![\w*])(?P<style>\*{1,3}|_{1,3})(?=[^\s*_])(?P<words>[^*_\n]{1,200})(?<=\S)(?P=style)(?![\w*])"
)


def cleaned(text: str, book: str) -> str:
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

    text = _MARKS.sub(unmarked, Lettering(book).plain(visible(text)))
    return _STYLED.sub(unstyled, _NOTES.sub(unnoted, text)).strip()
