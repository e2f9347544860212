"""Names the language and the direction of a page for browsers and screen readers."""

from __future__ import annotations

from typing import NamedTuple

from bookbound.languages.detection import detect_foreign_language

MAX_CHARS = 20_000
"""So much of a page shows its language."""
UNKNOWN_TAG = "und"
_TAGS = dict(
    pair.split(":")
    for pair in (
        "German:de French:fr Spanish:es Portuguese:pt Italian:it Dutch:nl Swedish:sv Danish:da Norwegian:no Finnish:fi"
        " Polish:pl Czech:cs Hungarian:hu Romanian:ro Turkish:tr Indonesian:id Vietnamese:vi Korean:ko Greek:el"
        " Hebrew:he Thai:th Hindi:hi Japanese:ja Chinese:zh"
    ).split()
)
_RIGHT_TO_LEFT = frozenset({"Hebrew", "Arabic script", "Syriac script", "Thaana script"})
_URDU_LETTERS, _PERSIAN_LETTERS = frozenset("ٹڈڑے"), frozenset("پچژگ")


class PageLanguage(NamedTuple):
    """A tag of BCP 47 and `ltr` or `rtl`."""

    tag: str = "en"
    direction: str = "ltr"


def detect_page_language(text: str) -> PageLanguage:
    """The language of a text; English if it is not clear."""
    start = text[:MAX_CHARS]
    language = detect_foreign_language(start)
    if not language:
        return PageLanguage()
    tag = _tag_arabic_script(start) if language == "Arabic script" else _TAGS.get(language, UNKNOWN_TAG)
    return PageLanguage(tag, "rtl" if language in _RIGHT_TO_LEFT else "ltr")


def _tag_arabic_script(text: str) -> str:
    letters = set(text)
    if letters & _URDU_LETTERS:
        return "ur"
    # Other languages have the letters of Persian, too, but none of the Arabic ones.
    return UNKNOWN_TAG if letters & _PERSIAN_LETTERS else "ar"
