from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bookbound.answer.quotes import MOST, Quotes
from bookbound.book import Chunk, Passage, Place, Run
from bookbound.dialogue import Question, Sentence
from bookbound.finding import Evidence, Judgement

TEXT = "It walks. It stops. It turns. It rests. It sleeps."


def make(name: str, file: str = "a.md", at: int = 0) -> Passage:
    place = Place(file, "/a", "Motion", "Walking", (), "", at, at + len(TEXT))
    return Passage(Chunk(name, TEXT, place, 0, (Run(0, len(TEXT), at, at + len(TEXT)),)), 0.6)


def written(*evidence: Evidence, passages: Sequence[Passage] = ()) -> list[Sentence]:
    async def write() -> list[Sentence]:
        found = passages or [make("a"), make("b")]
        judgement = Judgement(0.9, ("a",), evidence, "Partial")
        return [s async for s in Quotes().write(Question("Does it walk?"), found, judgement)]

    return asyncio.run(write())


def test_the_likeliest_sentence_is_quoted_with_its_citation() -> None:
    best = Evidence.of(make("a"), 0, 9, 0.9)
    assert written(best) == [Sentence("It walks.", (best,))]


def test_sentences_come_in_reading_order() -> None:
    late, early = Evidence.of(make("a"), 20, 29, 0.9), Evidence.of(make("a"), 0, 9, 0.8)
    assert [sentence.text for sentence in written(late, early)] == ["It walks.", "It turns."]


def test_pieces_of_one_file_come_in_its_order_and_files_in_that_of_their_best_passage() -> None:
    found = [make("b2", "b.md", 500), make("a", "a.md", 0), make("b1", "b.md", 100)]
    late, other, early = found
    pieces = [Evidence.of(other, 0, 9, 0.9), Evidence.of(late, 10, 19, 0.8), Evidence.of(early, 20, 29, 0.8)]
    said = written(*pieces, Evidence.of(late, 0, 9, 0.7), passages=found)
    assert [(s.evidence[0].place.file, s.text) for s in said] == [
        ("b.md", "It turns."),
        ("b.md", "It stops."),
        ("a.md", "It walks."),
    ]


def test_a_much_less_likely_sentence_is_left_out() -> None:
    best, far = Evidence.of(make("a"), 0, 9, 0.9), Evidence.of(make("a"), 20, 29, 0.2)
    assert [sentence.text for sentence in written(best, far)] == ["It walks."]


def test_the_same_words_are_said_once() -> None:
    assert len(written(Evidence.of(make("a"), 0, 9, 0.9), Evidence.of(make("b"), 0, 9, 0.9))) == 1


def test_an_answer_is_short() -> None:
    spans = [(0, 9), (10, 19), (20, 29), (30, 39), (40, 50)]
    assert len(written(*(Evidence.of(make("a"), *span, 0.9) for span in spans))) == MOST
