"""Splits a question that asks several things, or compares two, into its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from bookbound.answering.understanding.comparison import split_comparison
from bookbound.text.sentences import split_sentences
from bookbound.text.tokens import extract_terms

MAX_PARTS, MIN_PART_WORDS = 5, 4
"""A shorter part needs two terms, unless it asks what something is: "and why?" is not a question by itself."""
_AUXILIARY_VERB = (
    r"(?:(?:is|are|was|were|does|do|did|can|could|may|might|must|should|will|would|has|have|had)(?:n['’]t)?"
    r"|can(?:no|['’])t|won['’]t)"
)
_SUBJECT_WORD = (
    r"(?:i|you|we|they|it|he|she|one|there|this|that|these|those|the|an?|my|our|your|his|her|its|their|each|every|any|"
    r"all|both|some|another)"
)
_PREPOSITION = r"(?:of|in|on|at|to|for|from|with|by|about|into|under|over|after|before|during|through|against|between)"
_WORD = r"[^\s,;?]+"
# "what does …", "how long may …", "on which page is …": the verb before the subject marks a question.
_INVERTED = rf"""(?:
    (?:what|who|where|when|why|how)(?:\s+{_AUXILIARY_VERB}|['’]s)\b
  | how\s+(?!{_SUBJECT_WORD}\b)(?:{_WORD}\s+){{1,5}}?{_AUXILIARY_VERB}\b
  | (?:{_PREPOSITION}\s+)?(?:what|which|whose|whom)\s+
    (?!(?!one\b){_SUBJECT_WORD}\b)(?:{_WORD}\s+){{1,5}}?{_AUXILIARY_VERB}\b
)"""
# "which flag turns it off", "who wrote it": the question word is the subject, so word order does not help.
_SUBJECT_QUESTION = rf"""(?:
    (?:what|which|whose)\s+(?!(?!one\b)(?:{_SUBJECT_WORD}|{_PREPOSITION}|{_AUXILIARY_VERB})\b){_WORD}(?:\s+{_WORD}){{2}}
  | (?:what|who)\s+(?!(?:{_SUBJECT_WORD}|{_PREPOSITION}|{_AUXILIARY_VERB})\b){_WORD}\s+{_WORD}
)"""
_YES_OR_NO = rf"{_AUXILIARY_VERB}\s+{_SUBJECT_WORD}\b"
_FIRST_QUESTION = (_INVERTED, _SUBJECT_QUESTION, rf"(?:which\s+)?{_AUXILIARY_VERB}\s+{_WORD}")
_QUESTION_AFTER_AND = (_INVERTED, _SUBJECT_QUESTION, _YES_OR_NO)
_QUESTION_AFTER_COMMA_AND = (*_QUESTION_AFTER_AND, rf"which\s+{_AUXILIARY_VERB}\b")
_HAS_VERB = rf"\b{_AUXILIARY_VERB}\b|['’]s\b"
_CONJUNCTION = re.compile(
    r"(?P<mark>\s*[,;])?\s+(?:and|but|plus)\s+(?:also\s+|then\s+)?|(?P<bare>\s*[,;])\s+",
    re.I,
)
_INNER_STOP = re.compile(r"[.!?…。！？].")
_END_OF_LEAD = r"[:,–—]\s+|\s-\s+"
_ANAPHOR = (
    r"\b(?:it|its|they|them|their|theirs|(?<!which\s)ones?|each|both|either|neither|same|mine|yours|he|him|his|she|her)\b"
    r"|\b(?:this|these|those|(?:is|was|does|can|of|for|to|by|like|with|after|before)\s+that)\b"
)
_QUESTION_OPENING = (
    rf"^(?:{_PREPOSITION}\s+)?(?:(?:what|who|where|when|why|how|which|whose|whom)\b(?:['’]s\b)?\s*)?"
    rf"(?:(?:many|much|long|often|far|fast|big|large|tall|high|old|hard|soon|well)\b\s*)?(?:{_AUXILIARY_VERB}\b\s*)?"
    r"(?:(?:i|you|we|one)\b\s*)?"
)
_INNER_AUXILIARY = r"(?<=\w)\s+(?:do|does|did|can|should)(?:\s+(?:i|you|we|one))?\b"
_ASKS_WHAT_IT_IS = r"(?:what|who)(?:\s+(?:is|are|was|were)|['’]s)\s+(?!(?:wrong|missing|new|next|the)\b)\S"


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern when it is first needed, because most questions need none."""
    return re.compile(pattern, re.I | re.X)


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
    has_conjunction = _CONJUNCTION.search(question)
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
            about = f"{subject}: " if subject and not statements and _compile_pattern(_ANAPHOR).search(clause) else ""
            clause = clause[0].upper() + clause[1:] if statements and not lead else clause
            questions.append(" ".join([*statements, f"{lead}{about}{clause}".rstrip("?., ") + "?"]))
            subject = subject or _name_subject(clause)
    return questions


def _name_subject(clause: str) -> str:
    """Returns the words that name what a question is about: "node version need" of "which node version do I need"."""
    rest = _compile_pattern(_QUESTION_OPENING).sub("", clause)
    return _compile_pattern(_INNER_AUXILIARY).sub("", rest, count=1).strip(" ?")


def _split_sentence(sentence: str) -> tuple[str, list[str]]:
    """Returns the questions of a sentence, and what leads to all of them: "For the arm: which …, and how …"."""
    starts = [0, *(stop.end() for stop in _compile_pattern(_END_OF_LEAD).finditer(sentence))]
    start = next((at for at in starts if _matches_any_at(_FIRST_QUESTION, sentence, at)), None)
    if start is None:
        return "", []
    clauses, begin = [], start
    for joint in _find_conjunctions(sentence, start):
        clause = sentence[begin : joint.start()]
        # Without a comma and a verb, the first shares the verb of the next: "which A and which B do I need".
        marked = joint["mark"] or joint["bare"]
        if _matches_any_at(_FIRST_QUESTION, clause, 0) and (marked or _compile_pattern(_HAS_VERB).search(clause)):
            clauses.append(clause)
            begin = joint.end()
    clauses.append(sentence[begin:])
    if all(map(_asks_something, clauses)):
        return sentence[:start], clauses
    return (sentence[:start], [sentence[start:]]) if any(map(_asks_something, clauses)) else ("", [])


def _find_conjunctions(sentence: str, start: int) -> Iterator[re.Match[str]]:
    """Yields the conjunctions between two questions of a sentence."""
    while joint := _CONJUNCTION.search(sentence, start):
        question = (
            (_INVERTED,) if joint["bare"] else _QUESTION_AFTER_COMMA_AND if joint["mark"] else _QUESTION_AFTER_AND
        )
        if _matches_any_at(question, sentence, joint.end()):
            yield joint
            start = joint.end()
        else:
            start = joint.start() + 1


def _matches_any_at(patterns: tuple[str, ...], text: str, at: int) -> bool:
    return any(_compile_pattern(pattern).match(text, at) for pattern in patterns)


def _asks_something(clause: str) -> bool:
    is_long = len(clause.split()) >= MIN_PART_WORDS or _compile_pattern(_ASKS_WHAT_IT_IS).match(clause)
    return len(set(extract_terms(clause))) >= (1 if is_long else 2)
