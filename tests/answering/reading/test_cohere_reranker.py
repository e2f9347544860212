"""Reranking passages with Cohere before they are read."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.service_faults import ERROR_BY_FAULT

from bookbound.answering.deciding.decision import decide, rank_passages
from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.answering.reading.answerability import FIRST_PASSAGES, UNREAD_PASSAGE, CrossEncoderAssessor
from bookbound.answering.reading.cohere_reranker import CohereRerankAssessor
from bookbound.answering.understanding import understand, understand_part
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceResponseError, ServiceTimeoutError
from bookbound.domain.judgement import Assessment, RefusalReason
from bookbound.domain.ports import Assessor
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.models.cohere import CohereClient
from bookbound.models.cross_encoder import CrossEncoder
from bookbound.testing.scripted_services import Fault, ScriptedServices

Make = Callable[..., Passage]
GAIT = "A gait is a pattern of steps. The trot moves diagonal legs together. It reaches 2.5 m/s on flat ground."
POWER = "The battery holds 900 Wh and lasts about two hours. It takes 90 minutes to charge with the 600 W charger."
SEEING = "A stereo camera sees depth up to ten metres. Beyond that, the lidar takes over."
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
def assessor(fast_reader: CrossEncoder) -> Assessor:
    return CrossEncoderAssessor(fast_reader)


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
            return await reranker.assess(understand_part(question), passages)
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
    alone = asyncio.run(assessor.assess(understand_part(QUESTION), [power, gait]))  # in Cohere's order
    assert found.probability == alone.probability
    places = [[(span.start, span.end) for span in reading.spans] for reading in alone.readings]
    assert [[(span.start, span.end) for span in reading.spans] for reading in found.readings] == places[::-1]
    first = found.readings[1].spans[0]
    assert "90 minutes" in POWER[first.start : first.end]


def test_the_passage_that_cohere_ranks_first_is_read_whatever_its_search_rank(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    early = [passage(f"Note {i}. The battery takes 95 minutes to charge.", f"c{i}") for i in range(2 * FIRST_PASSAGES)]
    passages = [*early, passage(LATE, "late")]
    assert asyncio.run(assessor.assess(understand_part(QUESTION), passages)).readings[-1] == UNREAD_PASSAGE
    assert reranked(services, assessor, QUESTION, passages).readings[-1].spans


def test_an_answer_comes_from_the_passage_that_cohere_ranks_first(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    passages = (passage(GAIT, "gait"), passage(SEEING, "seeing"), passage(POWER, "power"))
    question = Question(QUESTION, k=2)
    read = reranked(services, assessor, QUESTION, passages)
    retrieval, assessment = rank_passages(Retrieval(passages), read, question.k)
    assert [each.chunk.id for each in retrieval.passages] == ["power", "seeing"]
    judgement = decide(understand(question), retrieval, assessment, POINT)
    assert judgement.refusal is None
    assert "90 minutes" in judgement.evidence[0].text


def test_relevance_alone_answers_nothing(services: ScriptedServices, assessor: Assessor, passage: Make) -> None:
    passages = (passage(POWER, "power"), passage(SEEING, "seeing"))
    question = "Who won the chess championship of 1972?"
    judgement = decide(
        understand(Question(question)), Retrieval(passages), reranked(services, assessor, question, passages), POINT
    )
    assert judgement.refusal is RefusalReason.INSUFFICIENT_GROUNDING


def test_a_selection_keeps_its_own_reading_and_its_place(
    services: ScriptedServices, assessor: Assessor, passage: Make
) -> None:
    passages = (passage(POWER, SELECTION_CHUNK_ID, 1.0), passage(SEEING, "seeing"), passage(GAIT, "gait"))
    question = Question(QUESTION, POWER, AnswerScope.SELECTION_THEN_BOOK)
    found = reranked(services, assessor, QUESTION, passages)
    alone = asyncio.run(assessor.assess(understand_part(QUESTION), passages))
    assert found.readings[0] == alone.readings[0]
    assert [reading.probability for reading in found.readings[1:]] == [0.4, 0.2]
    assert POWER not in str(services.requests[0].json)
    retrieval, assessment = rank_passages(Retrieval(passages), found, question.k)
    assert retrieval.passages[0].chunk.id == SELECTION_CHUNK_ID
    assert decide(understand(question), retrieval, assessment, POINT).refusal is None


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
    assert found == asyncio.run(assessor.assess(understand_part(question), passages))
    assert services.requests == []


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
