"""Extracts normalized search terms and identifiers from text."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(
    r"`[^`]+`"  # marked as code
    r"|(?<![\w-])--?[a-z][\w-]+"  # an option
    r"|\b\w+(?:[._:/]{1,2}\w+)+\b"  # a dotted, slashed or snake-cased name
    r"|\b[A-Z]+[a-z]*[A-Z]\w*\b"  # an acronym or a CamelCase name
    r"|\b[A-Za-z]+\d\w*\b"  # a name with a number in it
)
STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing done down during each either else etc ever every few for from further
    get gets getting go goes going got had has have having he her here hers him his how i if in into is it its itself
    just let lets like me mean means might more most much must my need no nor not of off on once only or other our out
    over own per please same say says she should show so some such tell than that the their them then there these they
    thing things this those through to too under until up us use used uses using very want was way we were what
    whats when where whether which while who whom whose why will with without would you your yours often
    s t d ll re ve m don doesn isn aren won""".split()
)
DEICTIC_WORDS = frozenset(
    """explain describe summarise summarize paraphrase passage text paragraph section chapter page part word
    give sentence selection quote idea point main gist""".split()
)
"""Words that refer to a text as a whole instead of asking for something in it."""
POINTING_WORDS = frozenset("this that these those it here".split())


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without its most common English endings, so that most forms of a word are equal."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and set(root) & set("aeiouy"):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    return word.removesuffix("e") if len(word) > 3 else word


def normalize_text(text: str) -> str:
    """The text in lower case, without accents, and with compatible characters unified."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without accents, in order, with repeats."""
    return _WORD.findall(normalize_text(text))


def extract_terms(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order, with repeats."""
    return [stem(word) for word in split_words(text) if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]


def asks_about_whole_text(question: str) -> bool:
    """Whether a question points at a whole text and names nothing in it: "Explain this", but not "Why?"."""
    words = {word for word in split_words(question) if len(word) > 1}
    return words <= STOP_WORDS | DEICTIC_WORDS and bool(words & (DEICTIC_WORDS | POINTING_WORDS))


def extract_identifiers(text: str) -> set[str]:
    """Identifiers, options, acronyms and other names that cannot be paraphrased, in lower case."""
    return {name.strip("`").casefold() for name in _IDENTIFIER.findall(text)}
