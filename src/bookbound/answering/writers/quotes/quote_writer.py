"""Answers in the book's own words."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

from bookbound.answering.writers.quotes.excerpt import MAX_QUOTED_PASSAGES, Excerpt, is_repeated
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.question import NO_DEADLINE, Deadline, Understanding
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence, WriterEvent
from bookbound.text import is_exercise

MIN_RIVAL_SHARE = 0.8
"""Probability relative to the best for a part that words need to be taken instead, from a passage with another part."""
MAX_CLOSEST_PIECES = 2
MIN_CLOSEST_SHARE = 0.7
"""Probability relative to the best that a second passage of an unsure reply needs."""
MAX_CLOSEST_LINES = 12
"""An unsure reply shows no longer code."""
MAX_CLOSEST_WORDS = 60
"""The second passage of an unsure reply has no more."""


class QuoteWriter:
    """Quotes the words that answer, with what they need to be understood, each with its citation.

    The best passage comes first; another follows if the question has several parts or it says something new.
    """

    name = "quotes"

    async def write(
        self,
        understanding: Understanding,
        passages: Sequence[Passage],
        judgement: Judgement,
        deadline: Deadline = NO_DEADLINE,
    ) -> AsyncGenerator[WriterEvent]:
        # The statement that the answer is partial is a sentence too.
        room = MAX_ANSWER_SENTENCES - (judgement.is_partial or bool(judgement.unsure_parts))
        facts = [passage for passage in passages if not is_exercise(passage.chunk)]
        excerpt = Excerpt(understanding.terms, understanding.wants, facts, room)
        sure = [each for each in judgement.evidence if each.part not in judgement.unsure_parts]
        for piece in _order_by_part(sure, understanding.wants.code):
            excerpt.add(piece)
        excerpt.widen()
        for evidence in excerpt.in_order():
            yield AnswerSentence(evidence.text, (evidence,))


def quote_closest(
    understanding: Understanding, passages: Sequence[Passage], judgement: Judgement, *, with_exercises: bool = False
) -> tuple[Evidence, ...]:
    """Returns the whole units that contain the evidence, best passage first, one or two pieces for each passage."""
    by_id = {passage.chunk.id: passage for passage in passages if with_exercises or not is_exercise(passage.chunk)}
    # What may not be the answer is no reason to show a whole list.
    wants = replace(understanding.wants, list_terms=frozenset())
    quotes: dict[str, list[Evidence]] = {}
    for name in dict.fromkeys(piece.chunk_id for piece in judgement.evidence if piece.chunk_id in by_id):
        excerpt = Excerpt(understanding.terms, wants, [by_id[name]], MAX_CLOSEST_PIECES)
        for piece in judgement.evidence:
            excerpt.add(piece)
        known = [quote for other in quotes.values() for quote in other]
        quotes[name] = [quote for quote in excerpt.in_order() if not is_repeated(quote, known)]
    found = [found for found in quotes.values() if found]
    chosen = [each for each in found if not any(map(_is_long_code, each))] or found[:1]
    best = max((quote.probability for each in chosen for quote in each), default=0.0)
    kept = [each for at, each in enumerate(chosen) if at == 0 or _is_worth_showing(each, best)]
    return tuple(quote for each in kept[:MAX_QUOTED_PASSAGES] for quote in each)


def _is_long_code(quote: Evidence) -> bool:
    return quote.kind == "code" and quote.text.count("\n") >= MAX_CLOSEST_LINES


def _is_worth_showing(quotes: Sequence[Evidence], best: float) -> bool:
    """Returns whether the quotes from a further passage are nearly as probable as the best, and short."""
    is_likely = max(quote.probability for quote in quotes) >= MIN_CLOSEST_SHARE * best
    return is_likely and sum(len(quote.text.split()) for quote in quotes) <= MAX_CLOSEST_WORDS


def _order_by_part(evidence: Sequence[Evidence], wants_code: bool) -> list[Evidence]:
    """Returns the best for each part in the order of the question, then the rest, best first.

    Of words that are nearly as probable, those in a passage that answers another part best are taken, or in a table if
    there are several parts, or in a sentence instead of code; the best that they replace are left out.
    """
    leaders = {piece.part: piece for piece in reversed(evidence)}
    best = dict(leaders)
    for part, leader in leaders.items():
        others = {piece.chunk_id for other, piece in best.items() if other != part}
        rivals = [p for p in evidence if p.part == part and p.probability >= MIN_RIVAL_SHARE * leader.probability]
        shared = next((rival for rival in rivals if rival.chunk_id in others), leader)
        # A table may answer the other parts too.
        tabled = [rival for rival in rivals if len(leaders) > 1 and _has_kind(rival, "row")]
        shared = tabled[0] if tabled and shared is leader else shared
        # A sentence says what a line of code only shows.
        said = [rival for rival in rivals if rival.chunk_id != shared.chunk_id and not _has_kind(rival, "code")]
        best[part] = said[0] if said and _has_kind(shared, "code") and not wants_code else shared
    first = [best[part] for part in sorted(best)]
    return [*first, *(piece for piece in evidence if piece not in [*first, *leaders.values()])]


def _has_kind(piece: Evidence, kind: str) -> bool:
    """Returns whether a piece begins in a unit of a kind."""
    units = piece.chunk.units if piece.chunk else ()
    return any(unit.kind == kind and unit.start <= piece.start < unit.end for unit in units)
