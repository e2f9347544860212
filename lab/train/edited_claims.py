"""Small edits that make a supported sentence unsupported: exchanged terms, opposites, another scope, negations.

Most words of an edited sentence are still those of its premise, so a verifier must read how they are related.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

Edit = Callable[[str, str, random.Random], str | None]
MAX_CLAIM_CHARS = 400
MIN_TERM_CHARS = 3

_OPPOSITES = """increase decrease|increases decreases|increased decreased|increasing decreasing|higher lower|high low
highest lowest|larger smaller|large small|largest smallest|more less|most least|maximum minimum|greater smaller
before after|first last|earlier later|early late|start end|starts ends|begin end|begins ends|above below|upper lower
inside outside|internal external|left right|top bottom|front back|forward backward|up down|input output|inputs outputs
client server|clients servers|parent child|public private|local global|local remote|static dynamic|enable disable
enables disables|enabled disabled|add remove|adds removes|added removed|allow prevent|allows prevents|allowed forbidden
open close|opens closes|opened closed|same different|similar different|positive negative|true false|fast slow
faster slower|long short|longer shorter|strong weak|stronger weaker|hot cold|hotter colder|cheap expensive|easy hard
easier harder|simple complex|required optional|mandatory optional|automatically manually|automatic manual|with without
including excluding|include exclude|includes excludes|read write|reads writes|send receive|sends receives|gain lose
succeeds fails|success failure|valid invalid|visible hidden|rows columns|row column|horizontal vertical|source target
sender receiver|cause prevent|causes prevents|accept reject|accepts rejects|rises falls|rise fall|wide narrow
light heavy|lighter heavier|near far|older newer|old new|oldest newest|buy sell|supply demand|even odd|common rare
often rarely|usually rarely|always never|all none|both neither|each no|many few|everything nothing|deep shallow
synchronous asynchronous|mutable immutable|explicit implicit|explicitly implicitly|encrypts decrypts|encode decode
install uninstall|absorbs releases|attract repel|north south|east west|parallel sequential|unless if|until after"""
_SCOPES = """some all|some most|many all|several all|often always|usually always|sometimes always|typically always
most all|few all|can must|may must|might must|could must|should must|may will|can cannot|must may|should may
must should|recommended required|required recommended|possible necessary|likely certain|partly completely
at_least at_most|at_least exactly|at_most exactly|more_than less_than|up_to at_least|a_few all|one_of all_of
in_addition_to instead_of|instead_of in_addition_to|as_well_as but_not|because although|so_that even_though
if only_if|when only_when|during after|before during|while after|every some|any every|about exactly|nearly exactly"""


def _parse_pairs(text: str, both_ways: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in text.replace("\n", "|").split("|"):
        one, other = (word.replace("_", " ") for word in pair.split())
        found.setdefault(one, []).append(other)
        if both_ways:
            found.setdefault(other, []).append(one)
    return found


OPPOSITES, SCOPES = _parse_pairs(_OPPOSITES, both_ways=True), _parse_pairs(_SCOPES, both_ways=False)
_NEGATABLE = re.compile(r"\b(is|are|was|were|can|should|must|will|may|might|does|do|did|has to|have been|has been)\b")
_NEGATED = re.compile(r"\b(?:(is|are|was|were|can|should|must|will|may|does|do|did) ?not|(can)not)\b", re.IGNORECASE)
_ONLY = re.compile(r"\b(?:only|also|just|solely|exclusively) ", re.IGNORECASE)
_PREPOSITION = re.compile(r"\b(for|in|on|by|with|from|to|at|when|if) ")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)")
_CODE = re.compile(r"`[^`\s]{2,40}`|\b\w+(?:_\w+)+\b|\b[a-z]+(?:[A-Z][a-z]+)+\b|\b\w+\.\w+\(\)?|(?<!\S)--?[a-z][\w-]+")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z0-9]{2,}(?: [A-Z][a-z]{2,})*\b|\b[A-Z]{2,}[0-9]*\b")
_NOUN = re.compile(
    r"(?<=\bthe )[a-z]{4,}(?: [a-z]{4,})?(?= (?:is|are|of|in|to|and|that|which|for|on|with|can|must)\b|[,.;])"
)
TERMS = (_NUMBER, _CODE, _NAME, _NOUN)
_SYMMETRIC = re.compile(r"[\s,]*(?:and|or|nor|,|/|vs\.?|versus|to|through)?[\s,]*(?:the |an? )?", re.IGNORECASE)


def replace_word(pairs: dict[str, list[str]]) -> Edit:
    """An edit that replaces one word or phrase by its counterpart."""
    pattern = re.compile(r"\b(" + "|".join(sorted(map(re.escape, pairs), key=len, reverse=True)) + r")\b")

    def edit(claim: str, _premise: str, rng: random.Random) -> str | None:
        found = list(pattern.finditer(claim))
        if not found:
            return None
        chosen = rng.choice(found)
        return claim[: chosen.start()] + rng.choice(pairs[chosen[1]]) + claim[chosen.end() :]

    return edit


def negate(claim: str, _premise: str, rng: random.Random) -> str | None:
    """Removes a negation, or adds one."""
    if found := _NEGATED.search(claim):
        return claim[: found.start()] + (found[1] or found[2]) + claim[found.end() :]
    places = list(_NEGATABLE.finditer(claim))
    if not places:
        return None
    chosen = rng.choice(places)
    negated = "cannot" if chosen[1] == "can" else "does not have to" if chosen[1] == "has to" else f"{chosen[1]} not"
    return claim[: chosen.start()] + negated + claim[chosen.end() :]


def change_only(claim: str, premise: str, rng: random.Random) -> str | None:
    """Removes "only", or adds it where the premise never says it."""
    if found := _ONLY.search(claim):
        return claim[: found.start()] + claim[found.end() :] if "only" in found[0].lower() else None
    places = list(_PREPOSITION.finditer(claim))
    if not places or "only" in premise.lower():
        return None
    at = rng.choice(places).start()
    return f"{claim[:at]}only {claim[at:]}"


def exchange_terms(claim: str, _premise: str, rng: random.Random) -> str | None:
    """Exchanges two terms of one kind, unless they stand side by side in a list."""
    for kind in rng.sample(TERMS, len(TERMS)):
        found = [term for term in kind.finditer(claim) if len(term[0]) >= MIN_TERM_CHARS or kind is _NUMBER]
        pairs = [
            (one, other)
            for i, one in enumerate(found)
            for other in found[i + 1 :]
            if one[0].lower() != other[0].lower() and not _SYMMETRIC.fullmatch(claim[one.end() : other.start()])
        ]
        if pairs:
            one, other = rng.choice(pairs)
            between = claim[one.end() : other.start()]
            return claim[: one.start()] + other[0] + between + one[0] + claim[other.end() :]
    return None


def replace_by_neighbour(claim: str, premise: str, rng: random.Random) -> str | None:
    """Replaces a term by another of its kind that the premise has and the claim has not."""
    for kind in rng.sample(TERMS, len(TERMS)):
        found = list(kind.finditer(claim))
        others = sorted({term[0] for term in kind.finditer(premise) if term[0].lower() not in claim.lower()})
        if found and others:
            chosen = rng.choice(found)
            return claim[: chosen.start()] + rng.choice(others) + claim[chosen.end() :]
    return None


EDITS: tuple[Edit, ...] = (
    replace_word(OPPOSITES),
    replace_word(SCOPES),
    negate,
    change_only,
    exchange_terms,
    replace_by_neighbour,
)


def edit_claim(claim: str, premise: str, rng: random.Random, count: int) -> Iterator[str]:
    """Up to so many different edits of a claim; none of them is in the premise."""
    if len(claim) > MAX_CLAIM_CHARS:
        return
    made: set[str] = set()
    for edit in rng.sample(EDITS, len(EDITS)):
        edited = edit(claim, premise, rng)
        if edited and edited not in made and edited.lower() != claim.lower() and edited.lower() not in premise.lower():
            made.add(edited)
            yield edited
            if len(made) == count:
                return
