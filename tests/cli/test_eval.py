"""Measuring on a question set."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import ROWS

from bookbound.cli.eval_command import check_output_files
from bookbound.domain.errors import ConfigError

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def measure(bookbound: Run, questions: Path, little_index: Path, tmp_path: Path) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return bookbound("eval", "--questions", str(questions), "--index", str(little_index), *arguments, cwd=tmp_path)

    return run


def test_the_figures_are_tables_on_standard_output_and_nothing_else_is_said(measure: Run) -> None:
    done = measure()
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("Retrieval", "recall@5", "MRR", "Answers", "Refusals", "off_topic", "Citations", "Milliseconds"):
        assert words in done.stdout
    assert "\x1b" not in done.stdout
    assert "3, 2 of them answerable" in done.stdout


def test_figures_and_report_are_written_where_asked(measure: Run, tmp_path: Path) -> None:
    done = measure("--json", "figures.json", "--html", "report.html")
    assert done.returncode == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert list(figures) == [
        "bookbound",
        "index",
        "operating_point",
        "format",
        "questions",
        "retrieval",
        "answers",
        "refusals",
        "citations",
        "latency_ms",
        "calibration",
        "curve",
        "rows",
    ]
    assert figures["questions"] == {"all": 3, "answerable": 2, "unanswerable": 1}
    assert figures["citations"]["verbatim"] == 1.0
    html = (tmp_path / "report.html").read_text()
    assert html.count("<svg") == 3
    assert "&lt;b&gt;football&lt;/b&gt;" in html


def test_a_dash_prints_the_figures_alone(measure: Run) -> None:
    assert json.loads(measure("--json", "-").stdout)["format"] == 1


def test_bars_that_are_reached_end_with_0(measure: Run) -> None:
    done = measure("--bar", "verbatim=1", "--bar", "refused.off_topic=0", "--bar", "p95_ms=1e9")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missed_bar_ends_with_1_and_says_by_how_much(measure: Run) -> None:
    done = measure("--bar", "recall@20=1.5", "--bar", "verbatim=1")
    assert (done.returncode, done.stderr) == (1, "Missed: recall@20 is 1, 0.5 under the bar of 1.5.\n")
    assert "Retrieval" in done.stdout


def test_an_unknown_bar_ends_with_2_and_the_known_names(measure: Run) -> None:
    done = measure("--bar", "recall@6=0.8")
    assert (done.returncode, done.stdout) == (2, "")
    assert "recall@5" in done.stderr
    assert "refused.off_topic" in done.stderr


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("nonsense", "Line 1 of the question set: It is no JSON."),
        (json.dumps({"id": "1"}), "Line 1 of the question set: `question` is missing."),
        (
            json.dumps(ROWS[0] | {"evidence": [{"file": "nowhere.md", "quote": "x"}]}),
            "Line 1 of the question set: `evidence[0].file` is not in this book.",
        ),
    ],
)
def test_a_bad_line_ends_with_4_and_names_line_and_field(measure: Run, questions: Path, row: str, told: str) -> None:
    questions.write_text(row)
    done = measure()
    assert (done.returncode, done.stdout, done.stderr) == (4, "", f"Error: {told}\n")
    done = measure("--json", "-")
    assert json.loads(done.stdout)["error"]["message"] == told


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_file_that_cannot_be_written_is_told_before_any_question_is_asked(
    measure: Run, tmp_path: Path, option: str
) -> None:
    for file in ("nowhere/report", "."):
        done = measure(option, file)
        assert (done.returncode, done.stdout) == (2, "")
        assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--json", "questions.jsonl"), "questions.jsonl is the question set and would be overwritten."),
        (("--html", "link"), "link is the question set and would be overwritten."),
        (("--json", "both", "--html", "./x/../both"), "x/../both is named for two outputs."),
        (("--html", "-"), "- stands for standard output with --json of eval alone."),
    ],
)
def test_outputs_are_files_of_their_own(
    measure: Run, questions: Path, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(questions)
    before = questions.read_text()
    done = measure(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {told}")
    assert questions.read_text() == before
    assert not (tmp_path / "both").exists()


def test_trying_an_output_leaves_everything_as_it_was(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "led-to")
    before = sorted(tmp_path.iterdir())
    check_output_files(questions, tmp_path / "old", tmp_path / "new", tmp_path / "link")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old").read_text() == "old"


def test_an_output_that_cannot_be_opened_is_told(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ConfigError, match="loop cannot be written"):
        check_output_files(questions, tmp_path / "loop")


def test_the_tables_are_printed_also_where_a_file_cannot_be_written_in_the_end(measure: Run) -> None:
    done = measure("--html", "/dev/full")
    assert done.returncode == 2
    assert "Retrieval" in done.stdout


def test_without_a_question_set_or_an_index_it_ends_with_2(bookbound: Run, questions: Path, tmp_path: Path) -> None:
    done = bookbound("eval", "--questions", "nowhere.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "Error: No such file or directory: nowhere.jsonl\n")
    done = bookbound("eval", "--questions", str(questions), cwd=tmp_path)
    assert done.returncode == 2
    assert "There is no index in .bookbound yet." in done.stderr


def test_asking_does_not_import_what_measures(little_index: Path, tmp_path: Path) -> None:
    script = f"""
import os, sys
sys.argv = ["bookbound", "ask", "What does a harmonic drive consist of?", "--index", {str(little_index)!r}]
def end(code):
    print("LOADED", [name for name in sys.modules if name.startswith("bookbound.evaluation")], flush=True)
    sys.exit()
os._exit = end
from bookbound.bootstrap import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "LOADED []\n" in done.stdout
