"""Measuring on a question set."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ROWS, Run

from bookbound.cli.eval_command import check_output_files
from bookbound.domain.errors import ConfigError
from bookbound.evaluation.question_set import LINE_HINT


@pytest.fixture
def run_eval(bookbound: Run, questions: Path, little_index: Path, tmp_path: Path) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return bookbound("eval", "--questions", str(questions), "--index", str(little_index), *arguments, cwd=tmp_path)

    return run


def test_the_figures_are_tables_on_standard_output(run_eval: Run) -> None:
    done = run_eval()
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "Retrieval",
        "recall@5",
        "MRR",
        "Answers",
        "Replies",
        "off_topic",
        "Citations",
        "Milliseconds",
    ):
        assert words in done.stdout
    assert "\x1b" not in done.stdout
    assert "3, 2 of them answerable" in done.stdout


def test_figures_and_report_are_written_to_files(run_eval: Run, tmp_path: Path) -> None:
    done = run_eval("--json-file", "figures.json", "--html-file", "report.html")
    assert done.returncode == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert list(figures) == [
        "bookbound",
        "index",
        "operating_point",
        "format",
        "questions",
        "retrieval",
        "replies",
        "answers",
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


def test_a_dash_prints_only_the_figures(run_eval: Run) -> None:
    assert json.loads(run_eval("--json-file", "-").stdout)["format"] == 1


def test_requirements_that_are_met_exit_with_0(run_eval: Run) -> None:
    done = run_eval("--require", "verbatim=1", "--require", "refused.off_topic=0", "--require", "p95_ms=1e9")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_missed_requirement_exits_with_1_and_shows_the_difference(run_eval: Run) -> None:
    done = run_eval("--require", "recall@20=1.5", "--require", "verbatim=1")
    assert (done.returncode, done.stderr) == (1, "Missed: recall@20 is 1, 0.5 below the required 1.5.\n")
    assert "Retrieval" in done.stdout


def test_an_unknown_requirement_exits_with_2_and_lists_the_known_names(run_eval: Run) -> None:
    done = run_eval("--require", "recall@6=0.8")
    assert (done.returncode, done.stdout) == (2, "")
    assert "recall@5" in done.stderr
    assert "refused.off_topic" in done.stderr


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nonsense", f"Line 1 of the question set: It is not valid JSON. {LINE_HINT}"),
        (json.dumps({"id": "1"}), "Line 1 of the question set: `question` is missing. Add it."),
        (
            json.dumps(ROWS[0] | {"evidence": [{"file": "nowhere.md", "quote": "x"}]}),
            "Line 1 of the question set: `evidence[0].file` is not in this book.",
        ),
    ],
)
def test_a_bad_line_exits_with_4_and_shows_its_number(run_eval: Run, questions: Path, row: str, message: str) -> None:
    questions.write_text(row)
    done = run_eval()
    assert (done.returncode, done.stdout, done.stderr) == (4, "", f"Error: {message}\n")
    done = run_eval("--json-file", "-")
    assert json.loads(done.stdout)["error"]["message"] == message


def test_a_set_of_only_questions_and_whether_they_are_answerable_is_measured(run_eval: Run, questions: Path) -> None:
    rows = [{name: row[name] for name in ("question", "answerable")} for row in ROWS]
    questions.write_text("\n".join(map(json.dumps, rows)))
    done = run_eval("--json-file", "-")
    figures = json.loads(done.stdout)
    assert [row["id"] for row in figures["rows"]] == ["line 1", "line 2", "line 3"]
    assert [row["verdict"] for row in figures["rows"]] == ["right", "right", "right"]
    assert (figures["answers"]["precision"], figures["retrieval"]["by_question"]["recall@5"]) == (1.0, None)
    assert done.stderr.startswith("Warning: Any answer counts as right for 2 answerable questions without `evidence`")
    assert run_eval().returncode == 0


@pytest.mark.parametrize("option", ["--json-file", "--html-file"])
def test_an_output_file_that_cannot_be_written_is_reported_before_a_question_is_asked(
    run_eval: Run, tmp_path: Path, option: str
) -> None:
    for file in ("nowhere/report", "."):
        done = run_eval(option, file)
        assert (done.returncode, done.stdout) == (2, "")
        assert "cannot be written" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--json-file", "questions.jsonl"), "questions.jsonl is the question set and would be overwritten."),
        (("--html-file", "link"), "link is the question set and would be overwritten."),
        (("--json-file", "both", "--html-file", "./x/../both"), "x/../both is named for two outputs."),
        (("--html-file", "-"), "Only --json-file of eval accepts - for standard output."),
    ],
)
def test_each_output_needs_its_own_file(
    run_eval: Run, questions: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(questions)
    before = questions.read_text()
    done = run_eval(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {message}")
    assert questions.read_text() == before
    assert not (tmp_path / "both").exists()


def test_checking_an_output_file_changes_nothing(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "led-to")
    before = sorted(tmp_path.iterdir())
    check_output_files(questions, tmp_path / "old", tmp_path / "new", tmp_path / "link")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "old").read_text() == "old"


def test_an_output_file_that_cannot_be_opened_is_an_error(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(ConfigError, match="loop cannot be written"):
        check_output_files(questions, tmp_path / "loop")


def test_the_tables_are_printed_even_if_a_file_cannot_be_written_at_the_end(run_eval: Run) -> None:
    done = run_eval("--html-file", "/dev/full")
    assert done.returncode == 2
    assert "Retrieval" in done.stdout


def test_without_a_question_set_or_an_index_it_exits_with_2(bookbound: Run, questions: Path, tmp_path: Path) -> None:
    done = bookbound("eval", "--questions", "nowhere.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "Error: No such file or directory: nowhere.jsonl\n")
    done = bookbound("eval", "--questions", str(questions), cwd=tmp_path)
    assert done.returncode == 2
    assert "There is no index in .bookbound yet." in done.stderr


def test_ask_does_not_import_the_evaluation(little_index: Path, tmp_path: Path) -> None:
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
