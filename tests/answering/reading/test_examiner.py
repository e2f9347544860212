"""What the examiner promises of every question, passage and span."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bookbound.answering.reading.answerability import INITIAL_PASSAGES, UNREAD_PASSAGE, CrossEncoderAssessor
from bookbound.answering.reading.cross_encoder import CrossEncoder, LogitScale
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment
from bookbound.domain.ports import AnswerabilityModel
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.models.onnx import ModelRuntime

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
def examiner(reader: CrossEncoder) -> AnswerabilityModel:
    return CrossEncoderAssessor(reader)


def examined(examiner: AnswerabilityModel, question: str, *passages: Passage) -> Assessment:
    return asyncio.run(examiner.examine(question, passages))


def check(examination: Assessment, *passages: Passage) -> None:
    """What holds of every examination, whatever was asked."""
    assert 0 <= examination.probability <= 1
    assert all(0 <= probability <= 1 for probability in examination.parts)
    for passage, reading in zip(passages, examination.readings, strict=True):
        assert 0 <= reading.probability <= 1
        text, spans = passage.chunk.text, reading.spans
        assert all(0 <= span.start < span.end <= len(text) for span in spans)
        assert all(text[span.start : span.end].strip() for span in spans)
        assert all(0 <= span.probability <= reading.probability for span in spans)
        assert all(one.probability >= other.probability for one, other in pairwise(spans))
        for part in range(max(len(examination.parts), 1)):
            own = sorted((span.start, span.end) for span in spans if span.part == part)
            assert all(end <= start for (_, end), (start, _) in pairwise(own))


def test_each_passage_has_its_reading_and_spans_lie_inside_it(examiner: AnswerabilityModel, passage: Make) -> None:
    passages = [passage(GAIT, "a"), passage(POWER, "b"), passage(SEEING, "c")]
    check(examined(examiner, "How long does the battery last?", *passages), *passages)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_are_read_like_any(examiner: AnswerabilityModel, passage: Make, text: str) -> None:
    found = passage(text)
    check(examined(examiner, "How long does 漢字 last?", found), found)
    check(examined(examiner, text[:2000] or "?", passage(GAIT)), passage(GAIT))


def test_no_passages_are_no_answer(examiner: AnswerabilityModel) -> None:
    assert examined(examiner, "Which legs move?") == Assessment(0.0, ())


def test_a_passage_is_read_the_same_whatever_is_read_with_it(examiner: AnswerabilityModel, passage: Make) -> None:
    question = "Which legs move together in a trot?"
    alone = examined(examiner, question, passage(GAIT)).readings[0]
    among = examined(examiner, question, passage(GAIT), passage(POWER * 5, "b"), passage(SEEING, "c")).readings[0]
    assert alone == among


def test_each_of_many_passages_has_its_reading(examiner: AnswerabilityModel, passage: Make) -> None:
    passages = [passage(text, f"{i}") for i in range(8) for text in (GAIT, POWER, SEEING)]
    check(examined(examiner, "How long does the battery last?", *passages), *passages)


@pytest.mark.parametrize(("shift", "read"), [(50.0, INITIAL_PASSAGES), (-50.0, INITIAL_PASSAGES + 2)])
def test_what_the_search_had_further_down_is_read_unless_the_first_surely_answer(
    models: ModelRuntime, passage: Make, shift: float, read: int
) -> None:
    reader = CrossEncoder(models)
    reader.constants = replace(reader.constants, answers=LogitScale(0.0, shift))
    passages = [passage(GAIT, f"{i}") for i in range(INITIAL_PASSAGES + 2)]
    examination = examined(CrossEncoderAssessor(reader), "Which legs move together in a trot?", *passages)
    assert [reading != UNREAD_PASSAGE for reading in examination.readings] == [
        i < read for i in range(INITIAL_PASSAGES + 2)
    ]


def test_a_question_without_words_of_its_own_means_the_whole_selection(
    examiner: AnswerabilityModel, passage: Make
) -> None:
    examination = examined(examiner, "What does this mean?", passage(GAIT, SELECTION_CHUNK_ID), passage(POWER))
    assert examination.probability == 1.0
    assert len(examination.readings[0].spans) == 3
    assert examination.readings[1].probability == 0.0


@pytest.mark.parametrize("question", ["What does this mean?", "?", "🤖"])
def test_a_question_that_names_nothing_is_answered_by_nothing(
    examiner: AnswerabilityModel, passage: Make, question: str
) -> None:
    assert examined(examiner, question, passage(GAIT)).probability == 0.0


def test_the_loop_goes_on_while_passages_are_read(reader: CrossEncoder, passage: Make) -> None:
    async def count() -> int:
        reading = asyncio.ensure_future(
            CrossEncoderAssessor(reader).examine("Which legs move?", [passage(GAIT * 9)] * 4)
        )
        turns = 0
        while not reading.done():
            turns += 1
            await asyncio.sleep(0.001)
        return turns

    assert asyncio.run(count()) > 10


def test_questions_at_the_same_time_are_read_as_one_after_the_other(
    examiner: AnswerabilityModel, passage: Make
) -> None:
    asked = ["Which legs move together?", "How long does the battery last?", "How far does the camera see?"] * 3
    passages = [passage(GAIT, "a"), passage(POWER, "b"), passage(SEEING, "c")]

    async def together() -> list[Assessment]:
        return await asyncio.gather(*(examiner.examine(question, passages) for question in asked))

    assert asyncio.run(together()) == [examined(examiner, question, *passages) for question in asked]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
def test_a_span_never_parts_a_letter_from_its_marks(reader: CrossEncoder, passage: Make, text: str) -> None:
    found = passage(f"{text} is the answer")
    (reading,) = examined(CrossEncoderAssessor(reader), "What is the answer?", found).readings
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
    readings = examined(CrossEncoderAssessor(reader), question, *passages).readings
    best = max(range(3), key=lambda i: readings[i].probability)
    assert passages[best].chunk.text == text
    start, end = readings[best].spans[0].start, readings[best].spans[0].end
    assert start < text.index(answer) + len(answer)
    assert end > text.index(answer)


def test_a_near_miss_is_told_from_a_hit(reader: CrossEncoder, passage: Make) -> None:
    examiner = CrossEncoderAssessor(reader)
    hit = examined(examiner, "How long does charging take?", passage(POWER))
    miss = examined(examiner, "How much does the charger cost?", passage(POWER))
    assert hit.probability > miss.probability
    assert hit.readings[0].probability > 0.5 > miss.readings[0].probability


def test_what_stands_at_the_end_of_a_long_selection_is_found(reader: CrossEncoder, passage: Make) -> None:
    text = f"{SEEING} " * 100 + POWER
    (reading,) = examined(
        CrossEncoderAssessor(reader), "How long does charging take?", passage(text, SELECTION_CHUNK_ID)
    ).readings
    assert "90 minutes" in text[reading.spans[0].start : reading.spans[0].end]


def test_a_question_of_several_parts_has_words_for_each(reader: CrossEncoder, passage: Make) -> None:
    passages = [passage(GAIT, "a"), passage(SEEING, "b"), passage(POWER, "c")]
    question = "How long does the battery last, and which legs move together in a trot?"
    examination = examined(CrossEncoderAssessor(reader), question, *passages)
    check(examination, *passages)
    assert len(examination.parts) == 2
    battery = max((span for span in examination.readings[2].spans if span.part == 0), key=lambda s: s.probability)
    legs = max((span for span in examination.readings[0].spans if span.part == 1), key=lambda s: s.probability)
    assert "two hours" in POWER[battery.start : battery.end]
    assert "diagonal legs" in GAIT[legs.start : legs.end]


@pytest.mark.parametrize("selection", [".", "a", "— … —"])
def test_a_selection_that_says_nothing_explains_nothing(
    examiner: AnswerabilityModel, passage: Make, selection: str
) -> None:
    found = examined(examiner, "Explain this", passage(selection, SELECTION_CHUNK_ID))
    assert found.probability == 0.0


def test_a_part_is_as_probable_as_the_same_question_asked_alone(examiner: AnswerabilityModel, passage: Make) -> None:
    passages = [passage(POWER, "a"), passage(SEEING, "b"), passage(GAIT, "c")]
    asked = ("Which legs move together in a trot?", "How long does the battery last?")
    both = examined(examiner, " ".join(asked), *passages)
    alone = [examined(examiner, question, *passages).probability for question in asked]
    assert both.parts == pytest.approx(alone)
