"""Counts what a paraphrase has that its evidence has not: numbers, names, quantifiers, negations and other terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bookbound.answering.grounding.quantities import convert_number_words, count_unknown_quantities
from bookbound.answering.grounding.supporting_units import CitedEvidence, extract_term_set
from bookbound.domain.judgement import Claim
from bookbound.languages import LANGUAGE, compiled
from bookbound.text import STOP_WORDS, extract_identifiers, normalize_text, split_words, stem

_FORMS = LANGUAGE.claims
_NEGATION = compiled(_FORMS.negation)
_RESTRICTION = compiled(_FORMS.restriction)


def count_differences(claim: str, evidence: CitedEvidence) -> dict[str, float]:
    """Returns the features of a claim that can be counted; names may also come from the headings of the evidence."""
    words = f"{evidence.text}\n{evidence.headings}"
    terms = extract_term_set(claim)
    return {
        "numbers": count_unknown_quantities(claim, words),
        "names": count_unknown_names(claim, words),
        "quantifiers": count_added_quantifiers(claim, evidence.supporting_text),
        "negates": any(only_negates(claim, piece.text) for piece in evidence.stretches),
        "swaps": any(only_swaps_terms(claim, piece.text) for piece in evidence.stretches),
        "new": len(terms - extract_term_set(words)) / max(len(terms), 1),
    }


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


def contradicts_verdict(text: str, claim: Claim) -> bool:
    """Returns whether a "Yes" is before a denial of just what was asked, or a "No" before its confirmation."""
    if not claim.asked or _NEGATION.search(claim.asked):
        return False
    if extract_term_set(_NEGATION.sub(" ", claim.words)) != extract_term_set(claim.asked):
        return False
    says_no = compiled(LANGUAGE.models.denying_verdict).match(text) is not None
    return says_no != (len(_NEGATION.findall(claim.words)) % 2 == 1)


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


def count_unknown_names(sentence: str, evidence: str) -> int:
    """Returns how many names of the sentence the evidence lacks, ignoring case, accents, punctuation and plurals."""
    wanted = {re.sub(_FORMS.possessive_ending, "", normalize_text(name)) for name in find_proper_names(sentence)}
    singular, singular_there = _find_plural_names(sentence), _find_plural_names(evidence).values()
    known = _collect_possible_names(evidence).union(singular_there)
    text = _strip_punctuation(normalize_text(evidence))
    ending = _FORMS.adjective_ending
    # A quoted command may have more words than a possible name, and "Siberia" may be there as "Siberian".
    return sum(
        _strip_punctuation(name) not in text
        if " " in name
        else known.isdisjoint(
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
