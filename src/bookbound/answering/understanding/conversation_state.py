"""Keeps what a conversation is about, and finds what a follow-up may refer to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bookbound.answering.understanding.question_topic import (
    find_items,
    find_pair,
    find_phrases,
    find_topic,
    is_definition,
)
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import extract_terms

_FORMS = LANGUAGE.follow_ups


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
        of = compiled(rf"(.+?){LANGUAGE.phrases.of}(.+)").match(self.topic)
        return of[2] if of and compiled(_FORMS.relational_noun).search(of[1]) else self.topic

    def find_antecedents(self, is_plural: bool) -> list[str]:
        """Returns what a pronoun may mean: the topic and other phrases of the last question, those that agree first."""
        if is_plural and self.pair:
            return [" and ".join(self.pair)]
        agreeing = [phrase.text for phrase in find_phrases(self.question) if phrase.is_plural == is_plural]
        others = [phrase for phrase in agreeing if phrase not in self.topic]
        agrees = any(phrase.is_plural == is_plural for phrase in find_phrases(self.topic)[:1])
        return [self.topic, *others] if agrees else [*others, self.topic]

    def find_item(self, ordinal: str) -> str:
        """Returns what "the second one" means, of the pair or of the things that the last answer lists."""
        place = _FORMS.ordinals[ordinal.casefold()]
        items = self.pair or find_items(self.answer)
        return items[place] if -len(items) <= place < len(items) else ""

    def ask_again(self, question_word: str) -> str:
        """Returns the last question with another question word: "Why?" after "Is it slow?" is "Why is it slow?"."""
        words = self.question.split()
        verb = next((i for i, word in enumerate(words) if word.casefold() in LANGUAGE.phrases.auxiliaries), None)
        if verb is None or is_definition(self.question):
            return f"{self.question}, and {question_word.casefold()}"
        return " ".join([question_word, words[verb].casefold(), *words[verb + 1 :]])

    def name_kind(self, text: str) -> str:
        """Returns the text with "a red one" replaced by "a red gear", and "the same one" by "the same worm gear"."""
        phrase, one = next(iter(find_phrases(self.topic)), None), compiled(_FORMS.kind_of_one).search(text)
        if not phrase or not one or one["kind"].casefold() in _FORMS.ordinals:
            return text
        words = [word for word in phrase.text.split() if word.casefold() not in LANGUAGE.phrases.determiners]
        name = " ".join(words) if one["kind"].casefold() == "same" else phrase.head
        return f"{text[: one.start('one')]}{name}{text[one.end() :]}"

    def name_in_full(self, body: str) -> str:
        """Returns the text with "the filter" replaced by "the complementary filter", or nothing."""
        phrase = next(iter(find_phrases(self.topic)), None)
        if not phrase or set(extract_terms(phrase.text)) <= set(extract_terms(body)):
            return ""
        short = re.search(rf"{_FORMS.short_name}{re.escape(phrase.head)}(?![\w-])", body, re.I)
        has_more_words = len(extract_terms(phrase.text)) > 1
        return body[: short.start()] + phrase.text + body[short.end() :] if short and has_more_words else ""
