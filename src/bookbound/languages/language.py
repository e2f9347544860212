"""Defines the port of a language: everything that the code needs to know about it.

A pattern is the text of a regular expression that ignores case; `compiled` compiles it when it is first used, so that
a process pays only for the patterns that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from bookbound.domain.question import BookTopic, SmallTalk


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Returns a pattern of a language, compiled once."""
    return re.compile(pattern, re.I)


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
class QuestionForms:
    """How readers ask: for what, for how much, and for how many things at once."""

    openers: tuple[str, ...]
    """The words that most often open a question or a request, in which a slip is corrected."""
    order_words: frozenset[str]
    """They open an order, so that a few words after one are no mere keyword."""
    spellings: tuple[tuple[str, str], ...]
    """Letters that differ between the spellings of a word, which no reader gets wrong."""
    form_words: str
    """Words that ask for a form of answer and not for something in it."""
    definition: str
    """The question what something is, with a pair of braces for its name."""
    asks_what_it_is: str
    asks_for_list: tuple[str, ...]
    """Questions for several things, which are the group `things`; the first pattern that fits counts."""
    asks_for_code: str
    asks_to_compare: str
    asks_how: str
    asks_yes_or_no: str
    names_one_thing: str
    """A question that only names something, which is the group `name`."""
    asks_for_named: str
    """The beginning of a sentence that requests something by its name."""
    asks_what_it_has: str
    """A question for the `things` of an `owner`."""
    asks_something_else: str
    whole_questions: tuple[str, ...]
    """How a question may begin that stands alone."""
    after_conjunction: tuple[str, ...]
    after_comma: tuple[str, ...]
    after_comma_and_conjunction: tuple[str, ...]
    """How a question may begin after another one."""
    conjunction: str
    """What joins two questions; the group `mark` is a comma before a word, `bare` a comma alone."""
    has_verb: str
    refers_to_earlier_part: str
    opening: str
    """The words of a question before those that name what it is about."""
    inner_auxiliary: str
    names_nothing_new: str
    """Begins what "What is …?" may ask for without being understood alone."""
    may_compare: str
    compares_after_lead: str
    asks_about_both: str
    comparisons: tuple[str, ...]
    """Comparisons of the groups `a` and `b`, which may have a `lead`, something `asked` about both, or a `tail`."""
    versus: frozenset[str]
    articles: frozenset[str]


@dataclass(frozen=True, slots=True)
class PhraseForms:
    """The words between which the noun phrases of a question are, and the frames around what it is about."""

    question_words: frozenset[str]
    auxiliaries: frozenset[str]
    forms_of_do: frozenset[str]
    prepositions: frozenset[str]
    determiners: frozenset[str]
    function_words: frozenset[str]
    """All of these but the determiners, and the pronouns and conjunctions."""
    before_no_noun: frozenset[str]
    """A word after one of these is an adjective or a verb: "how long", "do I open"."""
    verbs: frozenset[str]
    imperative: str
    participle: str
    possessive_ending: str
    plural_noun: str
    asks_what_it_does: str
    definition_tail: str
    of: str
    between: str
    """Two things after "between", as two groups."""
    joined: str
    list_after_colon: str
    list_separator: str


@dataclass(frozen=True, slots=True)
class FollowUpForms:
    """How a question refers to the turns before it."""

    ordinals: Mapping[str, int]
    """The place that each word names in a list, from 0; -1 is the last."""
    ordinal: str
    """An `ordinal`, and one that is the subject or the end of a question."""
    ordinal_phrase: str
    relational_noun: str
    """A noun that is always that of something; without "of", the conversation says of what."""
    kind_of_one: str
    """The `kind` of a noun, and the word in its place, which is `one`."""
    short_name: str
    """The beginning of a phrase that repeats only the noun of what was named in full."""
    lead: str
    what_about: str
    bare_question: str
    """A question word alone, or with words that repeat what was asked; the first group is the question word."""
    request: str
    request_words: frozenset[str]
    """A request with these words alone asks for nothing new."""
    request_of_pair: str
    request_of_topic: str
    request_about_topic: str
    """The ends of requests that lack two sides, an object, and a subject."""
    of_owner: str
    about_topic: str
    for_owner: str
    between_pair: str
    pair: str
    asked_too: str
    happens_if: str
    """How a follow-up is completed, with a pair of braces for its words and for each of what it lacks."""
    about_the_text: str
    expletive: str
    possessive: str
    plural_possessive: str
    pronoun: str
    """A pronoun as one of the groups `plural`, `singular`, `that`, `last` and `one`."""
    which: str
    clause_end: str
    keyword_prepositions: frozenset[str]
    """A search for "for loop" or "with statement" may begin with one of these."""
    conditions: frozenset[str]
    subject: str
    """The beginning of a question, up to its subject."""


@dataclass(frozen=True, slots=True)
class SmallTalkForms:
    """Messages to the assistant itself, as patterns for the whole message."""

    phrases: Mapping[SmallTalk, str]
    replies: Mapping[SmallTalk, str]
    lead: str
    """What may come before another message."""
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BookQuestionForms:
    """How readers ask about the book itself, and the headings under which a book speaks about itself."""

    polite: str
    this_book: str
    """The words for a book, in the place of its title."""
    not_before_title: str
    patterns: Mapping[BookTopic, tuple[str, ...]]
    """Patterns for the whole question; a chapter has the groups `unit`, `number`, `ordinal`, `name` and `title`."""
    sections: Mapping[BookTopic, str]
    citation_section: str
    front_matter: str
    """Begins the title of a chapter that books do not number."""


@dataclass(frozen=True, slots=True)
class QuoteForms:
    """Patterns that decide what a quote needs to be understood alone."""

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
    nothing_missing: str
    """What a model writes into a field that should be empty."""
    broken_contraction: str
    """A contraction with another sign in the place of its apostrophe."""
    verdict: str
    denying_verdict: str
    """A sentence that begins with a yes or no, which means something only together with the question."""
    needs_previous: str
    """A sentence that begins with a word for something in the sentence before it."""
    attribution: str
    """What a model writes before a sentence that claims something: "According to the book,"."""
    denial: str
    """A sentence that says that the passages do not answer."""
    remark: str
    """A sentence to the reader that claims nothing about the subject: "Let me know if …"."""
    introduction_terms: frozenset[str]
    """The stems of words with which a model introduces a list or code, and claims nothing: "Follow these steps:"."""


@dataclass(frozen=True, slots=True)
class Language:
    """One language: its words, and the patterns of what its readers, books and language models write."""

    name: str
    bm25: str
    """The name of the stemmer and the stop words of the BM25 encoder; the index of a book depends on it."""
    words: Words
    sentences: SentenceMarks
    questions: QuestionForms
    phrases: PhraseForms
    follow_ups: FollowUpForms
    small_talk: SmallTalkForms
    book_questions: BookQuestionForms
    quotes: QuoteForms
    claims: ClaimForms
    numbers: NumberWords
    models: ModelForms
