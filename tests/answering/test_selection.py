"""Finding selected text in the book."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.selection import _find_on_page
from bookbound.answering.understanding.follow_up import can_answer_alone
from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, Refusal
from bookbound.settings import Settings
from bookbound.text import split_sentences

BOOK = {
    "walking.md": "# Walking\n\nA **biped** keeps its [centre of mass](https://x.example/com) above its feet.\n\n"
    "## Speed\n\nThe trot reaches 2.5 m/s on flat ground.\n\nStairs take twice as long.\n",
    "sensing.md": "# Sensing\n\nAn accelerometer measures specific force.\n\n## Cameras\n\nA camera sees colour.\n",
    "code.md": "# Code\n\nCall it. Twice:\n\n```\n    walk(1)\n\n    # Stop. Now.\n    rest()\n```\n\n"
    "- (left) leg\n- arm.\n",
    "power.md": "# Power\n\nThe battery holds 900 Wh and lasts about two hours.\n",
}


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    for name, text in BOOK.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def pipeline(runner: asyncio.Runner, book: Path, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    settings = Settings(index=tmp_path_factory.mktemp("index"))
    bootstrap.index_book(book, settings)
    return runner.run(bootstrap.open_pipeline(settings))


def test_the_answering_passage_comes_first_with_its_place(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    retrieval = runner.run(pipeline.search(Question("How fast is a trot?")))
    best = retrieval.passages[0].chunk
    assert "2.5 m/s" in best.text
    assert best.place.headings[-1] == "Speed"
    assert best.place.anchor == "speed"


def test_every_score_is_from_0_to_1_and_k_is_obeyed(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    for k in (1, 2, 20):
        passages = runner.run(pipeline.search(Question("battery", k=k))).passages
        assert len(passages) == min(k, pipeline.book.manifest.chunks)
        assert all(0 <= passage.score <= 1 for passage in passages)


def test_a_selection_is_found_whatever_its_white_space(runner: asyncio.Runner, pipeline: Pipeline, book: Path) -> None:
    selection = "biped keeps its  centre of mass\nabove its feet"
    retrieval = runner.run(pipeline.search(Question("What?", selection, AnswerScope.SELECTION)))
    (passage,) = retrieval.passages
    assert (passage.chunk.id, passage.chunk.text) == (SELECTION_CHUNK_ID, selection)
    assert retrieval.selection is not None
    assert retrieval.selection.file == "walking.md"
    source = (book / "walking.md").read_text()[retrieval.selection.start : retrieval.selection.end]
    assert source == "biped** keeps its [centre of mass](https://x.example/com) above its feet"


def test_a_selection_across_headings_is_found_where_it_starts(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    for selection in (
        "An accelerometer measures specific force.\n\nCameras\n\nA camera sees colour.",
        "Sensing\nAn accelerometer measures",
    ):
        retrieval = runner.run(pipeline.search(Question("What?", selection, AnswerScope.SELECTION)))
        assert retrieval.selection is not None
        assert (retrieval.selection.file, retrieval.selection.section) == ("sensing.md", "Sensing")
        units = retrieval.passages[0].chunk.units
        assert " ".join(selection[unit.start : unit.end] for unit in units).split() == selection.split()


def test_a_selection_has_the_units_of_the_book(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    selection = "it. Twice:\n\n    walk(1)\n\n    # Stop. Now.\n    rest()\n\n• (left) leg\n• ar"
    retrieval = runner.run(pipeline.search(Question("What?", selection, AnswerScope.SELECTION)))
    chunk = retrieval.passages[0].chunk
    assert [(kind, selection[start:end]) for kind, start, end in chunk.units] == [
        ("sentence", "it."),
        ("sentence", "Twice:"),
        ("code", "    walk(1)\n\n    # Stop. Now.\n    rest()"),
        ("item", "• (left) leg"),
        ("item", "• ar"),
    ]


def test_a_foreign_selection_is_split_into_sentences(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    selection = "Whales sing. They dive:\n- deep\n- far"
    chunk = runner.run(pipeline.search(Question("What?", selection, AnswerScope.SELECTION))).passages[0].chunk
    assert [kind for kind, _, _ in chunk.units] == ["sentence", "sentence", "item", "item"]


def test_indented_lines_of_a_foreign_selection_are_code(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    code = "def dive(whale):\n    whale.sing()\n\nfor whale in whales:\n    dive(whale)"
    selection = f"Whales sing. They dive\nvery deep.\n\n{code}\n\n- deep\n  down\n"
    chunk = runner.run(pipeline.search(Question("What?", selection, AnswerScope.SELECTION))).passages[0].chunk
    assert [kind for kind, _, _ in chunk.units] == ["sentence", "sentence", "code", "item"]
    assert selection[chunk.units[2].start : chunk.units[2].end] == code


def test_a_foreign_selection_has_no_place_in_the_book(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    retrieval = runner.run(pipeline.search(Question("What?", "Whales sing in the deep.", AnswerScope.SELECTION)))
    assert retrieval.selection is None
    assert retrieval.passages[0].chunk.place.section == "Selected text"


def test_the_score_of_a_selection_is_its_similarity_to_the_question(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    selection = "The trot reaches 2.5 m/s on flat ground."
    embedder = pipeline.engine.embedder
    scores = []
    for text in ("How fast is a trot?", "Who won the chess championship?"):
        (passage,) = runner.run(pipeline.search(Question(text, selection, AnswerScope.SELECTION))).passages
        cosine = float(runner.run(embedder.embed_question(text)) @ runner.run(embedder.embed_question(selection)))
        assert passage.score == pytest.approx(embedder.score_similarity(cosine))
        scores.append(passage.score)
    assert scores[0] > 0.5 > scores[1]


def test_a_selection_as_focus_comes_before_the_passages(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    question = Question("How long does it last?", "The battery holds 900 Wh", AnswerScope.SELECTION_THEN_BOOK, k=2)
    passages = runner.run(pipeline.search(question)).passages
    assert passages[0].chunk.id == SELECTION_CHUNK_ID
    assert len(passages) == 3


def test_a_blank_selection_counts_as_none(runner: asyncio.Runner, pipeline: Pipeline) -> None:
    passages = runner.run(pipeline.search(Question("battery", " \n ", AnswerScope.SELECTION, k=1))).passages
    assert passages[0].chunk.place.title == "Power"


def test_a_selected_word_is_found_as_a_whole_word() -> None:
    page = "Macros are expanded first. Then ROS is started."
    place = Place("a.md", "/a", "A", "A", (), "", 0, len(page))
    chunk = Chunk("1", page, place, 0, (SourceSpan(0, len(page), 0, len(page)),), tuple(split_sentences(page)))
    found = _find_on_page("ROS", [chunk], chunk)
    assert found
    assert page[found.place.start : found.place.end] == "ROS"
    within = _find_on_page("acros", [chunk], chunk)
    assert within
    assert within.place.start == 1, "who selects a part of a word has it"


@pytest.mark.parametrize(
    ("question", "selection", "expected"),
    [
        ("Explain this", "Speed", False),
        ("What is an accelerometer?", "accelerometer", False),
        ("What is the capital of France?", "specific force", False),
        ("Which port is it?", "port 8080", True),
        ("Explain this", "Dogs bark.", True),
        ("How fast is the trot?", "The trot reaches 2.5 m/s", True),
    ],
)
def test_a_few_words_that_only_name_something_cannot_answer_alone(
    question: str, selection: str, expected: bool
) -> None:
    assert can_answer_alone(question, selection) is expected


@pytest.mark.parametrize("question", ["Explain this", "What is an accelerometer?", "What is this?"])
def test_a_selected_name_is_not_repeated_as_its_own_explanation(
    runner: asyncio.Runner, pipeline: Pipeline, question: str
) -> None:
    reply = runner.run(pipeline.ask(Question(question, "accelerometer", AnswerScope.SELECTION)))
    assert isinstance(reply, Refusal)
    assert reply.kind is RefusalReason.SELECTED_TEXT_MISSING


@pytest.mark.parametrize(
    ("question", "selection", "completed", "answer"),
    [
        (
            "what does it measure",
            "accelerometer",
            "What does accelerometer measure?",
            BOOK["sensing.md"].split("\n")[2],
        ),
        ("How much does it hold?", "battery", "How much does battery hold?", BOOK["power.md"].split("\n")[2]),
    ],
)
def test_a_question_that_points_at_a_selected_name_is_answered_from_the_book(
    runner: asyncio.Runner, pipeline: Pipeline, question: str, selection: str, completed: str, answer: str
) -> None:
    reply = runner.run(pipeline.ask(Question(question, selection, AnswerScope.SELECTION_THEN_BOOK)))
    assert isinstance(reply, Answer)
    assert reply.text == answer
    assert reply.trace.completed_question == completed
    assert SELECTION_CHUNK_ID not in {citation.chunk_id for citation in reply.citations}
