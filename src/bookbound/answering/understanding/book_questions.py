"""Recognizes questions about the book itself: its subject, readers, author, citation, contents and chapters."""

from __future__ import annotations

import re
from functools import cache

from bookbound.domain.understanding import BookQuestion, BookTopic

MAX_BOOK_QUESTION_CHARS = 120
_NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_POLITE = re.compile(
    r"^(?:(?:hi|hello|hey|please|so|ok|okay|and|well)[,!]? "
    r"|(?:can|could|would|will) you (?:please )?|i (?:want|would like|'d like) to know )+"
    r"|(?:,?\s*(?:please|thanks|thank you|exactly))+$",
    re.I,
)
_BOOK = (
    r"(?:(?:this|the|your|that) (?:book|textbook)"
    r"|this (?:guide|manual|handbook|course|tutorial|documentation|docs|text|site|website))"
)
_LEARN = r"what (?:will|can|do|would) i learn (?:from|in|with|by reading)"
_OVERVIEW = (
    r"(?:(?:give|show|tell) (?:me|us) )?(?:an? |the )?(?:(?:short|brief|quick) )?"
    r"(?:summary|overview|synopsis|description) of"
)
_TREATS = r"(?:cover|teach|contain|discuss|treat|deal with|talk about|include)"
_LIST = r"(?:(?:list|show|name|give|tell) (?:me |us )?(?:all )?(?:of )?)"
_UNIT = r"(?P<unit>chapter|ch\.?|part|module|unit|lesson|week|section)"
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBER_WORDS)})"
_REFERENCE = (
    rf"(?:{_UNIT} (?:number |no\.?\s*|\#)?{_NUMBER}"
    rf"|the (?P<ordinal>{'|'.join(_ORDINALS)}|last|final) chapter"
    r"|the (?:chapter|section|page|part) (?:on|about|called|titled|named) (?P<name>[^,;:?]+?)"
    r"|the (?P<title>[^,;:?]+?) chapter)"
)
_PATTERNS: dict[BookTopic, tuple[str, ...]] = {
    "subject": (
        rf"what(?:'s|s| is) {_BOOK}(?: all)?(?: about)?",
        rf"what does {_BOOK} {_TREATS}",
        rf"what is (?:covered|taught|discussed) in {_BOOK}",
        rf"what (?:is|are) the (?:subject|topic|topics|main topics?|main ideas?|purpose|aim) of {_BOOK}",
        rf"{_LEARN} {_BOOK}",
        rf"{_OVERVIEW} {_BOOK}",
        rf"(?:summari[sz]e|describe|introduce|explain) {_BOOK}",
        rf"tell (?:me|us) (?:more |something )?about {_BOOK}",
        r"about (?:this|the) book",
    ),
    "audience": (
        rf"who(?:'s|s|m| is) {_BOOK} (?:for|aimed at|written for|intended for|meant for)",
        rf"for whom is {_BOOK}(?: (?:written|meant|intended))?",
        rf"who (?:should|is supposed to|can) read {_BOOK}",
        rf"(?:who|what) is the (?:(?:target|intended) )?(?:audience|readership)(?: (?:of|for) {_BOOK})?",
        rf"is {_BOOK} (?:suitable )?for (?:me|beginners|experts|professionals|students|children)",
    ),
    "author": (
        rf"who (?:wrote|has written|authored|made|created) (?:this|it|{_BOOK})",
        rf"who (?:is|are) the (?:authors?|writers?)(?: of (?:this|{_BOOK}))?",
        rf"who is {_BOOK}(?: written)? by",
        r"(?:about )?the author",
    ),
    "citation": (
        rf"how (?:do|can|should|would|must) (?:i|we|you|one) (?:cite|reference) (?:this|it|{_BOOK})",
        rf"(?:how to )?cite (?:this|{_BOOK})",
        rf"(?:what is |(?:give|show) me )?(?:the |an? )?(?:bibtex|citation)(?: entry)? (?:of|for) {_BOOK}",
    ),
    "contents": (
        rf"{_LIST}?(?:the |its )?(?:chapters|contents|table of contents|toc|chapter (?:list|titles)"
        rf"|list of chapters)(?: (?:of|in) {_BOOK})?",
        rf"{_LIST}(?:the )?(?:parts|topics|sections|headings) (?:of|in) {_BOOK}",
        rf"(?:what|which) (?:are the )?chapters(?: are (?:there|in {_BOOK}))?"
        rf"(?: (?:of|in) {_BOOK})?",
        rf"(?:what|which|how many) (?:chapters|parts|topics|sections) (?:does {_BOOK} (?:have|{_TREATS})"
        rf"|(?:are|is) (?:there )?(?:covered )?in {_BOOK})",
        r"how many chapters(?: (?:are there|is it|does it have))?",
        rf"how is {_BOOK} (?:organi[sz]ed|structured|divided|arranged)",
    ),
    "questions": (
        rf"what(?: (?:questions?|things?|kind of questions?|sort of questions?))? (?:can|could|should|may)"
        rf" i ask(?: (?:you|it|here|{_BOOK}))?(?: (?:about|here|about {_BOOK}))?",
        r"what (?:kind of |sort of )?questions (?:can|do) you answer",
    ),
    "chapter": (
        _REFERENCE,
        rf"what(?:'s|s| is) (?:in )?{_REFERENCE}(?: (?:all )?about)?",
        rf"what does {_REFERENCE} {_TREATS}",
        rf"what is (?:covered|taught|discussed|explained) in {_REFERENCE}",
        rf"(?:what|which) (?:topics|sections) (?:are in|does) {_REFERENCE}(?: (?:have|{_TREATS}))?",
        rf"{_LEARN} {_REFERENCE}",
        rf"{_OVERVIEW} {_REFERENCE}",
        rf"(?:summari[sz]e|describe|outline|introduce|explain) {_REFERENCE}",
        rf"(?:give|show|tell) (?:me|us) (?:more )?(?:about )?{_REFERENCE}",
        rf"{_LIST}(?:the )?(?:sections|topics|headings|contents) (?:of|in) {_REFERENCE}",
    ),
}


def parse_book_question(text: str, title: str) -> BookQuestion | None:
    """Returns what a question asks about the book with this title, or nothing for an ordinary question.

    The whole question has to ask about the book: one that asks for something in it is ordinary.
    """
    text = " ".join(text.replace("’", "'").split()).strip("?!. ")
    if len(text) > MAX_BOOK_QUESTION_CHARS:
        return None
    if title:
        text = re.sub(
            rf"(?<=\s)(?<!\bthis )(?<!\bthe )(?<!\byour )(?<!\bthat )[\"“]?{re.escape(title)}[\"”]?(?=\s|$)",
            "this book",
            text,
            flags=re.I,
        )
    text = _POLITE.sub("", _POLITE.sub("", text)).strip("?!., ")
    for kind, patterns in _PATTERNS.items():
        for pattern in patterns:
            if found := _compile(pattern).fullmatch(text):
                return _read_reference(found) if kind == "chapter" else BookQuestion(kind)
    return None


def _read_reference(found: re.Match[str]) -> BookQuestion:
    unit, number, ordinal = found["unit"], found["number"], found["ordinal"]
    if number:
        value = int(number) if number.isdigit() else _NUMBER_WORDS.index(number.lower()) + 1
        return BookQuestion("chapter", "chapter" if unit.lower().startswith("ch") else unit.lower(), value)
    if ordinal:
        return BookQuestion(
            "chapter", number=_ORDINALS.index(ordinal.lower()) + 1 if ordinal.lower() in _ORDINALS else -1
        )
    return BookQuestion("chapter", name=found["name"] or found["title"])


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.I)
