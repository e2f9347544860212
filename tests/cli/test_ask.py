"""Asking and searching, from a process of its own, with the real parts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.cli import app
from bookbound.cli.reply_view import MODEL_FAILED_MESSAGE
from bookbound.testing.scripted_services import ScriptedServices

Run = Callable[..., subprocess.CompletedProcess[str]]
PARTS = "What does a harmonic drive consist of?"
STATES = "It consists of a wave generator, a flexspline and a circular spline."
FOREIGN = "Which composer wrote the opera about a flying Dutchman?"


def as_json(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_an_answer_has_marks_and_then_citations_with_their_address(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--index", str(little_index))
    assert done.returncode == 0
    assert done.stderr == ""
    assert f"{STATES} [" in done.stdout
    assert "[1] Drives" in done.stdout
    assert "#harmonic-drive\n    drives.md:" in done.stdout


def test_a_refusal_says_so_and_why_and_names_the_nearest_sections(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", FOREIGN, "--index", str(little_index))
    assert done.returncode == 1
    assert done.stdout.startswith("This information is not available in the book.\n")
    assert "The nearest sections" in done.stdout
    assert "Drives › Harmonic drive" in done.stdout


def test_a_code_answer_keeps_its_lines(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", "How are the running nodes of the robot listed?", "--index", str(little_index))
    assert done.returncode == 0
    assert "source /opt/robot/setup.bash\nrobot node list --all\n" in done.stdout


def test_a_reply_in_json_can_be_checked_against_the_source(
    bookbound: Run, little_index: Path, little_book: Path
) -> None:
    done = bookbound("ask", PARTS, "--index", str(little_index), "--json")
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


def test_a_dash_reads_the_question_from_standard_input(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", "-", "--index", str(little_index), stdin=f"{PARTS}\n")
    assert done.returncode == 0
    assert STATES in done.stdout


def test_a_selection_from_standard_input_is_answered_and_found_in_the_book(bookbound: Run, little_index: Path) -> None:
    selection = "The flexspline is lubricated with grease every 500 hours of operation."
    arguments = (
        "ask",
        "With what grease is the flexspline lubricated?",
        "--selected-text",
        "-",
        "--index",
        str(little_index),
    )
    done = bookbound(*arguments, stdin=selection)
    assert done.returncode == 0, done.stdout
    assert "500 hours" in done.stdout
    assert "The selection stands in Drives › Lubrication" in done.stdout


def test_a_selection_from_elsewhere_is_said_not_to_be_of_the_book(bookbound: Run, little_index: Path) -> None:
    selection = "The kettle boils at 96 degrees in the mountain hut."
    arguments = ("ask", "At which temperature does the kettle boil in the hut?", "--selected-text", selection)
    done = bookbound(*arguments, "--index", str(little_index))
    assert "The selection was not found in this book." in done.stdout


def test_a_question_that_the_selection_does_not_answer_is_refused(bookbound: Run, little_index: Path) -> None:
    selection = "The flexspline is lubricated with grease every 500 hours of operation."
    done = bookbound("ask", FOREIGN, "--selected-text", selection, "--index", str(little_index))
    assert done.returncode == 1
    assert done.stdout.startswith("The selected text does not contain this information.\n")


def test_standard_input_cannot_be_both_question_and_selection(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", "-", "--selected-text", "-", "--index", str(little_index), stdin="both")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Only one of question and selected text can be -." in done.stderr


def test_a_threshold_that_no_passage_reaches_refuses(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--threshold", "1", "--index", str(little_index), "--json")
    assert (done.returncode, as_json(done)["refusal"]["kind"]) == (1, "low_relevance")
    done = bookbound("ask", PARTS, "--threshold", "1", "--index", str(little_index))
    assert "below the threshold 1." in done.stdout


def test_verbose_adds_the_judgement_the_passages_and_the_timings(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--verbose", "-k", "2", "--index", str(little_index))
    assert "probably answered" in done.stdout
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
def test_what_breaks_a_rule_exits_with_4_before_any_index_is_opened(
    tmp_path: Path, arguments: tuple[str, ...], stdin: str | bytes
) -> None:
    done = CliRunner().invoke(app, [*arguments, "--json", "--index", str(tmp_path)], input=stdin, obj=bootstrap)
    assert (done.exit_code, json.loads(done.stdout)["error"]["type"]) == (4, "InvalidInput")


def test_a_search_lists_passages_with_rank_score_and_link(bookbound: Run, little_index: Path) -> None:
    done = bookbound("search", "grease", "-k", "1", "--index", str(little_index))
    first, link, place, excerpt, *_ = done.stdout.splitlines()
    assert done.returncode == 0
    assert first.startswith("1. Drives › Lubrication  similarity 0.")
    assert link.endswith("#lubrication")
    assert place.startswith("   drives.md:")
    assert excerpt == "   The flexspline is lubricated with grease every 500 hours of operation."


def test_words_to_look_for_are_not_called_a_question(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("search", " ", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == "Error: The words to look for have 1 to 2000 characters, not 0.\n"


@pytest.mark.parametrize("command", ["ask", "search"])
def test_words_without_quotes_are_told_to_have_some(command: str) -> None:
    done = CliRunner().invoke(app, [command, "What", "is", "a gear?"], obj=bootstrap, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert f"Put the words in quotes, as one argument: bookbound {command} 'What is a gear?'" in done.stderr


def test_a_search_in_json_gives_as_many_passages_as_asked_for(bookbound: Run, little_index: Path) -> None:
    done = bookbound("search", "-", "-k", "2", "--index", str(little_index), "--json", stdin="harmonic drive")
    assert [passage["rank"] for passage in as_json(done)["passages"]] == [1, 2]


def test_a_reader_that_goes_away_is_no_error(little_index: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "bookbound", "search", "drive", "--index", str(little_index)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_what_is_piped_has_no_colours_and_no_broken_links(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--index", str(little_index), COLUMNS="30", FORCE_COLOR="1")
    assert "\x1b" not in done.stdout
    assert any(line.endswith("/drives#harmonic-drive") for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def away() -> Iterator[dict[str, str]]:
    """The settings of a language model at an address where nothing listens, for a book that answers everything."""
    with ScriptedServices() as services:
        yield {
            "BOOKBOUND_ANSWERED": "0",
            "BOOKBOUND_MODEL": "a-model",
            "BOOKBOUND_MODEL_URL": f"{services.refused_url}/v1",
            "BOOKBOUND_MODEL_KEY": "sk-a-secret",
        }


def test_where_the_language_model_is_away_the_book_is_quoted_and_both_streams_say_so(
    bookbound: Run, little_index: Path, away: dict[str, str]
) -> None:
    done = bookbound("ask", PARTS, "--index", str(little_index), **away)
    assert done.returncode == 0
    assert MODEL_FAILED_MESSAGE in done.stdout.splitlines()
    assert "The language model could not be reached. Check" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stdout + done.stderr
    reply = json.loads(bookbound("ask", PARTS, "--json", "--index", str(little_index), **away).stdout)
    assert (reply["degraded"], reply["trace"]["writer"]) == (True, "quotes")


@pytest.mark.parametrize(
    ("options", "setting"), [((), {"BOOKBOUND_ON_MODEL_FAILURE": "error"}), (("--contract", "agent"), {})]
)
def test_where_nothing_stands_in_for_the_language_model_that_is_a_service_out_of_reach(
    bookbound: Run, little_index: Path, away: dict[str, str], options: tuple[str, ...], setting: dict[str, str]
) -> None:
    done = bookbound("ask", PARTS, *options, "--index", str(little_index), **away, **setting)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: The language model could not be reached. ")
    assert "127.0.0.1" not in done.stderr
