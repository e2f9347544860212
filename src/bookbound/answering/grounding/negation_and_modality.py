"""Compares the negation, modality, hedging and antonyms of a sentence with its evidence."""

from __future__ import annotations

import re
from itertools import pairwise

from bookbound.answering.grounding.alignment import ClauseMatch, SentenceAlignment
from bookbound.answering.grounding.clauses import Clause, extract_clause_terms

_NEGATION = r"not(?!\s+(?:just|only|merely))|never|no|none|nor|neither|nothing|cannot|can['’]t|\w+n['’]t|without"
_NEGATIVE_WORD = re.compile(
    rf"\b(?:{_NEGATION}|avoid\w*|prevent\w*|prohibit\w*|forbid\w*|fail\w*|lack\w*|refus\w*|reject\w*|unable|"
    r"impossible|hardly|rarely|seldom|badly)\b",
    re.I,
)
# Words that may negate in a paraphrase: "unnecessary" for "not needed".
_WEAKLY_NEGATIVE_WORD = re.compile(
    r"\b(?:un\w{3,}|non\w*|dis\w{3,}|off|instead|rather|except|stop\w*|ignor\w*|skip\w*|remov\w*|only|few|little|"
    r"absent|absence)\b",
    re.I,
)
# Universal words, each with the words of the book that it may replace.
_UNIVERSAL_WORDS = [
    (re.compile(rf"\b(?:{said})\b", re.I), re.compile(rf"\b(?:{meant})\b", re.I))
    for said, meant in (
        (
            r"all|every|everything|always|entirely|completely|whenever",
            r"all|every\w*|each|any\w*|always|whole|entire\w*|complete\w*|wherever|whenever|never|no|none|both|full\w*",
        ),
        (r"never|none|nothing|nobody", r"never|no|none|nothing|nobody|not|cannot|without|\w+n['’]t|nor|neither"),
        (r"only|solely|exclusively|exactly", r"only|sole\w*|alone|just|exclusive\w*|exact\w*|merely|nothing|no|one"),
        (
            r"best|(?<!at )most|worst|(?<!at )least|fastest|largest|smallest",
            r"\w+est|most|least|worst|maxim\w*|minim\w*|optimal\w*",
        ),
    )
]
_ALWAYS = re.compile(r"\b(?:always|never)\b", re.I)
_UNIVERSAL_IN_BOOK = re.compile(r"\b(?:always|never|cannot|no|every|each|all|any|none)\b", re.I)
_OBLIGATION = re.compile(
    r"\b(?:must|need\w*|requir\w*|ha(?:s|ve)\s+to|shall|cannot|guarante\w*|never|always|only)\b", re.I
)
_POSSIBILITY = re.compile(
    r"\b(?:(?:may|might|can|could)(?!\s+not\b)|usually|often|sometimes|rarely|optional\w*|typically|possible)\b", re.I
)


def has_same_negation(alignment: SentenceAlignment) -> bool:
    """Returns whether the clauses of a sentence negate exactly what their supporting clauses negate."""
    denies, book = bool(_NEGATIVE_WORD.search(alignment.sentence)), alignment.supporting_text()
    if denies and not _NEGATIVE_WORD.search(book) and not _WEAKLY_NEGATIVE_WORD.search(book):
        return False
    bare = {term for match in alignment.matches for term in {*match.clause.terms} - _find_negated_terms(match.clause)}
    return all(_clause_has_same_negation(match, denies, bare) for match in alignment.same_topic_matches)


def _clause_has_same_negation(match: ClauseMatch, denies: bool, bare: set[str]) -> bool:
    book = "\n".join(clause.text for clause in match.supporting)
    here, there = len(_NEGATIVE_WORD.findall(match.clause.text)), len(_NEGATIVE_WORD.findall(book))
    closest = len(_NEGATIVE_WORD.findall(match.closest.text))
    whole = {*match.closest.terms} <= {*match.known_terms}
    dropped = closest > here and (whole or not denies)
    if (here > there or dropped) and _find_weak_negations(match.clause.text) == _find_weak_negations(book):
        return False
    denied = {term for clause in match.supporting for term in _find_negated_terms(clause)}
    kept = {term for clause in match.supporting for term in clause.terms} - denied
    return not (_find_negated_terms(match.clause) & kept and denied & bare)


def _find_weak_negations(text: str) -> set[str]:
    return {found.lower() for found in _WEAKLY_NEGATIVE_WORD.findall(text)}


def _find_negated_terms(clause: Clause) -> set[str]:
    """Returns the terms right after a negation."""
    found = (extract_clause_terms(clause.text[word.end() :])[:1] for word in _NEGATIVE_WORD.finditer(clause.text))
    return {term for each in found for term in each}


def keeps_quantifiers(alignment: SentenceAlignment) -> bool:
    """Returns whether universal and obligatory words have counterparts in the book."""
    said, book = alignment.sentence, alignment.supporting_text()
    if (
        re.search(r"\b(?:must|guarante\w*)\b", said, re.I)
        and _POSSIBILITY.search(book)
        and not _OBLIGATION.search(book)
    ):
        return False
    if any(
        _ALWAYS.search(match.clause.text) and not _UNIVERSAL_IN_BOOK.search(match.closest.text)
        for match in alignment.same_topic_matches
    ):
        return False
    return all(meant.search(book) for wholly, meant in _UNIVERSAL_WORDS if wholly.search(said))


_NEGATION_AFTER_MODAL = r"(?:\s+(?:not|never|no\s+longer)\b|n['’]t\b)"
_MODAL_VERB = r"(?:may|might|can|could)"
# The opening of a clause shows whether it is a reason, a result or a condition.
_CLAUSE_OPENINGS = (
    r"(?:because|since)\b(?!\s+of\s+this)",
    r"(?:and\s+)?(?:so|therefore|thus|hence)\b(?!\s+(?:far|long|much|many))",
    r"(?:until|till)\b",
    r"(?:unless|except)\b",
    r"(?:although|though|even)\b",
    r"before\b",
    r"after\b",
)
# The words of one cell do not mean the same as those of another cell of the row.
_INCOMPATIBLE_WORDS = [
    [re.compile(rf"\b(?:{cell})", re.I) for cell in row]
    for row in (
        (
            rf"(?:must|shall|ha(?:s|ve)\s+to|needs?\s+to|(?:is|are)\s+required)\b(?!{_NEGATION_AFTER_MODAL})|requir\w+",
            rf"{_MODAL_VERB}\b(?!{_NEGATION_AFTER_MODAL})|allow\w*|permit\w*|optional\w*|possible|possibly|usually|often|sometimes|perhaps",
            rf"(?:{_MODAL_VERB}|must|shall){_NEGATION_AFTER_MODAL}|cannot\b|forbid\w*|forbidden|prohibit\w*|impossible|prevent\w*|avoid\w*|unable",
        ),
        (
            r"until\b|till\b|up\s+to\b",
            r"unless\b|except\b",
            r"(?:when(?:ever)?|if|once|where(?:ver)?|while|as\s+(?:soon|long)\s+as)\b",
            r"whether\s+or\s+not\b|regardless\b|even\s+(?:if|when|though)\b|although\b|despite\b",
        ),
        tuple(f"^{opening}" for opening in _CLAUSE_OPENINGS),
        tuple(rf",\s{opening}" for opening in _CLAUSE_OPENINGS),
        (
            r"at\s+least\b|no\s+(?:less|fewer)\s+than\b|minimum\b|or\s+more\b",
            r"at\s+most\b|no\s+more\s+than\b|maximum\b|or\s+(?:less|fewer)\b|up\s+to\b",
        ),
    )
]
_SEQUENCE_WORD = re.compile(r"\W*(?:and\s+)?(?:then|afterwards?|finally|next|later)\b", re.I)
_CONDITION_WORD = re.compile(r"\W*(?:if|when|once|whenever)\b", re.I)


def changes_modality(match: ClauseMatch) -> bool:
    """Returns whether a clause has another modal word than the closest clause of the book: "until" for "when"."""
    around = " ".join(clause.text for clause in match.supporting)
    return any(
        _find_matching_cells(match.clause.text, row) - _find_matching_cells(around, row)
        and _find_matching_cells(match.closest.text, row) - _find_matching_cells(match.clause.text, row)
        for row in _INCOMPATIBLE_WORDS
    )


def _find_matching_cells(text: str, row: list[re.Pattern[str]]) -> set[int]:
    return {number for number, cell in enumerate(row) if cell.search(text)}


def reverses_sequence(alignment: SentenceAlignment) -> bool:
    """Returns whether a sentence puts last what the book puts first."""
    order = {id(clause): number for number, clause in enumerate(alignment.evidence_clauses)}
    return any(
        _SEQUENCE_WORD.match(after.clause.text)
        and not _CONDITION_WORD.match(before.clause.text)
        and any(
            {*before.known_terms} <= {*clause.terms}
            for clause in alignment.evidence_clauses[order[id(after.closest)] + 1 :]
            if _SEQUENCE_WORD.match(clause.text)
            and (clause.piece, clause.unit) == (after.closest.piece, after.closest.unit)
        )
        for before, after in pairwise(match for match in alignment.matches if match.supporting)
    )


_TRUTH_WORD = re.compile(
    r"\b(?:true|truth|truly|untrue|untruth|false\w*|wrong\w*|incorrect\w*|inaccurate\w*|mistak\w+|errs?|myths?|"
    r"misconceptions?|misbelief|li(?:e|es|ed|ar)|suppos\w+|alleged\w*|purported\w*|reputed\w*|so-called|claim\w*|"
    r"believe\w*|doubt\w*|rumou?r\w*|contrary|pretend\w*|nonsense|fictiti?on\w*|fictitious|hoax|joke|dubious|"
    r"question\w*|debunk\w*|refut\w*|disprov\w*|den(?:y|ies|ied))\b",
    re.I,
)
_TRUTH_FRAME = re.compile(
    r"\W*(?:it|this|that)\s+(?:is|was|seems|appears|remains)\b(?P<said>[^,;:.]{1,40}?)\b(?:that|to\s+say)\b", re.I
)
_OPENING_ADVERB = re.compile(r"\W*(?P<said>\w+ly)\b(?!\s+(?:when|if|on|in|for)\b)", re.I)
_NEXT_STATEMENT = re.compile(r"(?<=[.!?])[\s\"”’)]+(?=\S)|\s(?=[(\[])")
MIN_KNOWN_SHARE = 0.5
"""The share of known terms that a statement after the sentence needs."""


def has_same_hedging(alignment: SentenceAlignment) -> bool:
    """Returns whether the supporting text has all words about the truth of a sentence, and most of what follows it."""
    book = {*extract_clause_terms(alignment.supporting_text())}
    frames = [found["said"] for frame in (_TRUTH_FRAME, _OPENING_ADVERB) if (found := frame.match(alignment.sentence))]
    words = (*_TRUTH_WORD.findall(alignment.sentence), *frames)
    about = {term for word in words for term in extract_clause_terms(word)}
    return about <= book and all(
        _is_mostly_known(words, alignment) for words in _NEXT_STATEMENT.split(alignment.sentence)[1:]
    )


def _is_mostly_known(words: str, alignment: SentenceAlignment) -> bool:
    said = extract_clause_terms(words)
    return sum(map(alignment.has_term, said)) >= MIN_KNOWN_SHARE * len(said)


_ANTONYMS = (
    ("more greater", "less fewer"),
    ("high higher", "low lower"),
    ("large larger big bigger", "small smaller tiny little"),
    ("long longer", "short shorter"),
    ("fast faster quick quickly", "slow slower slowly"),
    (
        "increase increases increased increasing improves grow grows raise raises rise rises gain gains",
        "decrease decreases decreased decreasing reduce reduces reduced shrink shrinks lower lowers drop drops",
    ),
    ("same equal identical", "different"),
    ("easy easily easier", "hard difficult harder"),
    ("better best", "worse worst"),
    ("first before earlier sooner", "last after afterwards later"),
    ("inside within", "outside beyond"),
    ("above over", "below under"),
    ("many most", "few"),
    ("accept accepts accepted", "reject rejects rejected refuse refuses refused"),
    (
        "allow allows allowed enable enables permit permits",
        "forbid forbids disable disables prevent prevents prohibits",
    ),
    ("ascending", "descending"),
    ("local", "global"),
    ("internal", "external"),
    ("static", "dynamic"),
    ("maximum maximal maximise maximize", "minimum minimal minimise minimize"),
    ("start starts begin begins", "stop stops end ends"),
    ("push pushes", "pull pulls"),
    ("true", "false"),
    ("permanent", "temporary"),
    ("novel new unfamiliar", "old familiar"),
    ("overestimation", "underestimation"),
    ("hot warm", "cold cool"),
    ("strong", "weak"),
    ("wide", "narrow"),
    ("all every", "some several few"),
    ("half", "third"),
    ("half third", "quarter"),
)
_ANTONYM_SETS = [tuple(frozenset(words.split()) for words in pair) for pair in _ANTONYMS]
_WORD = re.compile(r"[a-z]+")


def has_antonym(said: str, book: str) -> bool:
    """Returns whether one text has the opposite of a word of the other."""
    here, there = ({*_WORD.findall(text.lower())} for text in (said, book))
    return any(
        here & one and not there & one and (there & other) - here
        for pair in _ANTONYM_SETS
        for one, other in (pair, pair[::-1])
    )
