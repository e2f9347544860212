from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from bookbound.book import Passage
from bookbound.dialogue import Sentence
from bookbound.finding import Evidence
from bookbound.judge.grounding import ground
from bookbound.judge.verbatim import VerbatimVerifier

Make = Callable[..., Passage]


async def grounded(*drafted: Sentence) -> list[Sentence]:
    async def draft() -> AsyncGenerator[Sentence]:
        for sentence in drafted:
            yield sentence

    return [sentence async for sentence in ground(draft(), VerbatimVerifier())]


def test_a_sentence_in_the_books_own_words_stays_and_says_how_surely(passage: Make) -> None:
    evidence = Evidence.of(passage("It walks at 1.2 m/s.\nIt  stops."), 0, 31, 0.9)
    (kept,) = asyncio.run(grounded(Sentence("It walks at 1.2 m/s. It stops.", (evidence,))))
    assert kept.support == 1.0


def test_a_sentence_with_a_changed_number_goes(passage: Make) -> None:
    evidence = Evidence.of(passage("It walks at 1.2 m/s."), 0, 20, 0.9)
    assert asyncio.run(grounded(Sentence("It walks at 1.3 m/s.", (evidence,)))) == []


def test_a_sentence_without_evidence_goes_and_the_others_stay(passage: Make) -> None:
    evidence = Evidence.of(passage("It walks."), 0, 9, 0.9)
    kept = asyncio.run(
        grounded(Sentence("It flies.", ()), Sentence("", (evidence,)), Sentence("It walks.", (evidence,)))
    )
    assert [sentence.text for sentence in kept] == ["It walks."]
