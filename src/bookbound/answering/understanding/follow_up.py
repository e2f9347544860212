"""Completes a follow-up question from the earlier turns of a conversation."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from bookbound.answering.understanding.conversation_state import ORDINALS, RELATIONAL_NOUN, ConversationState
from bookbound.answering.understanding.question_topic import (
    AUXILIARY_VERBS,
    PREPOSITIONS,
    QUESTION_WORDS,
    find_pair,
    find_phrases,
    has_determiner,
    is_definition,
    is_verb,
    make_possessive,
    replace_attribute,
)
from bookbound.domain.question import MAX_QUESTION_CHARS, Question, Turn
from bookbound.text.tokens import asks_about_whole_text, extract_terms, stem

MAX_COMPLETIONS = 4
PREFERENCE = 0.4
"""How much less probable the first completion may be than another one and still be taken."""
SAME_FORM_BONUS = 0.1
"""How much more alike two phrases are if both begin with a word like "the", or neither does."""
MAX_OWN_TERMS = 2
"""A question after "and" with more terms than this is complete."""
_LEAD = re.compile(
    r"(?:(?:ok(?:ay)?|hi|hello|thanks?(?:\s+you)?|great|nice|i\s+see|h+m+|well|and|but|so|also|then|or|now)\b[\s,.!:;…–-]*)+",
    re.I,
)
_QUESTION_END = re.compile(r"(?<=\?)\s+")
_WHAT_ABOUT = re.compile(r"(?:what|how)\s+about\s+", re.I)
_BARE_QUESTION = re.compile(
    r"((?:since\s+)?when|where|who|why(?:\s+not)?|how(?:\s+(?:come|so|often|long|much|many|exactly))?|what\s+for|in\s+(?:which|what)\s+\w+)"
    r"(?:\s+(?:is|was)\s+(?:that|this|it)(?:\s+so)?|\s+(?:so|exactly|then|though)"
    r"|\s+(?:do|does|would|should|can|could|must)\s+(?:i|you|we|one)(?:\s+do\s+(?:that|this|it|so))?)?",
    re.I,
)
_REQUEST = re.compile(
    r"(?:please\s+)?(?:(?:can|could|would|will)\s+you\s+|i\s+(?:want|need|would\s+like)\s+)?(?:please\s+)?"
    r"(?:(?:give|show|tell|explain|elaborate|describe|go)\b|(?:an?\s+|another\s+|more\s+|some\s+)?(?:examples?|details?)\b|"
    r"for\s+(?:example|instance)|more\b|anything\s+else|what\s+else)",
    re.I,
)
_REQUEST_TERMS = frozenset(
    map(
        stem,
        "give show tell explain elaborate describe example detail another instance anything simple brief code".split(),
    )
)
_ABOUT_THE_TEXT = re.compile(
    r"\b(?:this|these|that)\s+(?:book|chapter|section|page|text|passage|paragraph|selection|sentence|quote)s?\b", re.I
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was|be|isn['’]t)\s+it\s+(?!used|able|going|supposed|likely|meant)\w+\s+(?:to|that|if|for)\b"
    r"|\bit\s+(?:takes?\b.*\bto|means?\s+(?:to|if|when|that)|matters?|makes?\s+sense)\b",
    re.I,
)
_ORDINAL_WORD = rf"\b(?P<ordinal>{'|'.join(ORDINALS)})\b"
_ORDINAL = re.compile(
    rf"\bthe\s+{_ORDINAL_WORD}(?:\s+(?:one|of\s+(?:them|these)))?(?=\s*$|\s+(?:is|do|does|has|can)\b)", re.I
)
_POSSESSIVE = re.compile(r"\b(?:its|their)\b", re.I)
_PRONOUN = re.compile(
    r"\b(?:(?P<plural>they|them|these|those|both)|(?P<singular>it|this)"
    r"|(?:is|was|do|does|did|can|of|to|by|for|at|use|like|with|into|from|after|before|about|why|how|explain)\s+"
    r"(?P<that>that)|(?P<last>that)$|(?<!which\s)(?<!the\s)(?P<one>ones?)(?=$|\s+with(?:out)?\b))\b(?!\s+other\b)",
    re.I,
)
_WHICH = re.compile(
    r"which(?:\s+(?P<one>one|ones|two)\b(?!\s+of\b)|(?=\s+(?:is|are|was|has|have|does|do|can|should)\b))", re.I
)
_CLAUSE_END = re.compile(r"[,;]|\b(?:and|but|when|if|because|while|after|before|then|or|that)\b", re.I)
# A search for "for loop" or "with statement" begins with one of these too.
_KEYWORD_PREPOSITIONS = frozenset("for while if with as in when than like".split())


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
    if not question.conversation or (question.selection and asks_about_whole_text(question.text)):
        return ""
    proposed = propose_completions(question.text, question.conversation)
    found = [each for each in proposed if len(each.text) <= MAX_QUESTION_CHARS][:MAX_COMPLETIONS]
    values = [0.0] * len(found)
    if len(found) > 1 and all(each.replaced for each in found):
        bonuses = (SAME_FORM_BONUS * (has_determiner(old) == has_determiner(new)) for _, old, new in found)
        values = [await compare(old, new) + bonus for (_, old, new), bonus in zip(found, bonuses, strict=True)]
    elif len(found) > 1:
        values = [await estimate(each.text) for each in found]
        values[0] += PREFERENCE
    chosen = found[values.index(max(values))].text if found else question.text
    return "" if chosen == question.text else chosen


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
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead else text


def _complete(question: str, state: ConversationState) -> list[Completion]:
    body = _strip_lead(question)
    after_and = not " ".join(question.split()).startswith(body)
    about = _WHAT_ABOUT.match(body)
    body = body[about.end() :] if about else body
    if not body or not state.question or _ABOUT_THE_TEXT.search(question):
        return []
    if about or _is_fragment(body, after_and, is_question="?" in question):
        found = _complete_fragment(body, state)
    else:
        found = [Completion(each) for each in _complete_question(body, state, after_and)]
    return [each._replace(text=question if each.text == body else _write_question(each.text)) for each in found]


def _is_fragment(body: str, after_and: bool, is_question: bool) -> bool:
    """Whether a text asks nothing by itself: "on macOS", "the second one", and after "and" also "a tuple"."""
    words = [word.casefold() for word in body.split()]
    if words[0] in QUESTION_WORDS | AUXILIARY_VERBS or _REQUEST.match(body):
        return False
    is_attribute = words[0] in PREPOSITIONS and QUESTION_WORDS.isdisjoint(words)
    may_be_keyword = words[0] in _KEYWORD_PREPOSITIONS and not is_question
    return after_and or bool(_ORDINAL.fullmatch(body)) or (is_attribute and not may_be_keyword)


def _complete_question(body: str, state: ConversationState, after_and: bool) -> list[str]:
    if bare := _BARE_QUESTION.fullmatch(body):
        return [state.ask_again(bare[1])]
    if _REQUEST.match(body) and set(extract_terms(body)) <= _REQUEST_TERMS and not _PRONOUN.search(body):
        return [_append_owner(body, state)]
    if replaced := _replace_pronoun(body, state):
        return replaced
    if (named := state.name_kind(body)) != body:
        return [named]
    if (which := _WHICH.match(body)) and (which["one"] or state.pair) and not find_pair(body):
        return [f"{which[0]} of {state.find_antecedents(is_plural=True)[0]}{body[which.end() :]}"]
    if RELATIONAL_NOUN.search(body):
        return [_append_owner(body, state)]
    if named := state.name_in_full(body):
        return [named]
    if after_and and not is_definition(body) and len(extract_terms(body)) <= MAX_OWN_TERMS:
        return [body, f"{body} for {state.owner}"]
    return []


def _append_owner(body: str, state: ConversationState) -> str:
    """Adds what a request or a noun refers to: "Give me an example of a list", "What is the difference between …"."""
    if re.search(r"\bdifferences?$", body, re.I) and state.pair:
        return f"{body} between {' and '.join(state.pair)}"
    if re.search(r"\b(?:explain|describe)$", body, re.I):
        return f"{body} {state.topic}"
    is_about = re.search(r"\b(?:more|details?|else|elaborate|briefly)$", body, re.I)
    return f"{body} about {state.topic}" if is_about else f"{body} of {state.owner}"


def _replace_pronoun(body: str, state: ConversationState) -> list[str]:
    """Returns the text with its first pronoun or ordinal replaced, or nothing if none points to an earlier turn."""
    if (ordinal := _ORDINAL.search(body)) and (item := state.find_item(ordinal["ordinal"])):
        return [body[: ordinal.start()] + item + body[ordinal.end() :]]
    if _EXPLETIVE.search(body):
        return []
    if possessive := _POSSESSIVE.search(body):
        before, after = body[: possessive.start()], body[possessive.end() :]
        owners = state.find_antecedents(is_plural=possessive[0].casefold() == "their")
        return [] if find_phrases(before) else [f"{before}{make_possessive(each)}{after}" for each in owners]
    pronoun = _PRONOUN.search(body)
    if not pronoun or _has_own_antecedent(body[: pronoun.start()]):
        return []
    start, end = pronoun.span(pronoun.lastgroup or 0)
    return [body[:start] + each + body[end:] for each in state.find_antecedents(is_plural=bool(pronoun["plural"]))]


def _has_own_antecedent(before: str) -> bool:
    """Whether an earlier clause of the question names what its pronoun means: "How do I write a list and sort it"."""
    ends = [end.start() for end in _CLAUSE_END.finditer(before)]
    return bool(ends and find_phrases(before[: ends[-1]]))


def _complete_fragment(fragment: str, state: ConversationState) -> list[Completion]:
    last = state.question
    if ordinal := _ORDINAL.fullmatch(fragment):
        if earlier := re.search(_ORDINAL_WORD, last, re.I):
            return [Completion(last[: earlier.start()] + ordinal["ordinal"] + last[earlier.end() :])]
        item = state.find_item(ordinal["ordinal"])
        return [Completion(f"What is {item}")] if item else []
    fragment = state.name_kind(fragment)
    whole = next(iter(_replace_pronoun(fragment, state)), fragment)
    first = fragment.split()[0].casefold()
    if whole != fragment and _POSSESSIVE.search(fragment):
        return [Completion(f"What is {whole}")]
    if first in ("if", "when"):
        return [Completion(f"What happens {whole}")]
    if first in PREPOSITIONS:
        return [Completion(replace_attribute(last, first, whole))]
    opening = re.match(r"(?:\S+\s+)*?(?:i|you|we|one)\s+", last, re.I)
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


def _write_question(text: str) -> str:
    is_request = _REQUEST.match(text) and text.split()[0].casefold() not in AUXILIARY_VERBS
    return text[0].upper() + text[1:] + ("" if is_request else "?")
