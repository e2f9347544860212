"""Assessing passages with the cross-encoder, and reranking them with Cohere."""

from __future__ import annotations

import asyncio
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.service_faults import ERROR_BY_FAULT

from bookbound.answering.decision import decide, rank_passages
from bookbound.answering.operating_point import OperatingPoint
from bookbound.answering.reading.answerability import (
    INITIAL_PASSAGES,
    NEUTRAL_SIMILARITY,
    UNREAD_PASSAGE,
    CohereRerankAssessor,
    CrossEncoderAssessor,
    compute_question_features,
    compute_search_ranks,
    weigh_by_rank,
)
from bookbound.answering.reading.cross_encoder import CrossEncoder, LogitScale, logistic_probability
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceResponseError, ServiceTimeoutError
from bookbound.domain.judgement import AnswerSpan, Assessment, PassageAssessment, RefusalReason
from bookbound.domain.ports import Assessor
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.models.cohere import CohereClient
from bookbound.models.onnx import ModelRuntime
from bookbound.testing.scripted_services import Fault, ScriptedServices

Make = Callable[..., Passage]
GAIT = "A gait is a pattern of steps. The trot moves diagonal legs together. It reaches 2.5 m/s on flat ground."
POWER = "The battery holds 900 Wh and lasts about two hours. It takes 90 minutes to charge with the 600 W charger."
SEEING = "A stereo camera sees depth up to ten metres. Beyond that, the lidar takes over."
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


@pytest.fixture
def assessor(reader: CrossEncoder) -> Assessor:
    return CrossEncoderAssessor(reader)


def assess(assessor: Assessor, question: str, *passages: Passage) -> Assessment:
    return asyncio.run(assessor.assess(question, passages))


def check(assessment: Assessment, *passages: Passage) -> None:
    """Checks what must be true of every assessment."""
    assert 0 <= assessment.probability <= 1
    assert all(0 <= probability <= 1 for probability in assessment.parts)
    for passage, reading in zip(passages, assessment.readings, strict=True):
        assert 0 <= reading.probability <= 1
        text, spans = passage.chunk.text, reading.spans
        assert all(0 <= span.start < span.end <= len(text) for span in spans)
        assert all(text[span.start : span.end].strip() for span in spans)
        assert all(0 <= span.probability <= reading.probability for span in spans)
        assert all(one.probability >= other.probability for one, other in pairwise(spans))
        for part in range(max(len(assessment.parts), 1)):
            own = sorted((span.start, span.end) for span in spans if span.part == part)
            assert all(end <= start for (_, end), (start, _) in pairwise(own))


def test_each_passage_has_a_reading_with_spans_inside_it(assessor: Assessor, passage: Make) -> None:
    passages = [passage(GAIT, "a"), passage(POWER, "b"), passage(SEEING, "c")]
    check(assess(assessor, "How long does the battery last?", *passages), *passages)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_unusual_texts_can_be_read(assessor: Assessor, passage: Make, text: str) -> None:
    found = passage(text)
    check(assess(assessor, "How long does 漢字 last?", found), found)
    check(assess(assessor, text[:2000] or "?", passage(GAIT)), passage(GAIT))


def test_without_passages_there_is_no_answer(assessor: Assessor) -> None:
    assert assess(assessor, "Which legs move?") == Assessment(0.0, ())


def test_a_reading_does_not_depend_on_other_passages(assessor: Assessor, passage: Make) -> None:
    question = "Which legs move together in a trot?"
    alone = assess(assessor, question, passage(GAIT)).readings[0]
    among = assess(assessor, question, passage(GAIT), passage(POWER * 5, "b"), passage(SEEING, "c")).readings[0]
    assert alone == among


def test_each_of_many_passages_has_its_reading(assessor: Assessor, passage: Make) -> None:
    passages = [passage(text, f"{i}") for i in range(8) for text in (GAIT, POWER, SEEING)]
    check(assess(assessor, "How long does the battery last?", *passages), *passages)


@pytest.mark.parametrize(("shift", "read"), [(50.0, INITIAL_PASSAGES), (-50.0, INITIAL_PASSAGES + 2)])
def test_later_passages_are_read_unless_the_first_ones_answer(
    models: ModelRuntime, passage: Make, shift: float, read: int
) -> None:
    reader = CrossEncoder(models)
    reader.constants = replace(reader.constants, answers=LogitScale(0.0, shift))
    passages = [passage(GAIT, f"{i}") for i in range(INITIAL_PASSAGES + 2)]
    assessment = assess(CrossEncoderAssessor(reader), "Which legs move together in a trot?", *passages)
    assert [reading != UNREAD_PASSAGE for reading in assessment.readings] == [
        i < read for i in range(INITIAL_PASSAGES + 2)
    ]


def test_a_deictic_question_means_the_whole_selection(assessor: Assessor, passage: Make) -> None:
    assessment = assess(assessor, "What does this mean?", passage(GAIT, SELECTION_CHUNK_ID), passage(POWER))
    assert assessment.probability == 1.0
    assert len(assessment.readings[0].spans) == 3
    assert assessment.readings[1].probability == 0.0


@pytest.mark.parametrize("question", ["What does this mean?", "?", "🤖"])
def test_a_question_without_terms_has_no_answer(assessor: Assessor, passage: Make, question: str) -> None:
    assert assess(assessor, question, passage(GAIT)).probability == 0.0


def test_reading_does_not_block_the_event_loop(reader: CrossEncoder, passage: Make) -> None:
    async def count() -> int:
        reading = asyncio.ensure_future(
            CrossEncoderAssessor(reader).assess("Which legs move?", [passage(GAIT * 9)] * 4)
        )
        turns = 0
        while not reading.done():
            turns += 1
            await asyncio.sleep(0.001)
        return turns

    assert asyncio.run(count()) > 10


def test_concurrent_questions_give_the_same_readings(assessor: Assessor, passage: Make) -> None:
    asked = ["Which legs move together?", "How long does the battery last?", "How far does the camera see?"] * 3
    passages = [passage(GAIT, "a"), passage(POWER, "b"), passage(SEEING, "c")]

    async def together() -> list[Assessment]:
        return await asyncio.gather(*(assessor.assess(question, passages) for question in asked))

    assert asyncio.run(together()) == [assess(assessor, question, *passages) for question in asked]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_a_span_includes_combining_marks(reader: CrossEncoder, passage: Make, text: str) -> None:
    found = passage(f"{text} is the answer")
    (reading,) = assess(CrossEncoderAssessor(reader), "What is the answer?", found).readings
    for span in reading.spans:
        after = found.chunk.text[span.end : span.end + 1]
        assert not after or unicodedata.category(after) not in {"Mn", "Mc", "Me"}


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Which legs move together in a trot?", GAIT, "diagonal legs"),
        ("How fast does it go on flat ground?", GAIT, "2.5 m/s"),
        ("How long does charging take?", POWER, "90 minutes"),
        ("How far can the stereo camera see?", SEEING, "ten metres"),
    ],
)
def test_the_words_that_answer_are_found(
    reader: CrossEncoder, passage: Make, question: str, text: str, answer: str
) -> None:
    passages = [passage(other, other[:5]) for other in (GAIT, POWER, SEEING)]
    readings = assess(CrossEncoderAssessor(reader), question, *passages).readings
    best = max(range(3), key=lambda i: readings[i].probability)
    assert passages[best].chunk.text == text
    start, end = readings[best].spans[0].start, readings[best].spans[0].end
    assert start < text.index(answer) + len(answer)
    assert end > text.index(answer)


def test_a_near_miss_is_less_probable_than_an_answer(reader: CrossEncoder, passage: Make) -> None:
    assessor = CrossEncoderAssessor(reader)
    hit = assess(assessor, "How long does charging take?", passage(POWER))
    miss = assess(assessor, "How much does the charger cost?", passage(POWER))
    assert hit.probability > miss.probability
    assert hit.readings[0].probability > 0.5 > miss.readings[0].probability


def test_an_answer_at_the_end_of_a_long_selection_is_found(reader: CrossEncoder, passage: Make) -> None:
    text = f"{SEEING} " * 100 + POWER
    (reading,) = assess(
        CrossEncoderAssessor(reader), "How long does charging take?", passage(text, SELECTION_CHUNK_ID)
    ).readings
    assert "90 minutes" in text[reading.spans[0].start : reading.spans[0].end]


def test_a_question_of_several_parts_has_words_for_each(reader: CrossEncoder, passage: Make) -> None:
    passages = [passage(GAIT, "a"), passage(SEEING, "b"), passage(POWER, "c")]
    question = "How long does the battery last, and which legs move together in a trot?"
    assessment = assess(CrossEncoderAssessor(reader), question, *passages)
    check(assessment, *passages)
    assert len(assessment.parts) == 2
    battery = max((span for span in assessment.readings[2].spans if span.part == 0), key=lambda s: s.probability)
    legs = max((span for span in assessment.readings[0].spans if span.part == 1), key=lambda s: s.probability)
    assert "two hours" in POWER[battery.start : battery.end]
    assert "diagonal legs" in GAIT[legs.start : legs.end]


@pytest.mark.parametrize("selection", [".", "a", "— … —"])
def test_a_selection_without_terms_is_no_answer(assessor: Assessor, passage: Make, selection: str) -> None:
    found = assess(assessor, "Explain this", passage(selection, SELECTION_CHUNK_ID))
    assert found.probability == 0.0


def test_a_part_is_as_probable_as_the_same_question_alone(assessor: Assessor, passage: Make) -> None:
    passages = [passage(POWER, "a"), passage(SEEING, "b"), passage(GAIT, "c")]
    asked = ("Which legs move together in a trot?", "How long does the battery last?")
    both = assess(assessor, " ".join(asked), *passages)
    alone = [assess(assessor, question, *passages).probability for question in asked]
    assert both.parts == pytest.approx(alone)


def test_the_features_are_those_of_the_best_passage(passage: Make) -> None:
    passages = [passage("a", "a", 0.7), passage("b", "b", 0.5)]
    figures = compute_question_features(
        "How fast is it?", passages, [PassageAssessment(0.2), PassageAssessment(0.5, (AnswerSpan(0, 1, 0.4),))]
    )
    assert figures["best"] == 0.0
    assert figures["score"] == 0.5
    assert figures["sharpness"] == pytest.approx(0.8)
    assert figures["rank"] > 0


def test_a_selection_has_a_neutral_score(passage: Make) -> None:
    figures = compute_question_features(
        "How fast is it?", [passage("a", SELECTION_CHUNK_ID, 1.0)], [PassageAssessment(0.9)]
    )
    assert figures["score"] == NEUTRAL_SIMILARITY


@pytest.mark.parametrize("sure", [0.0, 1.0])
def test_extreme_probabilities_have_features(passage: Make, sure: float) -> None:
    figures = compute_question_features("How?", [passage("a")], [PassageAssessment(sure)])
    assert 0 <= logistic_probability({"best": 1.0, "constant": 0.0}, figures) <= 1


def test_a_logistic_model_uses_only_its_own_features() -> None:
    assert logistic_probability({"constant": 0.0}, {"best": 5.0}) == 0.5
    assert logistic_probability({"best": 1.0, "constant": -5.0}, {"best": 5.0, "score": 3.0}) == 0.5
    with pytest.raises(KeyError):
        logistic_probability({"besst": 1.0, "constant": 0.0}, {"best": 5.0})


PLACE = {"odds": 1.0, "place": -1.0, "constant": 0.0}


def test_the_first_rank_does_not_change_a_reading() -> None:
    reading = PassageAssessment(0.6, (AnswerSpan(0, 3, 0.45), AnswerSpan(4, 6, 0.1)))
    weighed = weigh_by_rank(PLACE, reading, 0)
    assert weighed.probability == pytest.approx(0.6)
    assert [span.probability for span in weighed.spans] == pytest.approx([0.45, 0.1])


def test_a_low_rank_lowers_the_probability() -> None:
    first, unsure, sure = (
        weigh_by_rank(PLACE, PassageAssessment(p), at).probability for p, at in ((0.5, 0), (0.9, 19), (0.999, 19))
    )
    assert unsure < first < sure


def test_spans_keep_their_share_of_a_weighed_reading() -> None:
    weighed = weigh_by_rank(PLACE, PassageAssessment(0.8, (AnswerSpan(0, 3, 0.8), AnswerSpan(4, 6, 0.2))), 5)
    assert weighed.probability < 0.8
    assert [span.probability / weighed.probability for span in weighed.spans] == pytest.approx([1.0, 0.25])


def test_a_selection_has_no_rank_and_changes_none(passage: Make) -> None:
    reading = PassageAssessment(0.6, (AnswerSpan(0, 3, 0.45),))
    assert weigh_by_rank(PLACE, reading, None) is reading
    selected = [passage("s", SELECTION_CHUNK_ID), passage("a", "a"), passage("b", "b")]
    assert compute_search_ranks(selected) == [None, 0, 1]
    readings = [PassageAssessment(0.1), PassageAssessment(0.2), PassageAssessment(0.9)]
    figures = compute_question_features("How fast is it?", selected, readings)
    assert figures["rank"] == compute_question_features("How fast is it?", selected[1:], readings[1:])["rank"]


def test_the_shipped_weights_prefer_probable_readings_and_early_ranks() -> None:
    weights = CrossEncoder().constants.rank_weights
    assert (
        weigh_by_rank(weights, PassageAssessment(0.9), 3).probability
        > weigh_by_rank(weights, PassageAssessment(0.5), 3).probability
    )
    assert (
        weigh_by_rank(weights, PassageAssessment(0.9), 3).probability
        > weigh_by_rank(weights, PassageAssessment(0.9), 4).probability
    )


def test_an_unread_passage_stays_unread_at_any_rank() -> None:
    assert weigh_by_rank(PLACE, PassageAssessment(0.0), 3) == PassageAssessment(0.0)


KEY = "co-key-that-nobody-may-see"
LATE = "The battery takes 40 minutes to charge with the new charger."
QUESTION = "How long does the battery take to charge?"
RELEVANCE = {GAIT: 0.2, POWER: 0.9, SEEING: 0.4, LATE: 0.95}
POINT = OperatingPoint(answer_threshold=0.5, relevance_threshold=0.3)
FAULTS = ERROR_BY_FAULT | {
    Fault.TOO_FEW: ServiceResponseError,
    Fault.NOT_NUMBERS: ServiceResponseError,
}


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServices]:
    """A Cohere service with a fixed relevance for each text."""

    def relevance(_: str, document: str) -> float:
        return next((value for text, value in RELEVANCE.items() if text in document), 0.1)

    monkeypatch.setattr("bookbound.services.FIRST_RETRY_SECONDS", 0.001)
    with ScriptedServices(relevance=relevance) as services:
        yield services


def reranked(
    services: ScriptedServices,
    assessor: Assessor,
    question: str,
    passages: Sequence[Passage],
    seconds: float = 30.0,
) -> Assessment:
    async def run() -> Assessment:
        reranker = CohereRerankAssessor(CohereClient(KEY, services.url, seconds), assessor)
        try:
            return await reranker.assess(question, passages)
        finally:
            await reranker.close()

    return asyncio.run(run())


def test_the_probability_of_a_passage_is_cohere_s_relevance(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    passages = [passage(GAIT, "gait"), passage(POWER, "power"), passage(SEEING, "seeing")]
    found = reranked(services, assessor, QUESTION, passages)
    assert [reading.probability for reading in found.readings] == [0.2, 0.9, 0.4]
    for one, reading in zip(passages, found.readings, strict=True):
        assert all(0 <= span.probability <= reading.probability for span in reading.spans)
        assert all(one.chunk.text[span.start : span.end].strip() for span in reading.spans)
    (asked,) = services.requests
    assert asked.json == {
        "model": "rerank-v3.5",
        "query": QUESTION,
        "documents": [one.chunk.embedding_text for one in passages],
    }


def test_the_local_reader_decides_the_words_and_whether_they_answer(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    power, gait = passage(POWER, "power"), passage(GAIT, "gait")
    found = reranked(services, assessor, QUESTION, [gait, power])
    alone = asyncio.run(assessor.assess(QUESTION, [power, gait]))  # in Cohere's order
    assert found.probability == alone.probability
    places = [[(span.start, span.end) for span in reading.spans] for reading in alone.readings]
    assert [[(span.start, span.end) for span in reading.spans] for reading in found.readings] == places[::-1]
    first = found.readings[1].spans[0]
    assert "90 minutes" in POWER[first.start : first.end]


def test_the_passage_that_cohere_ranks_first_is_read_whatever_its_search_rank(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    early = [
        passage(f"Note {i}. The battery takes 95 minutes to charge.", f"c{i}") for i in range(2 * INITIAL_PASSAGES)
    ]
    passages = [*early, passage(LATE, "late")]
    assert asyncio.run(assessor.assess(QUESTION, passages)).readings[-1] == UNREAD_PASSAGE
    assert reranked(services, assessor, QUESTION, passages).readings[-1].spans


def test_an_answer_comes_from_the_passage_that_cohere_ranks_first(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    passages = (passage(GAIT, "gait"), passage(SEEING, "seeing"), passage(POWER, "power"))
    question = Question(QUESTION, k=2)
    retrieval, assessment = rank_passages(
        question, Retrieval(passages), reranked(services, assessor, QUESTION, passages)
    )
    assert [each.chunk.id for each in retrieval.passages] == ["power", "seeing"]
    judgement = decide(question, retrieval, assessment, POINT)
    assert judgement.refusal is None
    assert "90 minutes" in judgement.evidence[0].text


def test_relevance_alone_answers_nothing(services: ScriptedServices, assessor: Assessor, passage: Make) -> None:
    passages = (passage(POWER, "power"), passage(SEEING, "seeing"))
    question = "Who won the chess championship of 1972?"
    judgement = decide(Question(question), Retrieval(passages), reranked(services, assessor, question, passages), POINT)
    assert judgement.refusal is RefusalReason.INSUFFICIENT_GROUNDING


def test_a_selection_keeps_its_own_reading_and_its_place(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    passages = (passage(POWER, SELECTION_CHUNK_ID, 1.0), passage(SEEING, "seeing"), passage(GAIT, "gait"))
    question = Question(QUESTION, POWER, AnswerScope.SELECTION_THEN_BOOK)
    found = reranked(services, assessor, QUESTION, passages)
    alone = asyncio.run(assessor.assess(QUESTION, passages))
    assert found.readings[0] == alone.readings[0]
    assert [reading.probability for reading in found.readings[1:]] == [0.4, 0.2]
    assert POWER not in str(services.requests[0].json)
    retrieval, assessment = rank_passages(question, Retrieval(passages), found)
    assert retrieval.passages[0].chunk.id == SELECTION_CHUNK_ID
    assert decide(question, retrieval, assessment, POINT).refusal is None


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (QUESTION, [SELECTION_CHUNK_ID]),
        ("Explain this.", [SELECTION_CHUNK_ID, "seeing"]),
        (QUESTION, []),
        ("?!", ["seeing"]),
    ],
    ids=["a selection alone", "a question that points at it", "nothing found", "a question that names nothing"],
)
def test_cohere_is_not_called_if_there_is_nothing_to_rank(
    question: str, names: list[str], services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    passages = [passage(POWER if name == SELECTION_CHUNK_ID else SEEING, name) for name in names]
    found = reranked(services, assessor, question, passages)
    assert found == asyncio.run(assessor.assess(question, passages))
    assert services.requests == []


def test_reranking_keeps_the_parts(services: ScriptedServices, assessor: Assessor, passage: Make) -> None:
    question = "How long does the battery take to charge, and how far does the stereo camera see?"
    passages = [passage(GAIT, "gait"), passage(POWER, "power"), passage(SEEING, "seeing")]
    found = reranked(services, assessor, question, passages)
    assert len(found.parts) == 2
    assert {span.part for reading in found.readings for span in reading.spans} == {0, 1}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_error_of_cohere_is_raised_without_private_words(
    fault: Fault, services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    services.fail_with(fault, always=True, endpoint="rerank")
    with pytest.raises(ServiceError) as caught:
        reranked(services, assessor, QUESTION, [passage(POWER)])
    assert type(caught.value) is FAULTS[fault]
    assert caught.value.service == "cohere"
    output = "".join(traceback.format_exception(caught.value))
    for hidden in (KEY[:8], QUESTION, POWER, services.url):
        assert hidden not in output


def test_cohere_times_out(services: ScriptedServices, assessor: Assessor, passage: Make) -> None:
    services.fail_with(Fault.TIMEOUT, always=True, endpoint="rerank")
    with pytest.raises(ServiceTimeoutError):
        reranked(services, assessor, QUESTION, [passage(POWER)], seconds=0.2)
