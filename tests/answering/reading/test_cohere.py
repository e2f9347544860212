"""What an examiner that asks Cohere for the order promises; Cohere is a scripted server, asked over HTTP."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.troubles import EVERYWHERE

from bookbound.answering.decision import decide, rank_passages
from bookbound.answering.operating_point import OperatingPoint
from bookbound.answering.reading.answerability import INITIAL_PASSAGES, UNREAD_PASSAGE, CrossEncoderAssessor
from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.answering.reading.reranker import CohereRerankAssessor
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceResponseError, ServiceTimeoutError
from bookbound.domain.judgement import Assessment, RefusalReason
from bookbound.domain.ports import AnswerabilityModel
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.models.cohere import CohereClient
from bookbound.testing.scripted_services import Fault, ScriptedServices

Make = Callable[..., Passage]
KEY = "co-key-that-nobody-may-see"
GAIT = "A gait is a pattern of steps. The trot moves diagonal legs together. It reaches 2.5 m/s on flat ground."
POWER = "The battery holds 900 Wh and lasts about two hours. It takes 90 minutes to charge with the 600 W charger."
SEEING = "A stereo camera sees depth up to ten metres. Beyond that, the lidar takes over."
LATE = "The battery takes 40 minutes to charge with the new charger."
QUESTION = "How long does the battery take to charge?"
RELEVANCE = {GAIT: 0.2, POWER: 0.9, SEEING: 0.4, LATE: 0.95}
POINT = OperatingPoint(answered=0.5, relevant=0.3)
FAULTS = EVERYWHERE | {
    Fault.TOO_FEW: ServiceResponseError,
    Fault.NOT_NUMBERS: ServiceResponseError,
}


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServices]:
    """A Cohere that knows the relevance of these texts, whatever is asked."""

    def relevance(_: str, document: str) -> float:
        return next((value for text, value in RELEVANCE.items() if text in document), 0.1)

    monkeypatch.setattr("bookbound.services.FIRST_RETRY_SECONDS", 0.001)
    with ScriptedServices(relevance=relevance) as services:
        yield services


@pytest.fixture
def local(reader: CrossEncoder) -> AnswerabilityModel:
    return CrossEncoderAssessor(reader)


def examined(
    services: ScriptedServices,
    local: AnswerabilityModel,
    question: str,
    passages: Sequence[Passage],
    seconds: float = 30.0,
) -> Assessment:
    async def run() -> Assessment:
        examiner = CohereRerankAssessor(CohereClient(KEY, services.url, seconds), local)
        try:
            return await examiner.examine(question, passages)
        finally:
            await examiner.close()

    return asyncio.run(run())


def test_a_passage_is_as_probable_as_cohere_finds_it_relevant(
    services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    passages = [passage(GAIT, "gait"), passage(POWER, "power"), passage(SEEING, "seeing")]
    found = examined(services, local, QUESTION, passages)
    assert [reading.probability for reading in found.readings] == [0.2, 0.9, 0.4]
    for one, reading in zip(passages, found.readings, strict=True):
        assert all(0 <= span.probability <= reading.probability for span in reading.spans)
        assert all(one.chunk.text[span.start : span.end].strip() for span in reading.spans)
    (asked,) = services.requests
    assert asked.json == {
        "model": "rerank-v3.5",
        "query": QUESTION,
        "documents": [one.chunk.embedded for one in passages],
    }


def test_the_words_and_whether_it_is_answered_are_the_local_readers(
    services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    power, gait = passage(POWER, "power"), passage(GAIT, "gait")
    found = examined(services, local, QUESTION, [gait, power])
    alone = asyncio.run(local.examine(QUESTION, [power, gait]))  # in Cohere's order
    assert found.probability == alone.probability
    places = [[(span.start, span.end) for span in reading.spans] for reading in alone.readings]
    assert [[(span.start, span.end) for span in reading.spans] for reading in found.readings] == places[::-1]
    first = found.readings[1].spans[0]
    assert "90 minutes" in POWER[first.start : first.end]


def test_what_cohere_finds_best_is_read_however_late_the_search_had_it(
    services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    early = [
        passage(f"Note {i}. The battery takes 95 minutes to charge.", f"c{i}") for i in range(2 * INITIAL_PASSAGES)
    ]
    passages = [*early, passage(LATE, "late")]
    assert asyncio.run(local.examine(QUESTION, passages)).readings[-1] == UNREAD_PASSAGE
    assert examined(services, local, QUESTION, passages).readings[-1].spans


def test_a_question_is_answered_from_the_passage_that_cohere_puts_first(
    services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    passages = (passage(GAIT, "gait"), passage(SEEING, "seeing"), passage(POWER, "power"))
    question = Question(QUESTION, k=2)
    retrieval, examination = rank_passages(question, Retrieval(passages), examined(services, local, QUESTION, passages))
    assert [each.chunk.id for each in retrieval.passages] == ["power", "seeing"]
    judgement = decide(question, retrieval, examination, POINT)
    assert judgement.refusal is None
    assert "90 minutes" in judgement.evidence[0].text


def test_relevance_alone_answers_nothing(services: ScriptedServices, local: AnswerabilityModel, passage: Make) -> None:
    passages = (passage(POWER, "power"), passage(SEEING, "seeing"))
    question = "Who won the chess championship of 1972?"
    judgement = decide(Question(question), Retrieval(passages), examined(services, local, question, passages), POINT)
    assert judgement.refusal is RefusalReason.INSUFFICIENT_GROUNDING


def test_a_selection_keeps_its_own_reading_and_its_place(
    services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    passages = (passage(POWER, SELECTION_CHUNK_ID, 1.0), passage(SEEING, "seeing"), passage(GAIT, "gait"))
    question = Question(QUESTION, POWER, AnswerScope.SELECTION_THEN_BOOK)
    found = examined(services, local, QUESTION, passages)
    alone = asyncio.run(local.examine(QUESTION, passages))
    assert found.readings[0] == alone.readings[0]
    assert [reading.probability for reading in found.readings[1:]] == [0.4, 0.2]
    assert POWER not in str(services.requests[0].json)
    retrieval, examination = rank_passages(question, Retrieval(passages), found)
    assert retrieval.passages[0].chunk.id == SELECTION_CHUNK_ID
    assert decide(question, retrieval, examination, POINT).refusal is None


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
def test_where_there_is_nothing_to_put_in_order_cohere_is_not_asked(
    question: str, names: list[str], services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    passages = [passage(POWER if name == SELECTION_CHUNK_ID else SEEING, name) for name in names]
    found = examined(services, local, question, passages)
    assert found == asyncio.run(local.examine(question, passages))
    assert services.requests == []


def test_several_parts_are_kept(services: ScriptedServices, local: AnswerabilityModel, passage: Make) -> None:
    question = "How long does the battery take to charge, and how far does the stereo camera see?"
    passages = [passage(GAIT, "gait"), passage(POWER, "power"), passage(SEEING, "seeing")]
    found = examined(services, local, question, passages)
    assert len(found.parts) == 2
    assert {span.part for reading in found.readings for span in reading.spans} == {0, 1}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_when_cohere_fails_so_does_this_and_tells_nothing_that_is_not_ours_to_tell(
    fault: Fault, services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    services.fails(fault, always=True, path="rerank")
    with pytest.raises(ServiceError) as caught:
        examined(services, local, QUESTION, [passage(POWER)])
    assert type(caught.value) is FAULTS[fault]
    assert caught.value.service == "cohere"
    told = "".join(traceback.format_exception(caught.value))
    for hidden in (KEY[:8], QUESTION, POWER, services.url):
        assert hidden not in told


def test_cohere_that_never_answers_is_out_of_time(
    services: ScriptedServices, local: AnswerabilityModel, passage: Make
) -> None:
    services.fails(Fault.TIMEOUT, always=True, path="rerank")
    with pytest.raises(ServiceTimeoutError):
        examined(services, local, QUESTION, [passage(POWER)], seconds=0.2)
