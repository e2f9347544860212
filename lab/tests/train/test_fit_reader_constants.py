"""Constants are fitted on what the product reads, and on nothing that is measured."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bookbound.answering.reading.answerability import MIN_SCORE
from bookbound.answering.understanding import understand_part
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, PassageAssessment
from bookbound.domain.reply import AnswerSentence
from bookbound.evaluation.quote_locations import FileSpan
from bookbound.models import CONSTANTS_FILE, FAST_READER_FILE, STRONG_READER_FILE
from bookbound.models.cross_encoder import CrossEncoder, LogitScale, logistic_probability
from bookbound.models.onnx import ModelRuntime
from bookbound.text import split_sentences
from lab.train.asked_questions import AskedQuestion, ExpectedAnswer, Role
from lab.train.batches import Example
from lab.train.candidates import OFF_TOPIC
from lab.train.fit_reader_constants import (
    fit_answer_scale,
    fit_logistic,
    fit_question,
    fit_score_map,
    fit_selection,
    update_constants,
)
from lab.train.graded_questions import GradedQuestion, Grading, TracingAssessor, is_right_answer, score_passages
from lab.train.readings import StoredLogits, TokenRows
from lab.train.recorded_readers import RAW_CONSTANTS, RecordedModels, RecordedNetwork, list_rows
from tests.answering.conftest import ScriptedReader

ROOT = Path(__file__).resolve().parents[3]
TEXT = "A gait is a pattern of steps. The trot moves diagonal legs together. It reaches 2.5 m/s on flat ground."
QUESTION = "How fast is the trot?"
SCORE = LogitScale(21.0, -7.455)


def make_chunk(name: str = "c0") -> Chunk:
    place = Place(f"{name}.md", "", "Motion", "Walking", (), "", 0, len(TEXT))
    return Chunk(name, TEXT, place, 0, (SourceSpan(0, len(TEXT), 0, len(TEXT)),), tuple(split_sentences(TEXT)))


def make_question(
    cosines: Sequence[float] = (0.8, 0.7, 0.6), role: Role = "held_out", expected: ExpectedAnswer | None = None
) -> AskedQuestion:
    passages = tuple(Passage(make_chunk(f"c{i}"), cosine) for i, cosine in enumerate(cosines))
    has_answer = (True, *(False for _ in cosines[1:]))
    return AskedQuestion(QUESTION, "gaits", role, passages, has_answer, expected)


def make_graded(cosine: float, role: Role, is_right: bool, probability: float = 0.5) -> GradedQuestion:
    readings = {0: PassageAssessment(probability)}
    return GradedQuestion(make_question([cosine], role), understand_part(QUESTION), readings, {}, None, is_right)


def quote(text: str) -> AnswerSentence:
    start = TEXT.index(text)
    return AnswerSentence(text, (Evidence.from_chunk(make_chunk(), start, start + len(text), 1.0),))


# Fits


def test_a_logistic_fit_finds_the_weights_behind_its_labels() -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(20000, 2))
    labels = (rng.random(20000) < 1 / (1 + np.exp(-(2 * table[:, 0] - table[:, 1] + 0.5)))).astype(float)
    assert fit_logistic(table, labels) == pytest.approx([2, -1, 0.5], abs=0.1)


def test_a_question_of_weight_three_counts_like_three_questions() -> None:
    table, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    weighted = fit_logistic(table, labels, 0.0, np.array([1.0, 1.0, 3.0, 1.0]))
    repeated = fit_logistic(table[[0, 1, 2, 2, 2, 3]], labels[[0, 1, 2, 2, 2, 3]], 0.0)
    assert weighted == pytest.approx(repeated, abs=1e-4)


def test_a_fit_without_both_kinds_of_labels_is_refused() -> None:
    with pytest.raises(SystemExit, match="labels"):
        fit_logistic(np.array([[0.0], [1.0]]), np.zeros(2))


def test_the_score_map_separates_off_topic_messages_from_right_answers() -> None:
    graded = [make_graded(0.01 * i, "off_topic", False) for i in range(11)]
    graded += [make_graded(0.4, "fitted", True), make_graded(0.1, "fitted", False)]
    score = fit_score_map(graded)
    assert score.probability(0.07) == pytest.approx(MIN_SCORE, abs=0.01)
    assert score.probability(0.4) == pytest.approx(0.5, abs=0.01)


def test_the_score_map_is_not_fitted_if_right_answers_are_less_similar() -> None:
    with pytest.raises(SystemExit, match="no score separates"):
        fit_score_map([make_graded(0.5, "off_topic", False), make_graded(0.4, "fitted", True)])


def test_a_question_below_the_gate_does_not_change_the_weights() -> None:
    read = [make_graded(0.6, "fitted", i % 3 > 0, 0.1 + 0.02 * i) for i in range(40)]
    unread = [make_graded(0.1, "off_topic", False, 0.99)]
    assert fit_question(read + unread, ["best"], SCORE) == fit_question(read, ["best"], SCORE)


def test_an_early_passage_counts_more_if_early_passages_answer() -> None:
    fitted = asyncio.run(fit_answer_scale(ScriptedReader({"c0": 0.6, "c1": 0.6, "c2": 0.4}), [make_question()] * 20))
    assert fitted["rank"]["place"] < 0
    assert fitted["rank"]["odds"] == 1.0


def test_a_selection_answers_if_similar_ones_do_and_the_shift_helps() -> None:
    own, other = make_question([0.8], "selection"), replace(make_question([0.8], "selection"), has_answer=(False,))
    features = [{"best": 2.0, "sharpness": 0.9, "distance": 0.0}, {"best": -2.0, "sharpness": 0.2, "distance": -1.0}]
    weights = fit_selection(features * 5, [own, other] * 5, 0.0)
    assert logistic_probability(weights, features[0]) > 0.8
    assert logistic_probability(weights, features[1]) < 0.2
    shifted = fit_selection(features * 5, [own, other] * 5, 1.0)
    assert shifted["constant"] == pytest.approx(weights["constant"] + 1)


def test_constants_that_are_fitted_elsewhere_stay() -> None:
    stored = {"fast": {"supported": 1, "rank": 2}, "strong": {"supported": 3}, "score": 4, "point": 5}
    fitted = {"fast": {"rank": 6}, "strong": {"rank": 7}, "score": 8}
    assert update_constants(stored, fitted) == {
        "fast": {"supported": 1, "rank": 6},
        "strong": {"supported": 3, "rank": 7},
        "score": 8,
        "point": 5,
    }


# Readings


def test_the_features_of_a_fit_give_the_probability_of_the_product() -> None:
    asked = make_question()
    fast, strong = ScriptedReader({"c1": 0.7, "c2": 0.4}), ScriptedReader({"c1": 0.6, "c2": 0.8})
    assessor = TracingAssessor(fast, strong)
    graded = asyncio.run(Grading(assessor, 0.03).grade(asked))
    assert graded is not None
    weights = strong.constants.question
    assessed = asyncio.run(assessor.assess(understand_part(QUESTION), score_passages(asked.passages, SCORE)))
    assert assessed.probability == logistic_probability(weights, graded.features(SCORE))


def test_words_that_answer_by_their_place_are_a_feature_and_are_graded() -> None:
    """The section is called as the question says, so its opening is quoted and not what the reader found."""
    expected = ExpectedAnswer(((FileSpan("c0.md", 0, 30),),))
    asked = replace(make_question([0.8], "title", expected), text="What is walking?")
    place = replace(make_chunk().place, headings=("Walking",))
    passage = replace(asked.passages[0], chunk=replace(make_chunk(), place=place))
    asked = replace(asked, passages=(passage,))
    grading = Grading(TracingAssessor(ScriptedReader({"c0": 0.2})), 0.03, SCORE, {"constant": 0.0})
    graded = asyncio.run(grading.grade(asked))
    assert graded is not None
    assert graded.words is not None
    assert graded.features(SCORE)["named"] == 1.0
    assert graded.is_right


def test_a_message_that_the_product_does_not_read_is_left_out() -> None:
    asked = AskedQuestion("???", "gaits", "off_topic", make_question().passages)
    assert asyncio.run(Grading(TracingAssessor(ScriptedReader(0.9)), 0.03).grade(asked)) is None


def test_recorded_logits_give_the_readings_of_the_shipped_network(tmp_path: Path) -> None:
    models, chunk = ModelRuntime(), make_chunk()
    rows = list_rows([(QUESTION, chunk), (QUESTION, chunk)], models)
    (row,) = rows
    row_file = TokenRows(tmp_path / "rows.npz")
    row_file.save(rows)
    assert row_file.load()[0].ids.tolist() == row.ids.tolist()
    types = (np.arange(len(row.ids)) >= row.second_start).astype(int)
    output = models.network(FAST_READER_FILE).read(row.ids.tolist(), token_type_ids=types.tolist())
    stored = StoredLogits(tmp_path / "logits.npz", row_file)
    answers = np.array([output["answers"]])
    stored.save(([output["start"]], [output["end"]], answers, answers))
    (start,), (end,), (answer,) = stored.load()
    network = RecordedNetwork({row.ids.tobytes(): {"start": start, "end": end, "answers": answer}})
    networks = {FAST_READER_FILE: network, STRONG_READER_FILE: network}
    constants = models.constants(CONSTANTS_FILE)
    recorded = CrossEncoder(RecordedModels(networks, {"fast": {**RAW_CONSTANTS, **constants["fast"]}}), "fast")
    (expected,) = asyncio.run(CrossEncoder(models, "fast").read(QUESTION, [chunk]))
    (found,) = asyncio.run(recorded.read(QUESTION, [chunk]))
    assert found.probability == pytest.approx(expected.probability, abs=1e-6)
    assert [(span.start, span.end) for span in found.spans] == [(span.start, span.end) for span in expected.spans]
    with pytest.raises(SystemExit, match="not read"):
        asyncio.run(recorded.read("Something else?", [chunk]))


def test_logits_of_other_candidates_are_not_used(tmp_path: Path) -> None:
    rows = TokenRows(tmp_path / "rows.npz")
    rows.save([Example(np.array([101, 7, 102, 8, 102], np.int32), 3)])
    logits = StoredLogits(tmp_path / "logits.npz", rows)
    logits.save(([np.zeros(5)], [np.zeros(5)], np.zeros(1), np.zeros(1)))
    rows.save([Example(np.array([101, 7, 102, 9, 102], np.int32), 3)])
    with pytest.raises(SystemExit, match="other candidates"):
        logits.load()


# Grades


@pytest.mark.parametrize(
    ("sentences", "is_right"),
    [
        (["It reaches 2.5 m/s on flat ground."], True),
        (["The trot moves diagonal legs together."], False),
        (["The trot moves diagonal legs together.", "It reaches 2.5 m/s on flat ground."], True),
        ([], False),
    ],
)
def test_an_answer_needs_the_words_of_an_expected_one(sentences: list[str], is_right: bool) -> None:
    expected = ExpectedAnswer(((FileSpan("c0.md", 0, len(TEXT)),),), answers=("2.5 m/s",))
    assert is_right_answer([quote(each) for each in sentences], expected) == is_right


def test_an_answer_from_another_place_is_wrong() -> None:
    sentence = quote("It reaches 2.5 m/s on flat ground.")
    assert not is_right_answer([sentence], ExpectedAnswer(((FileSpan("other.md", 0, 999),),), answers=("2.5 m/s",)))
    assert not is_right_answer([sentence], ExpectedAnswer(((FileSpan("c0.md", 0, 999),),), ("diagonal legs",)))
    assert is_right_answer([sentence], ExpectedAnswer(((FileSpan("c0.md", 0, 999),),), ("2.5 M/S",)))


# Data


def test_no_off_topic_message_is_both_fitted_and_measured() -> None:
    measured = (ROOT / "lab" / "measure" / "offtopic.jsonl").read_text(encoding="utf-8").splitlines()
    fitted = {line.strip().casefold() for line in (ROOT / OFF_TOPIC).read_text(encoding="utf-8").splitlines()}
    assert not fitted & {json.loads(line)["question"].strip().casefold() for line in measured}
