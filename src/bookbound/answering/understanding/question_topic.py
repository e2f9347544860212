"""Finds what a question is about with word lists and word order."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from bookbound.answering.understanding.comparison import split_comparison
from bookbound.text.tokens import extract_terms, stem

QUESTION_WORDS = frozenset("what which who whom whose where when why how".split())
BE_FORMS = frozenset("is are was were".split())
AUXILIARY_VERBS = BE_FORMS | frozenset(
    """be been does do did can could may might must should shall will would has have had isn't aren't don't doesn't
    didn't can't cannot won't what's who's where's how's""".split()
)
PREPOSITIONS = frozenset(
    """of in on at to for from with without by about into onto under over after before during through against between
    among inside outside within per via as than like instead while when if because""".split()
)
DETERMINERS = frozenset("a an the my your our his her its their each every any some another all both".split())
_OTHER_FUNCTION_WORDS = frozenset(
    "i you we one he she it they them me us this that these those there and or but vs versus".split()
)
_DO_FORMS = frozenset("do does did".split())
_BEFORE_OTHERS = frozenset("how i you we".split())
"""A word after one of these is an adjective or a verb: "how long", "do I open"."""
_FUNCTION_WORDS = QUESTION_WORDS | AUXILIARY_VERBS | PREPOSITIONS | _OTHER_FUNCTION_WORDS
_VERBS = frozenset(
    map(
        stem,
        """accept add affect allow answer apply avoid become begin belong break build bring buy catch cause change
        check choose close come compare compute configure connect consist contain control convert cost create decide
        declare define delete depend describe detect determine differ disable do draw drop enable end ensure exist
        expect explain fail find fit follow get give go grow handle happen help hold import improve include increase
        indicate install invent keep know last learn leave let limit list look lose make matter mean measure need occur
        open pass perform prevent print produce provide publish put raise reach read receive reduce remain remove
        replace represent require reset return run save say see send separate serve show sit solve sort stand start
        stay stop store suit support take tell throw turn understand update use wait walk want weigh work write
        wrote made ran""".split(),
    )
)
_IMPERATIVE = re.compile(
    r"(?:please\s+)?(?:(?:can|could|would)\s+you\s+(?:please\s+)?)?"
    r"(?:explain|describe|define|summari[sz]e|list|compare|(?:tell|show)\s+me(?:\s+(?:more|something))?(?:\s+about)?)\s+",
    re.I,
)
_PARTICIPLE = re.compile(
    r"(?!variable)(?:\w{2,}[^e]ed|\w{3,}[ai]ble|made|done|set|built|written|known|sent|held)$", re.I
)
_WHAT_IT_DOES = re.compile(r"what\s+(?:does|do|did)\s+(.+?)\s+(?:do|mean|stand\s+for)", re.I)
_DEFINITION_TAIL = re.compile(r"\s+(?:called|used|good|for|about|like|(?:used|good)\s+for|made\s+of)$", re.I)


class Phrase(NamedTuple):
    """A noun phrase of a question, and where it is."""

    text: str
    start: int
    end: int

    @property
    def head(self) -> str:
        return re.sub(r"['’]s$", "", self.text.split()[-1])

    @property
    def is_plural(self) -> bool:
        head = self.head.casefold()
        return head.isalpha() and head.endswith("s") and not head.endswith(("ss", "us", "is"))


def is_verb(word: str) -> bool:
    """Whether a word is usually a verb; "walking" may be a noun."""
    return stem(word.casefold()) in _VERBS and not word.endswith("ing")


def find_phrases(question: str) -> list[Phrase]:
    """Returns the noun phrases of a question: the words between its verbs, prepositions and question words."""
    runs: list[list[re.Match[str]]] = [[]]
    previous, expects_verb = "", False
    for word in re.finditer(r"[^\s,;:?!]+", question.rstrip("?!. ")):
        plain = word[0].casefold()
        if plain in DETERMINERS:
            runs.append([word])
        elif previous in _BEFORE_OTHERS or (previous not in DETERMINERS and _ends_phrase(word, bool(runs[-1]))):
            runs.append([])
            expects_verb = plain in _DO_FORMS or (
                expects_verb and not is_verb(plain) and previous not in _BEFORE_OTHERS
            )
        else:
            runs[-1].append(word)
        previous = plain
    if expects_verb and len(runs[-1]) > 1:  # "What does the arm weigh": the last word is a verb, even an unknown one
        runs[-1].pop()
    spans = [(run[0].start(), run[-1].end()) for run in runs if any(extract_terms(word[0]) for word in run)]
    found = [Phrase(question[start:end], start, end) for start, end in spans]
    return [phrase for phrase in found if not _PARTICIPLE.match(phrase.text)] or found


def _ends_phrase(word: re.Match[str], in_phrase: bool) -> bool:
    text = word[0] if word.start() else word[0].casefold()
    if text.isupper() and len(text) > 1:
        return False
    is_verb_form = is_verb(text) or (in_phrase and bool(_PARTICIPLE.match(text)))
    return text.casefold() in _FUNCTION_WORDS or (text.islower() and is_verb_form)


def find_topic(question: str) -> str:
    """Returns what a question is about: "a list" of "What is a list?", "the arm" of "How long is the arm?"."""
    text = question.strip(" ?!.")
    if imperative := _IMPERATIVE.match(text):
        return text[imperative.end() :]
    if deed := _WHAT_IT_DOES.fullmatch(text):
        return deed[1]
    phrases = find_phrases(text)
    if not phrases:
        return text
    if is_definition(text):
        return _DEFINITION_TAIL.sub("", text[phrases[0].start :])
    subject = _find_subject(text, phrases)
    attribute = re.match(r"\s+of\s+", text[subject.end :])
    owner = [each for each in phrases if attribute and each.start == subject.end + attribute.end()]
    return text[subject.start : owner[0].end] if owner else subject.text


def is_definition(question: str) -> bool:
    """Whether a question only asks what or who something is."""
    words = question.casefold().split()
    return words[0] in ("what's", "who's") or (
        words[0] in ("what", "who") and words[1:2] != [] and words[1] in BE_FORMS
    )


def _find_subject(text: str, phrases: list[Phrase]) -> Phrase:
    """Returns the phrase after the first verb if that is an auxiliary: "How many joints has a leg"; else the first."""
    words = [word for word in re.finditer(r"\S+", text) if word[0].islower() or not word.start()]
    verb = next((word for word in words if word[0].casefold() in AUXILIARY_VERBS or is_verb(word[0])), None)
    is_inverted = verb is not None and verb[0].casefold() in AUXILIARY_VERBS
    after = [phrase for phrase in phrases if verb and is_inverted and phrase.start >= verb.end()]
    return (after or phrases)[0]


def find_pair(question: str) -> tuple[str, ...]:
    """Returns the two things that a question compares or names together, or nothing."""
    text = question.strip(" ?!.")
    if sides := split_comparison(text):
        return tuple(side.removeprefix("What is ").rstrip("?") for side in sides)
    if between := re.search(r"\bbetween\s+(.+?)\s+and\s+(.+)$", text, re.I):
        return between[1], between[2]
    phrases = find_phrases(text)
    for one, two in pairwise(phrases):
        if re.fullmatch(r"\s+(?:and|or)\s+", text[one.end : two.start], re.I):
            return one.text, two.text
    return ()


_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+(.+)$", re.M)
_ITEM_END = re.compile(r"[:.;,](?:\s|$)|\s[–—-]\s")
_LIST_AFTER_COLON = re.compile(r":\s+([^.:\n]+(?:,\s|\s(?:and|or)\s)[^.:\n]+)")
MAX_ITEM_WORDS = 8


def find_items(answer: str) -> tuple[str, ...]:
    """Returns the things that an answer lists, as bullet points or after a colon."""
    items = [_ITEM_END.split(item, maxsplit=1)[0] for item in _ITEM.findall(answer)]
    if len(items) < 2 and (listed := _LIST_AFTER_COLON.search(answer)):
        items = re.split(r",\s+(?:(?:and|or)\s+)?|\s+(?:and|or)\s+", listed[1])
    return tuple(_name_item(item.strip(" *_`")) for item in items if extract_terms(item))


def _name_item(item: str) -> str:
    """Returns a short item as it is, and the first noun phrase of a sentence."""
    phrase = next(iter(find_phrases(item)), Phrase(item, 0, len(item)))
    following = item[phrase.end :].split()[:1]
    is_sentence = any(word.casefold() in AUXILIARY_VERBS or is_verb(word) for word in following)
    return phrase.text.strip(" *_`") if is_sentence or len(item.split()) > MAX_ITEM_WORDS else item


def has_determiner(phrase: str) -> bool:
    """Whether a phrase begins with a word like "the"."""
    return phrase.split()[0].casefold() in DETERMINERS


def make_possessive(phrase: str) -> str:
    """Returns "a gear's" for "a gear"."""
    return f"{phrase}'" if phrase.endswith("s") else f"{phrase}'s"


def replace_attribute(last: str, preposition: str, fragment: str) -> str:
    """Returns the last question with "on Windows" replaced by "on macOS", or with "on macOS" at its end."""
    found = [*re.finditer(rf"\b{preposition}\b", last, re.I)]
    if not found:
        return f"{last} {fragment}"
    rest = re.split(rf"(?=\s(?:{'|'.join(PREPOSITIONS)})\s)", last[found[-1].end() :], maxsplit=1)
    return f"{last[: found[-1].start()]}{fragment}{''.join(rest[1:])}"
