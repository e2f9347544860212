"""Splits a question that asks several things, or compares two, into its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bookbound.languages import LANGUAGE, compiled
from bookbound.text import extract_terms, split_sentences

MAX_PARTS = 5
MIN_PART_WORDS = 4
"""A shorter part needs two terms, unless it asks what something is: "and why?" is not a question by itself."""
MAX_COMPARISON_CHARACTERS = 200
MAX_SIDE_WORDS = 6
_FORMS = LANGUAGE.questions
DEFINITION_OPENING = _FORMS.definition.partition("{}")[0]
_INNER_STOP = re.compile(r"[.!?…。！？].")
_END_OF_LEAD = re.compile(r"[:,–—]\s+|\s-\s+")


def split_question(question: str) -> tuple[tuple[str, ...], int]:
    """Returns the parts of a question, each understandable alone, and how many more it has.

    It is one part unless it clearly asks several things. Of too many, it returns the first: one fewer than an answer
    has room for, because a sentence says what is left out.
    """
    whole = " ".join(question.split())
    found = tuple(dict.fromkeys(split_comparison(whole) or _split_into_questions(whole)))
    read = found[: MAX_PARTS - 1] if len(found) > MAX_PARTS else found
    return (read, len(found) - len(read)) if len(read) > 1 else ((question,), 0)


def _split_into_questions(question: str) -> list[str]:
    """Returns each question after the statements before it; a question with a pronoun gets the subject of the first."""
    statements: list[str] = []
    questions: list[str] = []
    subject = ""
    has_conjunction = compiled(_FORMS.conjunction).search(question)
    if not has_conjunction and not _INNER_STOP.search(question):
        return []
    found = split_sentences(question)
    if len(found) == 1 and not has_conjunction:
        return []
    for _, start, end in found:
        words = question[start:end]
        lead, clauses = _split_sentence(words) if words.endswith("?") or end == len(question) else ("", [])
        if not clauses:
            statements.append(words)
        for clause in clauses:
            refers = not statements and compiled(_FORMS.refers_to_earlier_part).search(clause)
            about = f"{subject}: " if subject and refers else ""
            clause = clause[0].upper() + clause[1:] if statements and not lead else clause
            questions.append(" ".join([*statements, f"{lead}{about}{clause}".rstrip("?., ") + "?"]))
            subject = subject or _name_subject(clause)
    return questions


def _name_subject(clause: str) -> str:
    """Returns the words that name what a question is about: "node version need" of "which node version do I need"."""
    rest = compiled(_FORMS.opening).sub("", clause)
    return compiled(_FORMS.inner_auxiliary).sub("", rest, count=1).strip(" ?")


def _split_sentence(sentence: str) -> tuple[str, list[str]]:
    """Returns the questions of a sentence, and what leads to all of them: "For the arm: which …, and how …"."""
    starts = [0, *(stop.end() for stop in _END_OF_LEAD.finditer(sentence))]
    start = next((at for at in starts if _matches_any_at(_FORMS.whole_questions, sentence, at)), None)
    if start is None:
        return "", []
    clauses, begin = [], start
    for joint in _find_conjunctions(sentence, start):
        clause = sentence[begin : joint.start()]
        # Without a comma and a verb, the first shares the verb of the next: "which A and which B do I need".
        marked = joint["mark"] or joint["bare"]
        if _matches_any_at(_FORMS.whole_questions, clause, 0) and (marked or compiled(_FORMS.has_verb).search(clause)):
            clauses.append(clause)
            begin = joint.end()
    clauses.append(sentence[begin:])
    if all(map(_asks_something, clauses)):
        return sentence[:start], clauses
    return (sentence[:start], [sentence[start:]]) if any(map(_asks_something, clauses)) else ("", [])


def _find_conjunctions(sentence: str, start: int) -> Iterator[re.Match[str]]:
    """Yields the conjunctions between two questions of a sentence."""
    while joint := compiled(_FORMS.conjunction).search(sentence, start):
        after_mark = _FORMS.after_comma_and_conjunction if joint["mark"] else _FORMS.after_conjunction
        if _matches_any_at(_FORMS.after_comma if joint["bare"] else after_mark, sentence, joint.end()):
            yield joint
            start = joint.end()
        else:
            start = joint.start() + 1


def _matches_any_at(patterns: tuple[str, ...], text: str, at: int) -> bool:
    return any(compiled(pattern).match(text, at) for pattern in patterns)


def _asks_something(clause: str) -> bool:
    definition = compiled(rf"{_FORMS.asks_what_it_is}\s+(?!{_FORMS.names_nothing_new})\S")
    is_long = len(clause.split()) >= MIN_PART_WORDS or definition.match(clause)
    return len(set(extract_terms(clause))) >= (1 if is_long else 2)


def split_comparison(question: str) -> list[str]:
    """Returns one question for each side if a question only compares two things, else nothing."""
    if len(question) > MAX_COMPARISON_CHARACTERS or not compiled(_FORMS.may_compare).search(question):
        return []
    if found := compiled(_FORMS.compares_after_lead).fullmatch(question):
        return _ask_about_each(found, found["lead"], "")
    if found := compiled(_FORMS.asks_about_both).fullmatch(question):
        return _ask_about_each(found, "", found["asked"])
    matches = (compiled(pattern).fullmatch(question) for pattern in _FORMS.comparisons)
    named = next((found for found in matches if found), None)
    return _ask_about_each(named, DEFINITION_OPENING, named["tail"] or "") if named else []


def _ask_about_each(found: re.Match[str], before: str, after: str) -> list[str]:
    one, other = found["a"].split(), found["b"].split()
    # In "static and dynamic typing" or "the cost of A and B" some words belong to both sides.
    first, second = ([word for word in side if word.casefold() not in _FORMS.articles] for side in (one, other))
    shared_end = len(first) == 1 < len(second) and first[0].isalpha() and first[0].islower() and second[0].islower()
    shared_start = compiled(LANGUAGE.phrases.of).search(found["a"]) and not compiled(LANGUAGE.phrases.of).search(
        found["b"]
    )
    if shared_end or shared_start or max(len(one), len(other)) > MAX_SIDE_WORDS or _FORMS.versus & {*one, *other}:
        return []
    return [f"{before}{' '.join(side)}{after}?" for side in (one, other)]
