"""Checks that a paraphrase keeps the numbers, names, identifiers and negations of its evidence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from bookbound.answering.grounding.quantities import convert_number_words, has_only_known_quantities
from bookbound.answering.grounding.supporting_units import CitedEvidence, extract_term_set
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import STOP_WORDS, extract_identifiers, normalize_text, split_sentences, split_words, stem

_FORMS = LANGUAGE.claims
_CITATION_MARK = re.compile(
    rf"[\[【(]\s*(?:{LANGUAGE.models.passage}\s+)?\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*[^\]】)]{{0,20}}[\]】)]", re.I
)
_NEGATION = compiled(_FORMS.negation)
_RESTRICTION = compiled(_FORMS.restriction)


def passes_exact_checks(sentence: str, evidence: CitedEvidence) -> bool:
    """Returns whether a sentence keeps the numbers, names and negations of its evidence.

    Names may also come from the headings of the evidence.
    """
    words = f"{evidence.text}\n{evidence.headings}"
    return (
        has_only_known_quantities(sentence, words)
        and has_only_known_letters(sentence, words)
        and has_only_known_names(sentence, words)
        and all(mark in words for mark in _CITATION_MARK.findall(sentence))
        and has_only_known_additions(sentence, words)
        and not any(
            only_negates(sentence, piece.text) or only_swaps_terms(sentence, piece.text) for piece in evidence.stretches
        )
    )


def has_only_known_additions(sentence: str, evidence: str) -> bool:
    """Returns whether no sentence after the first has only terms that are not in the evidence."""
    further = [extract_term_set(sentence[unit.start : unit.end]) for unit in split_sentences(sentence)[1:]]
    known = extract_term_set(evidence) if any(further) else set()
    return all(terms & known for terms in further if terms)


def count_added_quantifiers(sentence: str, evidence: str) -> int:
    """Returns how many different quantifiers a sentence has that the evidence has not."""
    return len(_FORMS.quantifiers.intersection(split_words(sentence)).difference(split_words(evidence)))


def only_negates(sentence: str, book: str) -> bool:
    """Returns whether a sentence has the terms of the book's words and another number of negations.

    An "only" that the book does not have is one: it denies what it leaves out.
    """
    said, there = (len(_RESTRICTION.findall(text)) for text in (sentence, book))
    sentence, book = (_RESTRICTION.sub(" ", text) for text in (sentence, book))
    if extract_term_set(_NEGATION.sub(" ", sentence)) != extract_term_set(_NEGATION.sub(" ", book)):
        return False
    return said > there or len(_NEGATION.findall(sentence)) != len(_NEGATION.findall(book))


def only_swaps_terms(sentence: str, book: str) -> bool:
    """Returns whether a sentence is the book's words with terms in each other's places."""
    (said_frame, said), (book_frame, there) = map(_split_function_words, (sentence, book))
    return said_frame == book_frame and said != there and sorted(said) == sorted(there)


def _split_function_words(text: str) -> tuple[list[str], list[str]]:
    """Returns the small words of a text with the gaps between them, and the terms that fill the gaps."""
    words = split_words(convert_number_words(text))
    frame = [word if word in STOP_WORDS else "" for word in words]
    gaps = [word for word, before in zip(frame, ["", *frame], strict=False) if word or before]
    return gaps, [stem(word) for word in words if word not in STOP_WORDS]


_CAPITALIZED = re.compile(r"(?<=[\w,;:)] )(?:[A-Z][\w'’-]*\w)")
_PLURAL_NAME = re.compile(_FORMS.plural_name)
_ALLOWED_SIGNS = "°μ×≤≥−"
_NON_WORD = re.compile(r"[\W_]+")
_WORD = re.compile(r"[\w./:'’–-]+")
_SEPARATORS = re.compile(r"[./:'’–-]+")


def find_proper_names(text: str) -> set[str]:
    """Returns identifiers, options, acronyms, and words that are capitalized within a sentence."""
    return {
        name
        for name in {*extract_identifiers(text), *_CAPITALIZED.findall(text)} - _FORMS.capitalized_words
        if any(map(str.isalpha, name))
    }


def has_only_known_letters(sentence: str, evidence: str) -> bool:
    """Returns whether the evidence has every sign and foreign letter of the sentence, which may imitate a word."""
    strange = {
        char for char in normalize_text(sentence) if not char.isascii() and unicodedata.category(char)[0] in "LSN"
    }
    return strange <= {*normalize_text(evidence), *_ALLOWED_SIGNS}


def has_only_known_names(sentence: str, evidence: str) -> bool:
    """Returns whether the evidence has every name of the sentence, ignoring case, accents, punctuation and plurals."""
    wanted = {re.sub(_FORMS.possessive_ending, "", normalize_text(name)) for name in find_proper_names(sentence)}
    singular, singular_there = _find_plural_names(sentence), _find_plural_names(evidence).values()
    known = _collect_possible_names(evidence).union(singular_there)
    text = _strip_punctuation(normalize_text(evidence))
    ending = _FORMS.adjective_ending
    # A quoted command may have more words than a possible name, and "Siberia" may be there as "Siberian".
    return all(
        _strip_punctuation(name) in text
        if " " in name
        else not known.isdisjoint(
            {bare := _strip_punctuation(name), singular.get(bare, bare), bare.removesuffix(ending), bare + ending}
        )
        for name in wanted
    )


def _find_plural_names(text: str) -> dict[str, str]:
    """Returns each name in the plural with its singular."""
    return {normalize_text(found[0]): normalize_text(found[1]) for found in _PLURAL_NAME.finditer(text)}


def _collect_possible_names(evidence: str) -> set[str]:
    """Returns possible names: words, neighbouring parts of an identifier, and up to three words in a row."""
    words = [[part for part in _SEPARATORS.split(word) if part] for word in _WORD.findall(normalize_text(evidence))]
    inside = (_join_neighbours([_strip_punctuation(part) for part in parts], len(parts)) for parts in words)
    return {name for run in inside for name in run} | set(
        _join_neighbours([_strip_punctuation("".join(parts)) for parts in words], 3)
    )


def _join_neighbours(words: Sequence[str], most: int) -> Iterator[str]:
    """Yields neighbouring words joined, up to `most` of them."""
    for first in range(len(words)):
        for last in range(first, min(first + most, len(words))):
            yield "".join(words[first : last + 1])


def _strip_punctuation(text: str) -> str:
    return _NON_WORD.sub("", text)
