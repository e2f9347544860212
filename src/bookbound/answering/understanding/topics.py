"""Finds what a question and a conversation are about with word lists and word order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bookbound.answering.understanding.question_parts import DEFINITION_OPENING, split_comparison
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import extract_terms, stem

_FORMS = LANGUAGE.phrases
_FOLLOW_UPS = LANGUAGE.follow_ups
_VERBS = frozenset(map(stem, _FORMS.verbs))
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+(.+)$", re.M)
_ITEM_END = re.compile(r"[:.;,](?:\s|$)|\s[–—-]\s")
MAX_ITEM_WORDS = 8


class Phrase(NamedTuple):
    """A noun phrase of a question, and where it is."""

    text: str
    start: int
    end: int

    @property
    def head(self) -> str:
        return compiled(_FORMS.possessive_ending).sub("", self.text.split()[-1])

    @property
    def is_plural(self) -> bool:
        return bool(compiled(_FORMS.plural_noun).fullmatch(self.head))


def is_verb(word: str) -> bool:
    """Whether a word is usually a verb; "walking" may be a noun."""
    return stem(word.casefold()) in _VERBS and not word.endswith("ing")


def find_phrases(question: str) -> list[Phrase]:
    """Returns the noun phrases of a question: the words between its verbs, prepositions and question words."""
    runs: list[list[re.Match[str]]] = [[]]
    previous, expects_verb = "", False
    for word in re.finditer(r"[^\s,;:?!]+", question.rstrip("?!. ")):
        plain = word[0].casefold()
        if plain in _FORMS.determiners:
            runs.append([word])
        elif previous in _FORMS.before_no_noun or (
            previous not in _FORMS.determiners and _ends_phrase(word, bool(runs[-1]))
        ):
            runs.append([])
            expects_verb = plain in _FORMS.forms_of_do or (
                expects_verb and not is_verb(plain) and previous not in _FORMS.before_no_noun
            )
        else:
            runs[-1].append(word)
        previous = plain
    if expects_verb and len(runs[-1]) > 1:  # "What does the arm weigh": the last word is a verb, even an unknown one
        runs[-1].pop()
    spans = [(run[0].start(), run[-1].end()) for run in runs if any(extract_terms(word[0]) for word in run)]
    found = [Phrase(question[start:end], start, end) for start, end in spans]
    return [phrase for phrase in found if not compiled(_FORMS.participle).match(phrase.text)] or found


def _ends_phrase(word: re.Match[str], in_phrase: bool) -> bool:
    text = word[0] if word.start() else word[0].casefold()
    if text.isupper() and len(text) > 1:
        return False
    is_verb_form = is_verb(text) or (in_phrase and bool(compiled(_FORMS.participle).match(text)))
    return text.casefold() in _FORMS.function_words or (text.islower() and is_verb_form)


def find_topic(question: str) -> str:
    """Returns what a question is about: "a list" of "What is a list?", "the arm" of "How long is the arm?"."""
    text = question.strip(" ?!.")
    if imperative := compiled(_FORMS.imperative).match(text):
        return text[imperative.end() :]
    if deed := compiled(_FORMS.asks_what_it_does).fullmatch(text):
        return deed[1]
    phrases = find_phrases(text)
    if not phrases:
        return text
    if is_definition(text):
        return compiled(_FORMS.definition_tail).sub("", text[phrases[0].start :])
    subject = _find_subject(text, phrases)
    attribute = compiled(_FORMS.of).match(text[subject.end :])
    owner = [each for each in phrases if attribute and each.start == subject.end + attribute.end()]
    return text[subject.start : owner[0].end] if owner else subject.text


def is_definition(question: str) -> bool:
    """Whether a question only asks what or who something is."""
    return compiled(LANGUAGE.questions.asks_what_it_is).match(question) is not None


def _find_subject(text: str, phrases: list[Phrase]) -> Phrase:
    """Returns the phrase after the first verb if that is an auxiliary: "How many joints has a leg"; else the first."""
    words = [word for word in re.finditer(r"\S+", text) if word[0].islower() or not word.start()]
    verb = next((word for word in words if word[0].casefold() in _FORMS.auxiliaries or is_verb(word[0])), None)
    is_inverted = verb is not None and verb[0].casefold() in _FORMS.auxiliaries
    after = [phrase for phrase in phrases if verb and is_inverted and phrase.start >= verb.end()]
    return (after or phrases)[0]


def find_pair(question: str) -> tuple[str, ...]:
    """Returns the two things that a question compares or names together, or nothing."""
    text = question.strip(" ?!.")
    if sides := split_comparison(text):
        return tuple(side.removeprefix(DEFINITION_OPENING).rstrip("?") for side in sides)
    if between := compiled(_FORMS.between).search(text):
        return between[1], between[2]
    phrases = find_phrases(text)
    for one, two in pairwise(phrases):
        if compiled(_FORMS.joined).fullmatch(text[one.end : two.start]):
            return one.text, two.text
    return ()


def find_items(answer: str) -> tuple[str, ...]:
    """Returns the things that an answer lists, as bullet points or after a colon."""
    items = [_ITEM_END.split(item, maxsplit=1)[0] for item in _ITEM.findall(answer)]
    if len(items) < 2 and (listed := compiled(_FORMS.list_after_colon).search(answer)):
        items = compiled(_FORMS.list_separator).split(listed[1])
    return tuple(_name_item(item.strip(" *_`")) for item in items if extract_terms(item))


def _name_item(item: str) -> str:
    """Returns a short item as it is, and the first noun phrase of a sentence."""
    phrase = next(iter(find_phrases(item)), Phrase(item, 0, len(item)))
    following = item[phrase.end :].split()[:1]
    is_sentence = any(word.casefold() in _FORMS.auxiliaries or is_verb(word) for word in following)
    return phrase.text.strip(" *_`") if is_sentence or len(item.split()) > MAX_ITEM_WORDS else item


def make_possessive(phrase: str) -> str:
    """Returns "a gear's" for "a gear"."""
    return f"{phrase}'" if phrase.endswith("s") else f"{phrase}'s"


def replace_attribute(last: str, preposition: str, fragment: str) -> str:
    """Returns the last question with "on Windows" replaced by "on macOS", or with "on macOS" at its end."""
    found = [*re.finditer(rf"\b{preposition}\b", last, re.I)]
    if not found:
        return f"{last} {fragment}"
    rest = re.split(rf"(?=\s(?:{'|'.join(_FORMS.prepositions)})\s)", last[found[-1].end() :], maxsplit=1)
    return f"{last[: found[-1].start()]}{fragment}{''.join(rest[1:])}"


@dataclass(frozen=True, slots=True)
class ConversationState:
    """What a conversation is about after some turns: its last complete question, the topic, and the topic before.

    There is a topic before if the same was asked about both: "What is a list?", "What is a tuple?".
    """

    question: str = ""
    topic: str = ""
    earlier_topic: str = ""
    answer: str = ""

    def follow(self, asked: str, completed: str, answer: str) -> ConversationState:
        """Returns the state after a question and its answer; a turn that names nothing changes nothing."""
        completed, asked = completed.rstrip("?!. "), asked.rstrip("?!. ")
        if not extract_terms(completed):
            return self
        keeps_topic = completed != asked and self.topic in completed
        topic = self.topic if keeps_topic else self._find_continued(completed) or find_topic(completed)
        is_parallel = bool(self.topic) and completed.replace(topic, self.topic).casefold() == self.question.casefold()
        earlier = self.earlier_topic if keeps_topic else self.topic if is_parallel else ""
        return ConversationState(completed, topic, earlier, answer)

    def _find_continued(self, question: str) -> str:
        """Returns the phrase of a question that continues the topic: "multiple inheritance" after "inheritance"."""
        terms = set(extract_terms(self.topic))
        phrases = (phrase.text for phrase in find_phrases(question))
        return next((phrase for phrase in phrases if terms and terms <= set(extract_terms(phrase))), "")

    @property
    def pair(self) -> tuple[str, ...]:
        """The two things that were compared, or asked about one after the other, or nothing."""
        return find_pair(self.question) or ((self.earlier_topic, self.topic) if self.earlier_topic else ())

    @property
    def owner(self) -> str:
        """What "the limits" are the limits of: the topic, or, if that is "the benefits of a list", the list."""
        of = compiled(rf"(.+?){_FORMS.of}(.+)").match(self.topic)
        return of[2] if of and compiled(_FOLLOW_UPS.relational_noun).search(of[1]) else self.topic

    def find_antecedents(self, is_plural: bool) -> list[str]:
        """Returns what a pronoun may mean: the topic and other phrases of the last question, those that agree first."""
        if is_plural and self.pair:
            return [_FOLLOW_UPS.pair.format(*self.pair)]
        agreeing = [phrase.text for phrase in find_phrases(self.question) if phrase.is_plural == is_plural]
        others = [phrase for phrase in agreeing if phrase not in self.topic]
        agrees = any(phrase.is_plural == is_plural for phrase in find_phrases(self.topic)[:1])
        return [self.topic, *others] if agrees else [*others, self.topic]

    def find_item(self, ordinal: str) -> str:
        """Returns what "the second one" means, of the pair or of the things that the last answer lists."""
        place = _FOLLOW_UPS.ordinals[ordinal.casefold()]
        items = self.pair or find_items(self.answer)
        return items[place] if -len(items) <= place < len(items) else ""

    def ask_again(self, question_word: str) -> str:
        """Returns the last question with another question word: "Why?" after "Is it slow?" is "Why is it slow?"."""
        words = self.question.split()
        verb = next((i for i, word in enumerate(words) if word.casefold() in _FORMS.auxiliaries), None)
        if verb is None or is_definition(self.question):
            return _FOLLOW_UPS.asked_too.format(self.question, question_word.casefold())
        return " ".join([question_word, words[verb].casefold(), *words[verb + 1 :]])

    def name_kind(self, text: str) -> str:
        """Returns the text with "a red one" replaced by "a red gear", and "the same one" by "the same worm gear"."""
        phrase, one = next(iter(find_phrases(self.topic)), None), compiled(_FOLLOW_UPS.kind_of_one).search(text)
        if not phrase or not one or one["kind"].casefold() in _FOLLOW_UPS.ordinals:
            return text
        words = [word for word in phrase.text.split() if word.casefold() not in _FORMS.determiners]
        name = " ".join(words) if one["kind"].casefold() == "same" else phrase.head
        return f"{text[: one.start('one')]}{name}{text[one.end() :]}"

    def name_in_full(self, body: str) -> str:
        """Returns the text with "the filter" replaced by "the complementary filter", or nothing."""
        phrase = next(iter(find_phrases(self.topic)), None)
        if not phrase or set(extract_terms(phrase.text)) <= set(extract_terms(body)):
            return ""
        short = re.search(rf"{_FOLLOW_UPS.short_name}{re.escape(phrase.head)}(?![\w-])", body, re.I)
        has_more_words = len(extract_terms(phrase.text)) > 1
        return body[: short.start()] + phrase.text + body[short.end() :] if short and has_more_words else ""
