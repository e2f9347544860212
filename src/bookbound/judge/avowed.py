"""What a sentence says about the truth of what it says."""

from __future__ import annotations

import re

from bookbound.judge.clauses import terms
from bookbound.judge.retold import Retelling

_TRUTH = re.compile(
    r"\b(?:true|truth|truly|untrue|untruth|false\w*|wrong\w*|incorrect\w*|inaccurate\w*|mistak\w+|errs?|myths?|"
    r"misconceptions?|misbelief|li(?:e|es|ed|ar)|suppos\w+|alleged\w*|purported\w*|reputed\w*|so-called|claim\w*|"
    r"believe\w*|doubt\w*|rumou?r\w*|contrary|pretend\w*|nonsense|fictiti?on\w*|fictitious|hoax|joke|dubious|"
    r"question\w*|debunk\w*|refut\w*|disprov\w*|den(?:y|ies|ied))\b",
    re.I,
)
_FRAME = re.compile(
    r"\W*(?:it|this|that)\s+(?:is|was|seems|appears|remains)\b(?P<said>[^,;:.]{1,40}?)\b(?:that|to\s+say)\b", re.I
)
_MANNER = re.compile(r"\W*(?P<said>\w+ly)\b(?!\s+(?:when|if|on|in|for)\b)", re.I)
_NEXT = re.compile(r"(?<=[.!?])[\s\"”’)]+(?=\S)|\s(?=[(\[])")

MOST = 0.5
"""The share of its terms that the evidence must have of what stands by itself behind a sentence."""


def avows(retelling: Retelling) -> bool:
    """Whether each word about the truth of a sentence stands in the words of the book that carry it.

    So must all of a frame ("It is … that"), an adverb that opens it, and most of what stands by itself behind it.
    """
    book = {*terms(retelling.around())}
    frames = [found["said"] for frame in (_FRAME, _MANNER) if (found := frame.match(retelling.sentence))]
    about = {term for word in (*_TRUTH.findall(retelling.sentence), *frames) for term in terms(word)}
    return about <= book and all(_mostly_known(words, retelling) for words in _NEXT.split(retelling.sentence)[1:])


def _mostly_known(words: str, retelling: Retelling) -> bool:
    said = terms(words)
    return sum(map(retelling.knows, said)) >= MOST * len(said)
