"""Finds out which form of answer a question asks for, and which single thing it names."""

from __future__ import annotations

import re

from bookbound.domain.understanding import AskedName, Wants
from bookbound.text.sentences import split_sentences
from bookbound.text.tokens import extract_terms

_COMPARES = re.compile(r"\b(?:or|vs|versus|each|both|differ\w*|compare\w*)\b", re.I)
_ASKS_HOW = re.compile(r"\bhow\b(?!\s+(?:many|much|long|often|far|old|big|fast)\b)", re.I)
_ASKS_YES_OR_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have)(?:n['’]t)?\b", re.I
)
# If a question asks for several things, the whole list that contains one of them may be the answer.
_LIST_QUESTIONS = [
    re.compile(pattern, re.I)
    for pattern in (
        r"\b(?:what|which)\s+(?P<things>(?:\S+\s+){0,3}\w*[^\Ws]s)\s+"
        r"(?:are|were|do|does|did|don['’]t|can|can['’]t|could|may|must|should|will|would|have|need|make|exist|belong)\b",
        r"\bhow\s+many\s+(?P<things>.+?)\s+(?:are|were)\s+there\b",
        r"\b(?:what\s+(?:are|were)|list|enumerate|name\s+the|rank|all\s+the)\b(?P<things>.*)",
        r"\b(?P<things>(?:steps|stages|phases|kinds|types|sorts)\b.*)",
    )
]
_ASKS_FOR_CODE = re.compile(r"\b(?:how|show|give|examples?|code|snippet|scripts?|commands?|print|run)\b", re.I)
_NAMES_ONE_THING = re.compile(
    r"(?:(?:what(?:['’]s|\s+is|\s+are|\s+does)?|who\s+(?:is|are)|explain|describe|define|tell\s+me\s+about|"
    r"(?:show|give)(?:\s+me)?|list|i\s+need)\s+)?"
    r"(?P<name>.+?)(?:\s+(?:do|give|return|mean|meaning|definition|explained))?\s*[?.!]*",
    re.I,
)
_ASKS_FOR_THE = re.compile(r"(?:(?:please\s+)?(?:show|give)(?:\s+me)?|list|i\s+need)\s+(?:the|all|an?)\b", re.I)
_ASKS_WHAT_IT_HAS = re.compile(
    r"(?:what|which)\s+(?P<things>(?:\S+\s+)?\S+s)\s+(?:does|do|can)\s+(?P<owner>.+?)\s+(?:have|take|accept|support)\s*[?.!]*",
    re.I,
)
_ASKS_SOMETHING_ELSE = re.compile(r"\b(?:how|why|when|where|which|who|whose)\b", re.I)
_CODE = re.compile(r"`[^`]+`|--?\w[\w-]*|(?=\S*(?:\w[_./:]{1,2}\w|\w\(|[a-z][A-Z]))\S+")
"""A word that is a name in code: an option, a path, a call, a name with a dot, an underscore or inner capitals."""


def find_wants(question: str) -> Wants:
    """Returns which form of answer a question asks for."""
    listed = next((found for pattern in _LIST_QUESTIONS if (found := pattern.search(question))), None)
    return Wants(
        list_terms=frozenset(extract_terms(listed["things"])) if listed else frozenset(),
        code=bool(_ASKS_FOR_CODE.search(question)),
        steps=bool(_ASKS_HOW.search(question)),
        yes_or_no=bool(_ASKS_YES_OR_NO.match(question)),
        comparison=bool(_COMPARES.search(question)),
    )


def find_asked_name(question: str) -> AskedName | None:
    """Returns the name of the only thing that a question asks about, or None if it asks for more than that.

    "What options does start have?" asks for the list of the options of start.
    """
    asked = _find_request(" ".join(question.split()))
    owned = _ASKS_WHAT_IT_HAS.fullmatch(asked)
    found = _NAMES_ONE_THING.fullmatch(f"{owned['things']} {owned['owner']}" if owned else asked)
    name = found["name"] if found else ""
    if not (terms := frozenset(extract_terms(name))) or _ASKS_SOMETHING_ELSE.search(name):
        return None
    is_code = not owned and bool(_CODE.fullmatch(name))
    return AskedName(name.strip("`") if is_code else name, terms, is_code, name == asked, bool(owned))


def _find_request(question: str) -> str:
    """Returns the sentence that requests something by its name after the reason for it, or the whole question."""
    sentences = [question[unit.start : unit.end] for unit in split_sentences(question)]
    return next((each for each in sentences if _ASKS_FOR_THE.match(each)), question)
