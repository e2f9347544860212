"""Asking and searching in an index with the real networks."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.shipped_point import ANSWERED, UNSURE
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.cli import app
from bookbound.cli.reply_view import MODEL_FAILED_MESSAGE
from bookbound.testing.scripted_services import ScriptedServices

PARTS = "What does a harmonic drive consist of?"
STATES = "It consists of a wave generator, a flexspline and a circular spline."
FOREIGN = "Which composer wrote the opera about a flying Dutchman?"


def as_json(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_an_answer_has_one_number_and_one_address_for_its_section(answering: Run, little_index: Path) -> None:
    done = answering("ask", PARTS, "--index", str(little_index))
    assert done.returncode == 0
    assert done.stderr == ""
    text, _, address = done.stdout.partition(" [1]\n\n")
    assert STATES in text
    place = r"drives\.md, characters \d+-\d+"
    assert re.fullmatch(rf"\[1\] Drives › Harmonic drive\n    \S+#harmonic-drive\n    {place}\n", address)


def test_a_refusal_has_a_reason_and_the_closest_sections(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--index", str(little_index), "--threshold", "1")
    assert done.returncode == 1
    assert done.stdout.startswith("This information is not available in the book.\nThe highest similarity")
    assert "The closest sections:\n  Drives › Harmonic drive\n" in done.stdout


def test_a_refusal_of_a_question_about_something_else_has_no_closest_sections(
    bookbound: Run, little_index: Path
) -> None:
    done = bookbound("ask", FOREIGN, "--index", str(little_index))
    assert done.returncode == 1
    assert (
        done.stdout == "This information is not available in the book.\nNo passage is close enough to the question.\n"
    )


def test_code_in_an_answer_keeps_its_lines(answering: Run, little_index: Path) -> None:
    done = answering("ask", "How are the running nodes of the robot listed?", "--index", str(little_index))
    assert done.returncode == 0
    assert "\n    source /opt/robot/setup.bash\n    robot node list --all\n" in done.stdout


def test_the_quotes_in_json_are_in_the_source(answering: Run, little_index: Path, little_book: Path) -> None:
    done = answering("ask", PARTS, "--index", str(little_index), "--json")
    reply = as_json(done)
    assert (done.returncode, reply["status"], reply["refusal"]) == (0, "answered", None)
    assert STATES in reply["answer"]
    for citation in reply["citations"]:
        source = (little_book / citation["file"]).read_text(encoding="utf-8")
        assert source[citation["start"] : citation["end"]] == citation["quote"]
    assert reply["passages"][0]["rank"] == 1
    assert all(0 <= passage["score"] <= 1 for passage in reply["passages"])


def test_a_refusal_in_json_has_a_kind_and_no_answer(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", FOREIGN, "--index", str(little_index), "--json")
    reply = as_json(done)
    assert (done.returncode, reply["status"], reply["answer"], reply["citations"]) == (1, "refused", None, [])
    assert reply["refusal"]["message"] == "This information is not available in the book."


def test_a_dash_reads_the_question_from_standard_input(answering: Run, little_index: Path) -> None:
    done = answering("ask", "-", "--index", str(little_index), stdin=f"{PARTS}\n")
    assert done.returncode == 0
    assert STATES in done.stdout


def test_a_selection_from_standard_input_is_answered_and_found_in_the_book(answering: Run, little_index: Path) -> None:
    selection = "The flexspline is lubricated with grease every 500 hours of operation."
    arguments = (
        "ask",
        "With what grease is the flexspline lubricated?",
        "--selected-text",
        "-",
        "--index",
        str(little_index),
    )
    done = answering(*arguments, stdin=selection)
    assert done.returncode == 0, done.stdout
    assert "500 hours" in done.stdout
    assert "The selected text is in Drives › Lubrication" in done.stdout


def test_a_selection_from_another_text_is_reported_as_not_from_the_book(bookbound: Run, little_index: Path) -> None:
    selection = "The kettle boils at 96 degrees in the mountain hut."
    arguments = ("ask", "At which temperature does the kettle boil in the hut?", "--selected-text", selection)
    done = bookbound(*arguments, "--index", str(little_index))
    assert "The selected text is not from this book." in done.stdout


def test_a_question_that_the_selection_does_not_answer_is_refused(bookbound: Run, little_index: Path) -> None:
    selection = "The flexspline is lubricated with grease every 500 hours of operation."
    done = bookbound("ask", FOREIGN, "--selected-text", selection, "--index", str(little_index))
    assert done.returncode == 1
    assert done.stdout.startswith("The selected text does not contain this information.\n")


def test_standard_input_cannot_be_both_question_and_selection(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", "-", "--selected-text", "-", "--index", str(little_index), stdin="both")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Use - only once." in done.stderr


def test_a_threshold_that_no_passage_reaches_is_a_refusal(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--threshold", "1", "--index", str(little_index), "--json")
    assert (done.returncode, as_json(done)["refusal"]["kind"]) == (1, "low_relevance")
    done = bookbound("ask", PARTS, "--threshold", "1", "--index", str(little_index))
    assert "below the threshold 1." in done.stdout


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What does a harmonic drive consist of?", f"answered from {ANSWERED};"),
        ("Who won the football world cup?", f"refused below {UNSURE};"),
    ],
)
def test_verbose_compares_the_probability_with_the_threshold(
    bookbound: Run, little_index: Path, question: str, words: str
) -> None:
    done = bookbound("ask", question, "--verbose", "--index", str(little_index))
    assert re.search(r"Judgement +probability 0\.\d\d, " + re.escape(words), done.stdout)


def test_verbose_adds_the_judgement_the_passages_and_the_timings(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--verbose", "-k", "2", "--index", str(little_index))
    assert "Judgement   probability " in done.stdout
    assert "of 2 passages" in done.stdout
    assert "embed " in done.stdout
    assert "\n2. Drives › Lubrication  similarity 0." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("ask", " "), ""),
        (("ask", "-"), ""),
        (("ask", "-"), b"\xff\xfe"),
        (("ask", "caf\udce9?"), ""),
        (("ask", "x" * 2001), ""),
        (("ask", "why?", "-k", "0"), ""),
        (("ask", "why?", "-k", "21"), ""),
        (("ask", "why?", "--threshold", "1.5"), ""),
        (("ask", "why?", "--selected-text", "x" * 10001), ""),
        (("search", ""), ""),
    ],
)
def test_invalid_input_exits_with_4_before_an_index_is_opened(
    tmp_path: Path, arguments: tuple[str, ...], stdin: str | bytes
) -> None:
    done = CliRunner().invoke(app, [*arguments, "--json", "--index", str(tmp_path)], input=stdin, obj=bootstrap)
    assert (done.exit_code, json.loads(done.stdout)["error"]["type"]) == (4, "InvalidInputError")


def test_a_search_lists_passages_with_rank_similarity_and_link(bookbound: Run, little_index: Path) -> None:
    done = bookbound("search", "grease", "-k", "1", "--index", str(little_index))
    first, link, place, excerpt, *_ = done.stdout.splitlines()
    assert done.returncode == 0
    assert first.startswith("1. Drives › Lubrication  similarity 0.")
    assert link.endswith("#lubrication")
    assert place.startswith("   drives.md, characters ")
    assert excerpt == "   The flexspline is lubricated with grease every 500 hours of operation."


def test_an_empty_search_is_invalid_input(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("search", " ", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "Error: A search needs 1 to 2000 characters, not 0.\n"


@pytest.mark.parametrize("command", ["ask", "search"])
def test_words_without_quotes_are_an_error_that_shows_the_quotes(command: str) -> None:
    done = CliRunner().invoke(app, [command, "What", "is", "a gear?"], obj=bootstrap, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert f"Put the words in quotes, as one argument: bookbound {command} 'What is a gear?'" in done.stderr


def test_a_search_in_json_has_as_many_passages_as_requested(bookbound: Run, little_index: Path) -> None:
    done = bookbound("search", "-", "-k", "2", "--index", str(little_index), "--json", stdin="harmonic drive")
    assert [passage["rank"] for passage in as_json(done)["passages"]] == [1, 2]


def test_output_to_a_pipe_has_no_colours_and_no_wrapped_links(answering: Run, little_index: Path) -> None:
    done = answering("ask", PARTS, "--index", str(little_index), COLUMNS="30", FORCE_COLOR="1")
    assert "\x1b" not in done.stdout
    assert any(line.endswith("/drives#harmonic-drive") for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def dead_model() -> Iterator[dict[str, str]]:
    """Settings with a language model that cannot be reached, and a threshold that answers everything."""
    with ScriptedServices() as services:
        yield {
            "BOOKBOUND_ANSWER_THRESHOLD": "0",
            "BOOKBOUND_LLM_MODEL": "a-model",
            "BOOKBOUND_LLM_URL": f"{services.refused_url}/v1",
            "BOOKBOUND_LLM_KEY": "sk-a-secret",
        }


def test_if_the_language_model_is_unreachable_the_book_is_quoted_and_both_streams_say_so(
    bookbound: Run, process: Run, little_index: Path, dead_model: dict[str, str]
) -> None:
    done = process("ask", PARTS, "--index", str(little_index), **dead_model)
    assert done.returncode == 0
    assert MODEL_FAILED_MESSAGE in done.stdout.splitlines()
    assert "The language model could not be reached. Check" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stdout + done.stderr
    reply = json.loads(bookbound("ask", PARTS, "--json", "--index", str(little_index), **dead_model).stdout)
    assert (reply["degraded"], reply["trace"]["writer"]) == (True, "quotes")


@pytest.mark.parametrize(
    ("options", "setting"), [((), {"BOOKBOUND_ON_LLM_FAILURE": "error"}), (("--contract", "agent"), {})]
)
def test_without_a_fallback_an_unreachable_language_model_exits_with_3(
    bookbound: Run, little_index: Path, dead_model: dict[str, str], options: tuple[str, ...], setting: dict[str, str]
) -> None:
    done = bookbound("ask", PARTS, *options, "--index", str(little_index), **dead_model, **setting)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: The language model could not be reached. ")
    assert "127.0.0.1" not in done.stderr
