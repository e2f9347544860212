"""Defines the port of a language: everything that the code needs to know about it.

A pattern is the text of a regular expression that ignores case. The module that uses it compiles it, so that a
process pays only for the patterns that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """The words that carry no meaning of their own, in lower case, and the rule that unites the forms of a word."""

    stop_words: frozenset[str]
    deictic_words: frozenset[str]
    """Words that refer to a text as a whole instead of asking for something in it: "chapter", "summarize"."""
    pointing_words: frozenset[str]
    stem: Callable[[str], str]
    """Returns a word without its most common endings, so that most forms of a word are equal."""


@dataclass(frozen=True, slots=True)
class SentenceMarks:
    """The words that decide whether a full stop ends a sentence, without their own full stop."""

    abbreviations: frozenset[str]
    """Their full stop never ends a sentence."""
    personal_titles: frozenset[str]
    """Abbreviations with a capital, before a name."""
    final_abbreviations: frozenset[str]
    """They may end a sentence: the next word decides."""
    abbreviations_before_number: frozenset[str]
    """Abbreviations only before a number: "No. 5", "p. 12", but "The answer is no."."""
    openers: frozenset[str]
    """Words that open a sentence after a capital that is not an initial: "It is written in C. The compiler …"."""


@dataclass(frozen=True, slots=True)
class QuoteForms:
    """Patterns that decide what a quote needs to be understood alone, and what a question wants quoted."""

    exercise_heading: str
    caption: str
    reference_at_start: str
    """A sentence that refers to an earlier one with its first words: "However, it …"."""
    continuation: str
    """A sentence that goes on from an earlier one without naming it: "Therefore …"."""
    inner_reference: str
    """A reference inside a sentence; its groups `noun` and `thing` are what it refers to: "this property"."""
    personal_pronoun: str
    empty_lead: str
    """An introduction that says nothing: "In short:"."""
    announced_table: str
    announced_code: str
    announced_example: str
    asks_for_list: tuple[str, ...]
    """Questions for several things, which are the group `things`; the first pattern that fits counts."""
    asks_for_code: str
    asks_to_compare: str
    asks_how: str
    asks_yes_or_no: str


@dataclass(frozen=True, slots=True)
class ClaimForms:
    """The words with which a paraphrase may change what the book says."""

    negation: str
    restriction: str
    """A word that denies what it leaves out: "only"."""
    quantifiers: frozenset[str]
    """Words with which a sentence may say more than the book."""
    capitalized_words: frozenset[str]
    """Common words that may have a capital within a sentence, after a colon or in a title."""
    plural_name: str
    """A name in the plural, with its singular as the first group; this pattern does not ignore case."""
    possessive_ending: str
    adjective_ending: str
    """What makes an adjective of a name: "Siberia", "Siberian"."""


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The words for numbers and units, in lower case."""

    below_twenty: tuple[str, ...]
    tens: tuple[str, ...]
    """From twenty to ninety."""
    scales: Mapping[str, int]
    implied: Mapping[str, str]
    """Words that imply a number: "both" is 2."""
    units: Mapping[str, str]
    """The names of each unit, separated by spaces."""
    powers: Mapping[str, str]
    """Words after a unit that raise it: "squared" is 2."""
    minus: str
    per: str


@dataclass(frozen=True, slots=True)
class ModelForms:
    """How texts speak to a language model, and how a model writes."""

    prompt_injection: str
    """The beginning of a text that gives a model commands."""
    passage: str
    """How a model names a passage in a citation mark, and what it writes before that and between numbers."""
    before_passage: str
    between_numbers: str
    empty_values: frozenset[str]
    """What a model writes into a field that should be empty."""
    broken_contraction: str
    """A contraction with another sign in the place of its apostrophe."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language: its words, and the patterns of what its readers, books and language models write."""

    name: str
    bm25: str
    """The name of the stemmer and the stop words of the BM25 encoder; the index of a book depends on it."""
    words: Words
    sentences: SentenceMarks
    quotes: QuoteForms
    claims: ClaimForms
    numbers: NumberWords
    models: ModelForms
