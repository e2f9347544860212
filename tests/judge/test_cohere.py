"""What an examiner that asks Cohere for the order promises; Cohere is a scripted server, asked over HTTP."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence

import pytest
from tests.troubles import EVERYWHERE

from bookbound import patience
from bookbound.book import Passage
from bookbound.dialogue import SELECTION_ID, Question, Retrieval, Scope
from bookbound.errors import BadReply, ServiceTrouble, TimedOut
from bookbound.finding import Examination, RefusalKind
from bookbound.judge import OperatingPoint, judge
from bookbound.judge.cohere import RerankExaminer
from bookbound.judge.examiner import FIRST, UNREAD, ReadingExaminer
from bookbound.judge.order import ordered
from bookbound.judge.reader import Reader
from bookbound.models.cohere import Cohere
from bookbound.ports import Examiner
from bookbound.testing.services import Fault, ScriptedServices

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
    Fault.TOO_FEW: BadReply,
    Fault.NOT_NUMBERS: BadReply,
}


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServices]:
    """A Cohere that knows the relevance of these texts, whatever is asked."""

    def relevance(_: str, document: str) -> float:
        return next((value for text, value in RELEVANCE.items() if text in document), 0.1)

    monkeypatch.setattr(patience, "PAUSE", 0.001)
    with ScriptedServices(relevance=relevance) as services:
        yield services


@pytest.fixture
def local(reader: Reader) -> Examiner:
    return ReadingExaminer(reader)


def examined(
    services: ScriptedServices, local: Examiner, question: str, passages: Sequence[Passage], seconds: float = 30.0
) -> Examination:
    async def run() -> Examination:
        examiner = RerankExaminer(Cohere(KEY, services.url, seconds), local)
        try:
            return await examiner.examine(question, passages)
        finally:
            await examiner.close()

    return asyncio.run(run())


def test_a_passage_is_as_probable_as_cohere_finds_it_relevant(
    services: ScriptedServices, local: Examiner, passage: Make
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
    services: ScriptedServices, local: Examiner, passage: Make
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
    services: ScriptedServices, local: Examiner, passage: Make
) -> None:
    early = [passage(f"Note {i}. The battery takes 95 minutes to charge.", f"c{i}") for i in range(2 * FIRST)]
    passages = [*early, passage(LATE, "late")]
    assert asyncio.run(local.examine(QUESTION, passages)).readings[-1] == UNREAD
    assert examined(services, local, QUESTION, passages).readings[-1].spans


def test_a_question_is_answered_from_the_passage_that_cohere_puts_first(
    services: ScriptedServices, local: Examiner, passage: Make
) -> None:
    passages = (passage(GAIT, "gait"), passage(SEEING, "seeing"), passage(POWER, "power"))
    question = Question(QUESTION, k=2)
    retrieval, examination = ordered(question, Retrieval(passages), examined(services, local, QUESTION, passages))
    assert [each.chunk.id for each in retrieval.passages] == ["power", "seeing"]
    judgement = judge(question, retrieval, examination, POINT)
    assert judgement.refusal is None
    assert "90 minutes" in judgement.evidence[0].text


def test_relevance_alone_answers_nothing(services: ScriptedServices, local: Examiner, passage: Make) -> None:
    passages = (passage(POWER, "power"), passage(SEEING, "seeing"))
    question = "Who won the chess championship of 1972?"
    judgement = judge(Question(question), Retrieval(passages), examined(services, local, question, passages), POINT)
    assert judgement.refusal is RefusalKind.INSUFFICIENT_GROUNDING


def test_a_selection_keeps_its_own_reading_and_its_place(
    services: ScriptedServices, local: Examiner, passage: Make
) -> None:
    passages = (passage(POWER, SELECTION_ID, 1.0), passage(SEEING, "seeing"), passage(GAIT, "gait"))
    question = Question(QUESTION, POWER, Scope.SELECTION_THEN_BOOK)
    found = examined(services, local, QUESTION, passages)
    alone = asyncio.run(local.examine(QUESTION, passages))
    assert found.readings[0] == alone.readings[0]
    assert [reading.probability for reading in found.readings[1:]] == [0.4, 0.2]
    assert POWER not in str(services.requests[0].json)
    retrieval, examination = ordered(question, Retrieval(passages), found)
    assert retrieval.passages[0].chunk.id == SELECTION_ID
    assert judge(question, retrieval, examination, POINT).refusal is None


@pytest.mark.parametrize(
    ("question", "names"),
    [(QUESTION, [SELECTION_ID]), ("Explain this.", [SELECTION_ID, "seeing"]), (QUESTION, []), ("?!", ["seeing"])],
    ids=["a selection alone", "a question that points at it", "nothing found", "a question that names nothing"],
)
def test_where_there_is_nothing_to_put_in_order_cohere_is_not_asked(
    question: str, names: list[str], services: ScriptedServices, local: Examiner, passage: Make
) -> None:
    passages = [passage(POWER if name == SELECTION_ID else SEEING, name) for name in names]
    found = examined(services, local, question, passages)
    assert found == asyncio.run(local.examine(question, passages))
    assert services.requests == []


def test_several_parts_are_kept(services: ScriptedServices, local: Examiner, passage: Make) -> None:
    question = "How long does the battery take to charge, and how far does the stereo camera see?"
    passages = [passage(GAIT, "gait"), passage(POWER, "power"), passage(SEEING, "seeing")]
    found = examined(services, local, question, passages)
    assert len(found.parts) == 2
    assert {span.part for reading in found.readings for span in reading.spans} == {0, 1}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_when_cohere_fails_so_does_this_and_tells_nothing_that_is_not_ours_to_tell(
    fault: Fault, services: ScriptedServices, local: Examiner, passage: Make
) -> None:
    services.fails(fault, always=True, path="rerank")
    with pytest.raises(ServiceTrouble) as caught:
        examined(services, local, QUESTION, [passage(POWER)])
    assert type(caught.value) is FAULTS[fault]
    assert caught.value.service == "cohere"
    told = "".join(traceback.format_exception(caught.value))
    for hidden in (KEY[:8], QUESTION, POWER, services.url):
        assert hidden not in told


def test_cohere_that_never_answers_is_out_of_time(services: ScriptedServices, local: Examiner, passage: Make) -> None:
    services.fails(Fault.TIMEOUT, always=True, path="rerank")
    with pytest.raises(TimedOut):
        examined(services, local, QUESTION, [passage(POWER)], seconds=0.2)
