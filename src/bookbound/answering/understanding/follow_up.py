"""Completes a follow-up question from the earlier turns of a conversation."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from bookbound.answering.understanding.topics import (
    ConversationState,
    find_pair,
    find_phrases,
    is_definition,
    is_verb,
    make_possessive,
    replace_attribute,
)
from bookbound.domain.question import MAX_QUESTION_CHARS, MAX_TURNS, AnswerScope, Question, Turn
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import asks_about_whole_text, extract_terms, stem

MAX_COMPLETIONS = 4
PREFERENCE = 0.4
"""How much less probable the first completion may be than another one and still be taken."""
MAX_OWN_TERMS = 2
"""A question after "and" with more terms than this is complete."""
MAX_SHORT_TERMS = 3
"""A question with more terms that does not point back is complete."""
MAX_LABEL_WORDS = 3
MAX_LABEL_CHARS = 60
_FORMS = LANGUAGE.follow_ups
_PHRASES = LANGUAGE.phrases
_REQUEST_TERMS = frozenset(map(stem, _FORMS.request_words))
_QUESTION_END = re.compile(r"(?<=\?)\s+")
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’)\]]*$")


class Completion(NamedTuple):
    """A follow-up as a complete question; if it replaces a phrase of the last question, both phrases."""

    text: str
    replaced: str = ""
    replacement: str = ""


async def complete_follow_up(
    question: Question,
    compare: Callable[[str, str], Awaitable[float]],
    estimate: Callable[[str], Awaitable[float]],
) -> str:
    """Returns a follow-up as a complete question, or an empty text if it is complete already.

    If there are several completions, it takes the one that replaces the most similar phrase, or else the first one,
    unless the book clearly answers another one better. `compare` returns the similarity of two phrases, `estimate` how
    probable it is that the book answers.
    """
    if question.selection and asks_about_whole_text(question.text):
        return ""
    proposed = propose_completions(question.text, question.conversation)
    found = [each for each in proposed if len(each.text) <= MAX_QUESTION_CHARS][:MAX_COMPLETIONS]
    values = [0.0] * len(found)
    if len(found) > 1 and all(each.replaced for each in found):
        values = [await compare(old, new) for _, old, new in found]
    elif len(found) > 1:
        values = [await estimate(each.text) for each in found]
        values[0] += PREFERENCE
    chosen = found[values.index(max(values))].text if found else question.text
    return "" if chosen == question.text else chosen


def may_need_conversation(question: Question) -> bool:
    """Whether a question may be a follow-up: its words point back, or it has few words of its own."""
    if not question.conversation or not _strip_lead(question.text):
        return False
    is_short = len(extract_terms(question.text)) <= MAX_SHORT_TERMS
    return is_short or bool(propose_completions(question.text, question.conversation))


def propose_completions(question: str, conversation: Sequence[Turn]) -> list[Completion]:
    """Returns completions of a question from the earlier turns, the likeliest first; none if it is complete."""
    state = ConversationState()
    turns = [(asked, turn.answer) for turn in conversation for asked in _QUESTION_END.split(turn.question)]
    for asked, answer in turns:
        if not _strip_lead(asked):
            continue  # "Thanks!"
        completed = next((each.text for each in _complete(asked, state)), asked)
        state = state.follow(asked, completed, answer)
    return _complete(question, state)


def _strip_lead(question: str) -> str:
    """Returns the question without "and", "ok, but" and the like before it and the marks after it."""
    text = " ".join(question.split()).rstrip("?!. ")
    lead = compiled(_FORMS.lead).match(text)
    return text[lead.end() :] if lead else text


def _complete(question: str, state: ConversationState) -> list[Completion]:
    body = _strip_lead(question)
    after_and = not " ".join(question.split()).startswith(body)
    about = compiled(_FORMS.what_about).match(body)
    body = body[about.end() :] if about else body
    if not body or not state.question or compiled(_FORMS.about_the_text).search(question):
        return []
    if about or _is_fragment(body, after_and, is_question="?" in question):
        found = _complete_fragment(body, state)
    else:
        found = [Completion(each) for each in _complete_question(body, state, after_and)]
    return [each._replace(text=question if each.text == body else _write_question(each.text)) for each in found]


def _is_fragment(body: str, after_and: bool, is_question: bool) -> bool:
    """Whether a text asks nothing by itself: "on macOS", "the second one", and after "and" also "a tuple"."""
    words = [word.casefold() for word in body.split()]
    if words[0] in _PHRASES.question_words | _PHRASES.auxiliaries or compiled(_FORMS.request).match(body):
        return False
    is_attribute = words[0] in _PHRASES.prepositions and _PHRASES.question_words.isdisjoint(words)
    may_be_keyword = words[0] in _FORMS.keyword_prepositions and not is_question
    return after_and or bool(compiled(_FORMS.ordinal_phrase).fullmatch(body)) or (is_attribute and not may_be_keyword)


def _complete_question(body: str, state: ConversationState, after_and: bool) -> list[str]:
    if bare := compiled(_FORMS.bare_question).fullmatch(body):
        return [state.ask_again(bare[1])]
    asks_nothing_new = compiled(_FORMS.request).match(body) and set(extract_terms(body)) <= _REQUEST_TERMS
    if asks_nothing_new and not compiled(_FORMS.pronoun).search(body):
        return [_append_owner(body, state)]
    if replaced := _replace_pronoun(body, state):
        return replaced
    if (named := state.name_kind(body)) != body:
        return [named]
    if (which := compiled(_FORMS.which).match(body)) and (which["one"] or state.pair) and not find_pair(body):
        return [_FORMS.of_owner.format(which[0], state.find_antecedents(is_plural=True)[0]) + body[which.end() :]]
    if compiled(_FORMS.relational_noun).search(body):
        return [_append_owner(body, state)]
    if named := state.name_in_full(body):
        return [named]
    if after_and and not is_definition(body) and len(extract_terms(body)) <= MAX_OWN_TERMS:
        return [body, _FORMS.for_owner.format(body, state.owner)]
    return []


def _append_owner(body: str, state: ConversationState) -> str:
    """Adds what a request or a noun refers to: "Give me an example of a list", "What is the difference between …"."""
    if compiled(_FORMS.request_of_pair).search(body) and state.pair:
        return _FORMS.between_pair.format(body, _FORMS.pair.format(*state.pair))
    if compiled(_FORMS.request_of_topic).search(body):
        return f"{body} {state.topic}"
    if compiled(_FORMS.request_about_topic).search(body):
        return _FORMS.about_topic.format(body, state.topic)
    return _FORMS.of_owner.format(body, state.owner)


def _replace_pronoun(body: str, state: ConversationState) -> list[str]:
    """Returns the text with its first pronoun or ordinal replaced, or nothing if none points to an earlier turn."""
    if (ordinal := compiled(_FORMS.ordinal_phrase).search(body)) and (item := state.find_item(ordinal["ordinal"])):
        return [body[: ordinal.start()] + item + body[ordinal.end() :]]
    if compiled(_FORMS.expletive).search(body):
        return []
    if possessive := compiled(_FORMS.possessive).search(body):
        before, after = body[: possessive.start()], body[possessive.end() :]
        owners = state.find_antecedents(is_plural=possessive[0].casefold() == _FORMS.plural_possessive)
        return [] if find_phrases(before) else [f"{before}{make_possessive(each)}{after}" for each in owners]
    pronoun = compiled(_FORMS.pronoun).search(body)
    if not pronoun or _has_own_antecedent(body[: pronoun.start()]):
        return []
    start, end = pronoun.span(pronoun.lastgroup or 0)
    return [body[:start] + each + body[end:] for each in state.find_antecedents(is_plural=bool(pronoun["plural"]))]


def _has_own_antecedent(before: str) -> bool:
    """Whether an earlier clause of the question names what its pronoun means: "How do I write a list and sort it"."""
    ends = [end.start() for end in compiled(_FORMS.clause_end).finditer(before)]
    return bool(ends and find_phrases(before[: ends[-1]]))


def _complete_fragment(fragment: str, state: ConversationState) -> list[Completion]:
    last = state.question
    if ordinal := compiled(_FORMS.ordinal_phrase).fullmatch(fragment):
        if earlier := compiled(_FORMS.ordinal).search(last):
            return [Completion(last[: earlier.start()] + ordinal["ordinal"] + last[earlier.end() :])]
        item = state.find_item(ordinal["ordinal"])
        return [Completion(_define(item))] if item else []
    fragment = state.name_kind(fragment)
    whole = next(iter(_replace_pronoun(fragment, state)), fragment)
    first = fragment.split()[0].casefold()
    if whole != fragment and compiled(_FORMS.possessive).search(fragment):
        return [Completion(_define(whole))]
    if first in _FORMS.conditions:
        return [Completion(_FORMS.happens_if.format(whole))]
    if first in _PHRASES.prepositions:
        return [Completion(replace_attribute(last, first, whole))]
    opening = compiled(_FORMS.subject).match(last)
    if is_verb(first) and whole != fragment and opening:
        return [Completion(opening[0] + whole)]
    return _replace_phrase(last, whole)


def _replace_phrase(last: str, fragment: str) -> list[Completion]:
    """Returns the last question with one of its noun phrases replaced: that with the same noun, or each of them."""
    phrases, head = find_phrases(last), fragment.split()[-1].casefold()
    alike = [phrase for phrase in phrases if phrase.head.casefold() == head]
    alike = alike or [phrase for phrase in phrases if head.endswith("ing") and phrase.head.endswith("ing")]
    return [
        Completion(last[: each.start] + fragment + last[each.end :], each.text, fragment) for each in alike or phrases
    ]


def _define(name: str) -> str:
    """Returns the question what something is, without its mark."""
    return LANGUAGE.questions.definition.format(name).rstrip("?")


def _write_question(text: str) -> str:
    is_request = compiled(_FORMS.request).match(text) and text.split()[0].casefold() not in _PHRASES.auxiliaries
    return text[0].upper() + text[1:] + ("" if is_request else "?")


def _is_label(selection: str) -> bool:
    """Returns whether a selection only names something: a few words that are no sentence."""
    has_few_words = len(selection.split()) <= MAX_LABEL_WORDS and len(selection) <= MAX_LABEL_CHARS
    return has_few_words and not _SENTENCE_END.search(selection)


def can_answer_alone(question: str, selection: str) -> bool:
    """Returns whether a selection may answer without the book: a label only if it adds to words of the question."""
    asked, said = set(extract_terms(question)), set(extract_terms(selection))
    return not _is_label(selection) or bool(asked & said and said - asked)


def ask_after_label(question: Question) -> Question:
    """Returns a question about a selected label as a follow-up to "What is the label?", if the book may answer."""
    label = question.selection or ""
    if question.scope is not AnswerScope.SELECTION_THEN_BOOK or not _is_label(label):
        return question
    turns = (*question.conversation, Turn(LANGUAGE.questions.definition.format(label)))[-MAX_TURNS:]
    return replace(question, selection=None, conversation=turns)
