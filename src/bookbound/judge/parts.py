"""What a question asks for: one thing nearly always, sometimes several, or two sides to compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from bookbound.judge.sides import sides
from bookbound.sentences import sentences
from bookbound.words import terms

MOST, FEWEST_WORDS = 5, 4
"""The most parts, and the words that a part of one meaning has at least: "and why?" asks for nothing of its own."""

_VERB = (
    r"(?:(?:is|are|was|were|does|do|did|can|could|may|might|must|should|will|would|has|have|had)(?:n['’]t)?"
    r"|can(?:no|['’])t|won['’]t)"
)
_SUBJECT = (
    r"(?:i|you|we|they|it|he|she|one|there|this|that|these|those|the|an?|my|our|your|his|her|its|their|each|every|any|"
    r"all|both|some|another)"
)
_NEAR = r"(?:of|in|on|at|to|for|from|with|by|about|into|under|over|after|before|during|through|against|between)"
_WORD = r"[^\s,;?]+"
# "what does …", "how long may …", "on which page is …": the verb before its subject tells a question from a clause.
_INVERTED = rf"""(?:
    (?:what|who|where|when|why|how)(?:\s+{_VERB}|['’]s)\b
  | how\s+(?!{_SUBJECT}\b)(?:{_WORD}\s+){{1,5}}?{_VERB}\b
  | (?:{_NEAR}\s+)?(?:what|which|whose|whom)\s+(?!(?!one\b){_SUBJECT}\b)(?:{_WORD}\s+){{1,5}}?{_VERB}\b
)"""
# "which flag turns it off", "who wrote it": what is asked for is the subject, so the order of words tells nothing.
_PLAIN = rf"""(?:
    (?:what|which|whose)\s+(?!(?!one\b)(?:{_SUBJECT}|{_NEAR}|{_VERB})\b){_WORD}(?:\s+{_WORD}){{2}}
  | (?:what|who)\s+(?!(?:{_SUBJECT}|{_NEAR}|{_VERB})\b){_WORD}\s+{_WORD}
)"""
_YES_OR_NO = rf"{_VERB}\s+{_SUBJECT}\b"
_OPENS = (_INVERTED, _PLAIN, rf"(?:which\s+)?{_VERB}\s+{_WORD}")
_FOLLOWS_AND = (_INVERTED, _PLAIN, _YES_OR_NO)
_FOLLOWS_MARK_AND = (*_FOLLOWS_AND, rf"which\s+{_VERB}\b")
_VERBAL = rf"\b{_VERB}\b|['’]s\b"
_JOINT = re.compile(
    r"(?P<mark>\s*[,;])?\s+(?:and|but|plus)\s+(?:also\s+|then\s+)?|(?P<bare>\s*[,;])\s+",
    re.I,
)
_LEAD_ENDS = r"[:,–—]\s+|\s-\s+"
_POINTS_BACK = (
    r"\b(?:it|its|they|them|their|theirs|(?<!which\s)ones?|each|both|either|neither|same|he|him|his|she|her)\b"
    r"|\b(?:this|these|those|(?:is|was|does|can|of|for|to|by|like|with|after|before)\s+that)\b"
)
_ASKING = (
    rf"^(?:{_NEAR}\s+)?(?:(?:what|who|where|when|why|how|which|whose|whom)\b(?:['’]s\b)?\s*)?"
    rf"(?:(?:many|much|long|often|far|fast|big|large|tall|high|old|hard|soon|well)\b\s*)?(?:{_VERB}\b\s*)?"
    r"(?:(?:i|you|we|one)\b\s*)?"
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first needed: most questions have one sentence without a joint and need none."""
    return re.compile(pattern, re.I | re.X)


def parts(question: str) -> tuple[str, ...]:
    """The things a question asks for, each to be understood by itself; one, unless it plainly asks for several."""
    whole = " ".join(question.split())
    found = tuple(dict.fromkeys(sides(whole) or _asked(whole)))
    return found if 2 <= len(found) <= MOST else (question,)


def _asked(question: str) -> list[str]:
    """Each thing asked for behind what was told before it; one that points back, behind what the first was about."""
    told: list[str] = []
    asked: list[str] = []
    subject = ""
    found = sentences(question)
    if len(found) == 1 and not _JOINT.search(question):
        return []
    for _, start, end in found:
        words = question[start:end]
        lead, clauses = _clauses(words) if words.endswith("?") or end == len(question) else ("", [])
        if not clauses:
            told.append(words)
        for clause in clauses:
            about = f"{subject}: " if subject and not told and _compiled(_POINTS_BACK).search(clause) else ""
            clause = clause[0].upper() + clause[1:] if told and not lead else clause
            asked.append(" ".join([*told, f"{lead}{about}{clause}".rstrip("?., ") + "?"]))
            subject = subject or _compiled(_ASKING).sub("", clause).strip(" ?")
    return asked


def _clauses(sentence: str) -> tuple[str, list[str]]:
    """The questions of a sentence, and what leads to them all: "For the arm: which …, and how …"."""
    starts = [0, *(stop.end() for stop in _compiled(_LEAD_ENDS).finditer(sentence))]
    start = next((at for at in starts if _begins(_OPENS, sentence, at)), None)
    if start is None:
        return "", []
    clauses, begin = [], start
    for joint in _joints(sentence, start):
        clause = sentence[begin : joint.start()]
        # Without a comma and a verb of its own, the first shares the verb of the next: "which A and which B do I need".
        marked = joint["mark"] or joint["bare"]
        if _begins(_OPENS, clause, 0) and (marked or _compiled(_VERBAL).search(clause)):
            clauses.append(clause)
            begin = joint.end()
    clauses.append(sentence[begin:])
    if all(map(_stands, clauses)):
        return sentence[:start], clauses
    return (sentence[:start], [sentence[start:]]) if any(map(_stands, clauses)) else ("", [])


def _joints(sentence: str, start: int) -> Iterator[re.Match[str]]:
    """What stands between two questions of a sentence."""
    while joint := _JOINT.search(sentence, start):
        question = (_INVERTED,) if joint["bare"] else _FOLLOWS_MARK_AND if joint["mark"] else _FOLLOWS_AND
        if _begins(question, sentence, joint.end()):
            yield joint
            start = joint.end()
        else:
            start = joint.start() + 1


def _begins(patterns: tuple[str, ...], text: str, at: int) -> bool:
    return any(_compiled(pattern).match(text, at) for pattern in patterns)


def _stands(clause: str) -> bool:
    """Whether a question asks for something of its own."""
    return len(set(terms(clause))) >= (1 if len(clause.split()) >= FEWEST_WORDS else 2)
