"""Which passages the fast and the strong reader read, and what follows from their readings."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import log

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.answering.conftest import ScriptedReader

from bookbound.answering.reading.answerability import (
    FIRST_PASSAGES,
    MAX_FAST_PASSAGES,
    MAX_STRONG_PASSAGES,
    MIN_SCORE,
    UNREAD_PASSAGE,
    CrossEncoderAssessor,
    compute_question_features,
    compute_search_ranks,
    weigh_by_rank,
)
from bookbound.answering.reading.answering_words import WORDS_FEATURES
from bookbound.answering.understanding import understand_part
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment
from bookbound.domain.ports import Assessor
from bookbound.domain.question import MAX_PASSAGES, NO_DEADLINE, SELECTION_CHUNK_ID, Deadline
from bookbound.models.cross_encoder import CrossEncoder, log_odds, logistic_probability

Make = Callable[..., Passage]
GAIT = "A gait is a pattern of steps. The trot moves diagonal legs together. It reaches 2.5 m/s on flat ground."
POWER = "The battery holds 900 Wh and lasts about two hours. It takes 90 minutes to charge with the 600 W charger."
SEEING = "A stereo camera sees depth up to ten metres. Beyond that, the lidar takes over."
QUESTION = "Which legs move together in a trot?"
ODD = [
    "",
    " \n ",
    "\u200b\u200d",
    "İstanbul straße cafe\u0301 re\u0301sume\u0301 ﬁne ½",
    "नमस्ते दुनिया ก็ได้",
    "漢字かな混じり文。한국어 문장입니다.",
    "robots 👩‍🚀👍🏽 walk 🤖\ufe0f",
    "a\x00b\x1fc\ufffdd\u202ee",
    "x" * 3000,
    "word " * 2500,
    "| a | b |\n|---|---|\n```\n    code()\n```",
]
ANSWERS, MAY_ANSWER, MISSES = 0.9, 0.2, 0.01
"""Probabilities that are far from every threshold of the cascade."""
NOTHING = 0.001
"""More than the fitted function gives to a passage that was not read."""
UNCOVERED = "Which legs move together in a gallop?"
"""A question with a term that no block has, so that the readings stay as they are."""


def assess(assessor: Assessor, question: str, *passages: Passage, deadline: Deadline = NO_DEADLINE) -> Assessment:
    return asyncio.run(assessor.assess(understand_part(question), passages, deadline))


@pytest.fixture
def passages(passage: Make) -> list[Passage]:
    """As many passages as a search finds, with the names "0" to "19"."""
    return [passage(GAIT, f"{i}") for i in range(MAX_PASSAGES)]


def numbers(count: int) -> list[str]:
    return [f"{i}" for i in range(count)]


# The fast reader


def test_the_fast_reader_stops_if_one_of_the_first_passages_answers(passages: list[Passage]) -> None:
    fast = ScriptedReader({"4": ANSWERS})
    assessment = assess(CrossEncoderAssessor(fast), QUESTION, *passages)
    assert fast.names == numbers(FIRST_PASSAGES)
    assert assessment.readings[FIRST_PASSAGES:] == (UNREAD_PASSAGE,) * (MAX_PASSAGES - FIRST_PASSAGES)


def test_the_fast_reader_reads_on_if_it_is_open_whether_the_first_passages_answer(passages: list[Passage]) -> None:
    fast = ScriptedReader({"4": MAY_ANSWER, "15": ANSWERS})
    assessment = assess(CrossEncoderAssessor(fast), QUESTION, *passages)
    assert fast.names == numbers(MAX_FAST_PASSAGES)
    assert assessment.readings[15].probability == pytest.approx(ANSWERS)
    assert assessment.readings[MAX_FAST_PASSAGES:] == (UNREAD_PASSAGE,) * (MAX_PASSAGES - MAX_FAST_PASSAGES)


def test_the_fast_reader_stops_if_the_first_passages_clearly_do_not_answer(passages: list[Passage]) -> None:
    fast = ScriptedReader({"7": ANSWERS})
    assessment = assess(CrossEncoderAssessor(fast), QUESTION, *passages)
    assert fast.names == numbers(FIRST_PASSAGES)
    assert assessment.probability < 0.02


@pytest.mark.parametrize("count", [1, FIRST_PASSAGES, FIRST_PASSAGES + 1])
def test_a_few_passages_are_all_read_if_the_verdict_is_open(passages: list[Passage], count: int) -> None:
    fast = ScriptedReader(MAY_ANSWER)
    assess(CrossEncoderAssessor(fast), QUESTION, *passages[:count])
    assert fast.names == numbers(count)


def test_without_a_strong_reader_the_fast_one_decides_and_finds_the_words(passages: list[Passage]) -> None:
    fast = ScriptedReader({"0": MAY_ANSWER, "1": ANSWERS})
    fast.constants = replace(fast.constants, question={"best": 2.0, "constant": 0.5})
    assessment = assess(CrossEncoderAssessor(fast), QUESTION, *passages)
    assert assessment.probability == pytest.approx(logistic_probability({"x": 1.0}, {"x": 2 * log(9) + 0.5}))
    assert [len(reading.spans) for reading in assessment.readings[:3]] == [1, 1, 1]
    assert assessment.readings[1].probability == pytest.approx(ANSWERS)


# The strong reader


def test_the_strong_reader_reads_only_the_best_of_the_fast_one_and_each_alone(passages: list[Passage]) -> None:
    fast = ScriptedReader({"0": 0.3, "1": 0.7, "3": 0.6, "4": 0.5, "5": 0.4})
    strong = ScriptedReader(MAY_ANSWER)
    assess(CrossEncoderAssessor(fast, strong), QUESTION, *passages)
    assert strong.calls == [["1"], ["3"], ["4"], ["5"]]
    assert len(strong.calls) == MAX_STRONG_PASSAGES


def test_the_strong_reader_stops_if_a_passage_answers_and_leads_the_next(passages: list[Passage]) -> None:
    strong = ScriptedReader(0.95)
    assess(CrossEncoderAssessor(ScriptedReader({"2": 0.8, "3": 0.3}), strong), QUESTION, *passages)
    assert strong.calls == [["2"]]


def test_the_strong_reader_reads_on_if_the_next_passage_is_nearly_as_probable(passages: list[Passage]) -> None:
    strong = ScriptedReader(0.8)
    assess(CrossEncoderAssessor(ScriptedReader({"2": 0.85, "3": 0.8}), strong), QUESTION, *passages)
    assert strong.calls == [["2"], ["3"]]


def test_the_strong_reader_reads_on_if_only_the_next_passage_may_answer(passages: list[Passage]) -> None:
    strong = ScriptedReader({"2": MISSES, "3": 0.95})
    assessment = assess(CrossEncoderAssessor(ScriptedReader({"2": 0.8, "3": 0.6}), strong), QUESTION, *passages)
    assert strong.calls == [["2"], ["3"]]
    assert assessment.probability == pytest.approx(0.95)


def test_the_strong_reader_stops_if_neither_its_passages_nor_the_next_one_answer(passages: list[Passage]) -> None:
    strong = ScriptedReader(MISSES)
    assess(CrossEncoderAssessor(ScriptedReader({"2": 0.8}), strong), QUESTION, *passages)
    assert strong.calls == [["2"]]


def test_the_strong_reader_stops_after_one_passage_if_the_time_is_over(passages: list[Passage]) -> None:
    strong = ScriptedReader(MAY_ANSWER)
    cascade = CrossEncoderAssessor(ScriptedReader(0.4), strong)
    assess(cascade, QUESTION, *passages, deadline=Deadline.after(-1.0))
    assert len(strong.calls) == 1
    assess(cascade, QUESTION, *passages, deadline=Deadline.after(60.0))
    assert len(strong.calls) == 1 + MAX_STRONG_PASSAGES


def test_the_only_passage_is_read_by_both(passages: list[Passage]) -> None:
    fast, strong = ScriptedReader(MAY_ANSWER), ScriptedReader(MAY_ANSWER)
    assess(CrossEncoderAssessor(fast, strong), QUESTION, passages[0])
    assert (fast.names, strong.names) == (["0"], ["0"])


def test_the_strong_reader_decides_with_its_own_weights(passages: list[Passage]) -> None:
    fast, strong = ScriptedReader({"0": MAY_ANSWER}), ScriptedReader(0.8)
    strong.constants = replace(strong.constants, question={"best": 1.0, "fast": 0.5, "constant": -1.0})
    assessment = assess(CrossEncoderAssessor(fast, strong), QUESTION, *passages)
    assert log_odds(assessment.probability) == pytest.approx(log(4) + 0.5 * log(0.25) - 1)


def test_passages_that_the_strong_reader_did_not_read_have_no_words_and_are_not_above_its_own(
    passages: list[Passage],
) -> None:
    fast = ScriptedReader({"0": 0.8, "1": 0.75, "2": 0.7, "3": 0.6, "4": 0.55, "5": 0.5})
    strong = ScriptedReader({"0": 0.1, "1": 0.3, "2": 0.2, "3": 0.4})
    readings = assess(CrossEncoderAssessor(fast, strong), UNCOVERED, *passages).readings
    assert strong.names == numbers(4)
    assert [reading.probability for reading in readings[:4]] == pytest.approx([0.1, 0.3, 0.2, 0.4])
    assert all(reading.spans for reading in readings[:4])
    assert [reading.probability for reading in readings[4:6]] == pytest.approx([0.1, 0.1])
    assert [reading.spans for reading in readings[4:6]] == [(), ()]
    assert readings[6:] == (UNREAD_PASSAGE,) * (MAX_PASSAGES - 6)


def test_a_passage_that_both_readers_find_improbable_keeps_the_lower_probability(passages: list[Passage]) -> None:
    fast, strong = ScriptedReader({"0": 0.8, "1": 0.3}), ScriptedReader(0.95)
    readings = assess(CrossEncoderAssessor(fast, strong), QUESTION, *passages).readings
    assert [reading.probability for reading in readings[:3]] == pytest.approx([0.95, 0.3, MISSES])


# Questions that are not read


def test_nothing_is_read_if_no_passage_is_similar_to_the_question_or_shares_its_words(passage: Make) -> None:
    fast, strong = ScriptedReader(ANSWERS), ScriptedReader(ANSWERS)
    passages = [passage("Paraffin is kept in the cellar.", f"{i}", MIN_SCORE - 0.01) for i in range(3)]
    found = assess(CrossEncoderAssessor(fast, strong), QUESTION, *passages)
    assert found.is_off_topic
    assert found.probability < NOTHING
    assert found.readings == (UNREAD_PASSAGE,) * 3
    assert fast.calls == strong.calls == []
    for similar in (passage("Oil.", "similar", MIN_SCORE), passage(GAIT, "shares words", MIN_SCORE - 0.01)):
        fast, strong = ScriptedReader(ANSWERS), ScriptedReader(ANSWERS)
        assert not assess(CrossEncoderAssessor(fast, strong), QUESTION, *passages, similar).is_off_topic
        assert len(fast.names) == 4


def test_without_passages_there_is_no_answer() -> None:
    assert assess(CrossEncoderAssessor(ScriptedReader(ANSWERS)), QUESTION) == Assessment(0.0, ())


def test_a_deictic_question_means_the_whole_selection(passage: Make) -> None:
    fast = ScriptedReader(ANSWERS)
    found = assess(
        CrossEncoderAssessor(fast), "What does this mean?", passage(GAIT, SELECTION_CHUNK_ID, 0.0), passage(POWER)
    )
    assert found.probability > 1 - NOTHING
    assert len(found.readings[0].spans) == 3
    assert found.readings[1].probability == 0.0
    assert fast.calls == []


@pytest.mark.parametrize("selection", [".", "a", "— … —"])
def test_a_selection_without_terms_is_no_answer(passage: Make, selection: str) -> None:
    found = passage(selection, SELECTION_CHUNK_ID)
    assert assess(CrossEncoderAssessor(ScriptedReader(ANSWERS)), "Explain this", found).probability < NOTHING


@pytest.mark.parametrize("question", ["What does this mean?", "Why?", "?", "🤖"])
def test_a_question_without_terms_has_no_answer_in_the_book(passage: Make, question: str) -> None:
    assert assess(CrossEncoderAssessor(ScriptedReader(ANSWERS)), question, passage(GAIT)).probability < NOTHING


@pytest.mark.parametrize("question", ["Why?", "How so?"])
def test_a_question_that_does_not_point_at_the_selection_has_no_answer_in_it(passage: Make, question: str) -> None:
    selection = passage(GAIT, SELECTION_CHUNK_ID)
    assert assess(CrossEncoderAssessor(ScriptedReader(ANSWERS)), question, selection).probability < NOTHING


# Selections


@pytest.mark.parametrize("is_strong", [True, False])
def test_a_selection_alone_has_its_own_calibration(passage: Make, is_strong: bool) -> None:
    fast, strong = ScriptedReader(0.5), ScriptedReader(0.5)
    fast.constants = replace(fast.constants, question={"constant": -9.0}, selection={"constant": 1.0})
    strong.constants = replace(strong.constants, question={"constant": -9.0}, selection={"constant": 2.0})
    cascade = CrossEncoderAssessor(fast, strong if is_strong else None)
    selection = passage(GAIT, SELECTION_CHUNK_ID)
    assert log_odds(assess(cascade, QUESTION, selection).probability) == pytest.approx(2.0 if is_strong else 1.0)
    assert log_odds(assess(cascade, QUESTION, selection, passage(POWER)).probability) == pytest.approx(-9.0)


@pytest.mark.parametrize("probability", [ANSWERS, MISSES])
def test_both_readers_read_a_selection_whatever_its_score(passage: Make, probability: float) -> None:
    fast, strong = ScriptedReader(probability), ScriptedReader(probability)
    assessment = assess(CrossEncoderAssessor(fast, strong), QUESTION, passage(GAIT, SELECTION_CHUNK_ID, 0.0))
    assert fast.calls == strong.calls == [[SELECTION_CHUNK_ID]]
    assert assessment.readings[0].probability == pytest.approx(probability)


def test_the_score_of_a_selection_changes_its_probability(passage: Make) -> None:
    reader = ScriptedReader(0.5)
    reader.constants = replace(reader.constants, selection={"best": 1.0, "score": 1.0, "constant": 0.0})
    far, near = (
        assess(CrossEncoderAssessor(reader), QUESTION, passage(GAIT, SELECTION_CHUNK_ID, score)).probability
        for score in (0.2, 0.8)
    )
    assert [far, near] == pytest.approx([0.2, 0.8])


def test_a_similar_selection_has_the_passages_of_the_book_read_too(passage: Make) -> None:
    fast = ScriptedReader(MAY_ANSWER)
    passages = [passage(GAIT, SELECTION_CHUNK_ID, 0.9), passage(POWER, "a", 0.0)]
    assess(CrossEncoderAssessor(fast), QUESTION, *passages)
    assert fast.names == [SELECTION_CHUNK_ID, "a"]


# Features and ranks


def test_the_features_are_those_of_the_most_probable_strong_reading(passage: Make) -> None:
    passages = [passage("a", "a", 0.7), passage("b", "b", 0.4), passage("c", "c", 0.9)]
    fast = {
        0: PassageAssessment(0.2),
        1: PassageAssessment(0.9, (AnswerSpan(0, 4, 0.8),)),
        2: PassageAssessment(0.95, (AnswerSpan(0, 4, 0.8),)),
    }
    strong = {0: PassageAssessment(0.3), 1: PassageAssessment(0.5, (AnswerSpan(2, 6, 0.4),))}
    features = compute_question_features(understand_part("How fast does the robot walk?"), passages, fast, strong)
    expected = {
        "best": 0.0,
        "sharpness": pytest.approx(0.8),
        "score": pytest.approx(log(2 / 3)),
        "distance": pytest.approx(log(2 / 3)),
        "rank": pytest.approx(log(2)),
        "length": pytest.approx(log(4)),  # fast, robot, walk
        "fast": pytest.approx(log(9)),
        "agreement": pytest.approx(1 / 3),  # 2 of 6 characters
    }
    assert features == expected | dict.fromkeys(WORDS_FEATURES, 0.0)


@pytest.mark.parametrize(("weight", "is_surer"), [(2.0, True), (0.0, False), (-1.0, False)])
def test_words_that_answer_by_their_place_are_a_feature_with_a_fitted_weight(
    passages: list[Passage], weight: float, is_surer: bool
) -> None:
    reader = ScriptedReader({"0": 0.4})
    reader.constants = replace(reader.constants, question={"best": 1.0, "covered": weight, "constant": 0.0})
    found = assess(CrossEncoderAssessor(reader), QUESTION, *passages)
    assert log_odds(found.probability) == pytest.approx(log(2 / 3) + weight)
    assert found.readings[0].spans[0].probability == pytest.approx(found.probability)
    assert (found.probability > 0.4 + NOTHING) is is_surer


def test_without_strong_readings_the_features_are_those_of_the_fast_ones(passage: Make) -> None:
    passages = [passage("a", "a", 0.5), passage("b", "b", 0.8)]
    fast = {0: PassageAssessment(0.2), 1: PassageAssessment(0.8, (AnswerSpan(0, 1, 0.8),))}
    features = compute_question_features(understand_part("How fast is it?"), passages, fast, {})
    assert [features["best"], features["score"]] == pytest.approx([log(4), log(4)])
    assert (features["fast"], features["agreement"]) == (features["best"], 1.0)


@pytest.mark.parametrize(
    ("one", "other", "agreement"), [((0, 4), (4, 8), 0.0), ((0, 4), (0, 4), 1.0), ((0, 4), (1, 3), 0.5)]
)
def test_the_agreement_is_the_overlap_of_the_first_spans(
    passage: Make, one: tuple[int, int], other: tuple[int, int], agreement: float
) -> None:
    fast, strong = ({0: PassageAssessment(0.9, (AnswerSpan(*span, 0.9),))} for span in (one, other))
    assert compute_question_features(understand_part("How?"), [passage("a")], fast, strong)["agreement"] == agreement
    without = {0: PassageAssessment(0.9)}
    assert compute_question_features(understand_part("How?"), [passage("a")], without, strong)["agreement"] == 0.0


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_extreme_probabilities_and_scores_have_finite_features(passage: Make, sure: float) -> None:
    features = compute_question_features(
        understand_part("How?"), [passage("a", score=sure)], {0: PassageAssessment(sure)}, {}
    )
    weights = dict.fromkeys(features, 1.0)
    assert 0 < logistic_probability(weights, features) < 1


def test_a_logistic_model_uses_only_its_own_features() -> None:
    assert logistic_probability({"constant": 0.0}, {"best": 5.0}) == 0.5
    assert logistic_probability({"best": 1.0, "constant": -5.0}, {"best": 5.0, "score": 3.0}) == 0.5
    with pytest.raises(KeyError):
        logistic_probability({"besst": 1.0, "constant": 0.0}, {"best": 5.0})


RANK_WEIGHTS = {"odds": 1.0, "place": -1.0, "constant": 0.0}


def test_the_first_rank_does_not_change_a_reading() -> None:
    reading = PassageAssessment(0.6, (AnswerSpan(0, 3, 0.45), AnswerSpan(4, 6, 0.1)))
    weighed = weigh_by_rank(RANK_WEIGHTS, reading, 0)
    assert weighed.probability == pytest.approx(0.6)
    assert [span.probability for span in weighed.spans] == pytest.approx([0.45, 0.1])


def test_a_low_rank_lowers_the_probability() -> None:
    first, unsure, sure = (
        weigh_by_rank(RANK_WEIGHTS, PassageAssessment(p), at).probability
        for p, at in ((0.5, 0), (0.9, 19), (0.999, 19))
    )
    assert unsure < first < sure


def test_spans_keep_their_share_of_a_weighed_reading() -> None:
    weighed = weigh_by_rank(RANK_WEIGHTS, PassageAssessment(0.8, (AnswerSpan(0, 3, 0.8), AnswerSpan(4, 6, 0.2))), 5)
    assert weighed.probability < 0.8
    assert [span.probability / weighed.probability for span in weighed.spans] == pytest.approx([1.0, 0.25])


def test_each_reading_is_weighed_by_the_search_rank_of_its_passage(passages: list[Passage]) -> None:
    fast = ScriptedReader(0.5)
    fast.constants = replace(fast.constants, rank=RANK_WEIGHTS)
    readings = assess(CrossEncoderAssessor(fast), QUESTION, *passages[:3]).readings
    assert [log_odds(reading.probability) for reading in readings] == pytest.approx([0.0, -log(2), -log(3)])


def test_a_selection_has_no_rank_and_changes_none(passage: Make) -> None:
    reading = PassageAssessment(0.6, (AnswerSpan(0, 3, 0.45),))
    assert weigh_by_rank(RANK_WEIGHTS, reading, None) is reading
    selected = [passage("s", SELECTION_CHUNK_ID), passage("a", "a"), passage("b", "b")]
    assert compute_search_ranks(selected) == [None, 0, 1]
    readings = [PassageAssessment(0.1), PassageAssessment(0.2), PassageAssessment(0.9)]
    rank, rank_without = (
        compute_question_features(
            understand_part("How fast is it?"), selected[first:], dict(enumerate(readings[first:])), {}
        )["rank"]
        for first in (0, 1)
    )
    assert rank == rank_without


def test_an_unread_passage_stays_unread_at_any_rank() -> None:
    assert weigh_by_rank(RANK_WEIGHTS, PassageAssessment(0.0), 3) == PassageAssessment(0.0)


@pytest.mark.parametrize("name", ["fast", "strong"])
def test_the_shipped_weights_prefer_probable_readings_and_early_ranks(
    name: str, fast_reader: CrossEncoder, reader: CrossEncoder
) -> None:
    constants = (fast_reader if name == "fast" else reader).constants
    probable, later, improbable = (
        weigh_by_rank(constants.rank, PassageAssessment(p), rank).probability
        for p, rank in ((0.9, 3), (0.9, 4), (0.5, 3))
    )
    assert probable > later
    assert probable > improbable
    assert constants.question["best"] > 0
    assert constants.selection["best"] > 0


# The shipped readers


@pytest.fixture
def assessor(fast_reader: CrossEncoder) -> Assessor:
    """The fast reader alone, for what does not depend on the reader."""
    return CrossEncoderAssessor(fast_reader)


@pytest.fixture
def cascade(fast_reader: CrossEncoder, reader: CrossEncoder) -> Assessor:
    return CrossEncoderAssessor(fast_reader, reader)


def check(assessment: Assessment, *passages: Passage) -> None:
    """Checks what must be true of every assessment."""
    assert 0 <= assessment.probability <= 1
    for passage, reading in zip(passages, assessment.readings, strict=True):
        assert 0 <= reading.probability <= 1
        text, spans = passage.chunk.text, reading.spans
        assert all(0 <= span.start < span.end <= len(text) for span in spans)
        assert all(text[span.start : span.end].strip() for span in spans)
        assert all(0 <= span.probability <= reading.probability for span in spans)
        assert all(one.probability >= other.probability for one, other in pairwise(spans))
        own = sorted((span.start, span.end) for span in spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(own))


def find_best_words(assessment: Assessment, passages: Sequence[Passage]) -> tuple[str, str]:
    """Returns the text of the most probable passage, and the words in it that answer."""
    at = max(range(len(passages)), key=lambda i: assessment.readings[i].probability)
    text, span = passages[at].chunk.text, assessment.readings[at].spans[0]
    return text, text[span.start : span.end]


def test_each_passage_has_a_reading_with_spans_inside_it(cascade: Assessor, passage: Make) -> None:
    passages = [passage(text, f"{i}") for i in range(8) for text in (GAIT, POWER, SEEING)]
    check(assess(cascade, "How long does the battery last?", *passages), *passages)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_unusual_texts_can_be_read(assessor: Assessor, passage: Make, text: str) -> None:
    found = passage(text)
    check(assess(assessor, "How long does 漢字 last?", found), found)
    check(assess(assessor, text[:2000] or "?", passage(GAIT)), passage(GAIT))


def test_a_reading_does_not_depend_on_other_passages(assessor: Assessor, passage: Make) -> None:
    alone = assess(assessor, QUESTION, passage(GAIT)).readings[0]
    among = assess(assessor, QUESTION, passage(GAIT), passage(POWER * 5, "b"), passage(SEEING, "c")).readings[0]
    assert alone == among


def test_reading_does_not_block_the_event_loop(cascade: Assessor, passage: Make) -> None:
    async def count() -> int:
        reading = asyncio.ensure_future(cascade.assess(understand_part("Which legs move?"), [passage(GAIT * 9)] * 2))
        turns = 0
        while not reading.done():
            turns += 1
            await asyncio.sleep(0.001)
        return turns

    assert asyncio.run(count()) > 10


def test_concurrent_questions_give_the_same_readings(cascade: Assessor, passage: Make) -> None:
    asked = [QUESTION, "How long does the battery last?", "How far does the camera see?"]
    passages = [passage(GAIT, "a"), passage(POWER, "b"), passage(SEEING, "c")]

    async def together() -> list[Assessment]:
        return await asyncio.gather(*(cascade.assess(understand_part(question), passages) for question in asked))

    assert asyncio.run(together()) == [assess(cascade, question, *passages) for question in asked]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_a_span_includes_combining_marks(assessor: Assessor, passage: Make, text: str) -> None:
    found = passage(f"{text} is the answer")
    (reading,) = assess(assessor, "What is the answer?", found).readings
    for span in reading.spans:
        after = found.chunk.text[span.end : span.end + 1]
        assert not after or unicodedata.category(after) not in {"Mn", "Mc", "Me"}


@pytest.mark.parametrize("name", ["assessor", "cascade"])
@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (QUESTION, GAIT, "diagonal"),
        ("How fast does it go on flat ground?", GAIT, "2.5 m/s"),
        ("How long does charging take?", POWER, "90 minutes"),
        ("How far can the stereo camera see?", SEEING, "ten metres"),
    ],
)
def test_the_words_that_answer_are_found(
    name: str, request: pytest.FixtureRequest, passage: Make, question: str, text: str, answer: str
) -> None:
    passages = [passage(other, other[:5]) for other in (GAIT, POWER, SEEING)]
    assessment = assess(request.getfixturevalue(name), question, *passages)
    best, words = find_best_words(assessment, passages)
    assert best == text
    assert answer in words
    assert assessment.probability > 0.6


def test_a_near_miss_is_much_less_probable_than_an_answer(cascade: Assessor, passage: Make) -> None:
    passages = [passage(GAIT, "a"), passage(POWER, "b"), passage(SEEING, "c")]
    miss = assess(cascade, "How much does the charger cost?", *passages)
    foreign = assess(cascade, "Who won the chess championship of 1972?", *passages)
    assert foreign.probability < 0.1
    assert miss.probability < 0.47
    assert assess(cascade, "How long does charging take?", *passages).probability > 0.7


def test_an_answer_at_the_end_of_a_long_selection_is_found(cascade: Assessor, passage: Make) -> None:
    selection = passage(f"{SEEING} " * 25 + POWER, SELECTION_CHUNK_ID)
    assessment = assess(cascade, "How long does charging take?", selection)
    assert "90 minutes" in find_best_words(assessment, [selection])[1]


def test_a_selection_that_answers_is_more_probable_than_one_that_does_not(cascade: Assessor, passage: Make) -> None:
    answer, other = (
        assess(cascade, "How long does charging take?", passage(text, SELECTION_CHUNK_ID, score)).probability
        for text, score in ((POWER, 0.9), (GAIT, 0.1))
    )
    assert answer > 0.8
    assert other < 0.47
