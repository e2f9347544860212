"""Choosing the answer threshold for a book."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import ROWS, Run
from tests.shipped_point import ANSWERED

from bookbound.answering.deciding.operating_point import Calibration
from bookbound.cli.calibrate_command import _save_calibration
from bookbound.filesystem.temp_copies import checksum_file
from bookbound.settings import Settings

FILE = "operating-point.json"


@pytest.fixture
def index(little_index: Path, tmp_path: Path) -> Path:
    """A copy of the little index that can be changed."""

    # An index is mostly holes, which another copy would fill.
    def copy(old: str, new: str) -> None:
        checksum_file(Path(old), Path(new))

    return Path(shutil.copytree(little_index, tmp_path / "index", copy_function=copy))


@pytest.fixture
def calibrate(bookbound: Run, questions: Path, index: Path, tmp_path: Path) -> Run:
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        given = ("--questions", str(questions), "--index", str(index), *arguments)
        return bookbound("calibrate", *given, cwd=tmp_path, **environment)

    return run


def operating_point(run: Run, index: Path, **environment: str) -> dict[str, object]:
    point = json.loads(run("status", "--index", str(index), "--json", **environment).stdout)["operating_point"]
    assert isinstance(point, dict)
    return point


def test_the_choice_is_stored_next_to_the_index_and_used_from_then_on(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    assert operating_point(bookbound, index)["origin"] == "default"
    done = calibrate("--min-precision", "0.1")
    assert done.returncode == 0
    kept = json.loads((index / FILE).read_text())
    assert (kept["questions"], kept["wanted"]) == (3, 0.1)
    assert kept["precision"] >= 0.1
    assert len(kept["curve"]) == 101
    assert f"Answer threshold {kept['answered']:.2f}: " in done.stdout
    assert operating_point(bookbound, index) | {"relevant": 0, "unsure": 0} == {
        "answered": kept["answered"],
        "relevant": 0,
        "unsure": 0,
        "origin": "calibrated on 3 questions",
    }
    assert "(calibrated on 3 questions)" in bookbound("status", "--index", str(index)).stdout


def test_questions_use_the_calibrated_threshold_unless_a_setting_overrides_it(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    assert calibrate("--min-precision", "0.1").returncode == 0
    command = ("ask", ROWS[0]["question"], "--index", str(index))
    assert bookbound(*command).returncode == 0
    kept = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(kept | {"answered": 1.0}))
    assert bookbound(*command).returncode == 1
    assert bookbound(*command, BOOKBOUND_ANSWER_THRESHOLD="0.0").returncode == 0
    assert operating_point(bookbound, index, BOOKBOUND_ANSWER_THRESHOLD="0.25")["origin"] == "setting"


def test_a_small_question_set_is_a_warning(calibrate: Run) -> None:
    done = calibrate("--min-precision", "0.1")
    assert done.stderr == "Warning: The set has 3 questions: with fewer than 30, the choice depends on chance.\n"


def test_the_curve_is_printed_with_a_mark_at_the_choice(calibrate: Run) -> None:
    lines = calibrate("--min-precision", "0.1").stdout.splitlines()
    assert lines[1].split() == ["threshold", "answers", "coverage", "precision", "not", "answered"]
    assert any(line.split()[:1] == ["off_topic"] for line in lines)
    assert sum(" * " in line for line in lines) == 1
    assert not any("█" in line for line in lines)


def test_the_point_in_use_and_the_new_one_are_shown_side_by_side(calibrate: Run, index: Path) -> None:
    calibrate("--min-precision", "0.1")
    before = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(before | {"answered": 1.0}))
    lines = calibrate("--min-precision", "0.1").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Before and after"))
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[start : start + 9]]
    assert rows == [
        ["Before and after", "in use: 1.00", f"new: {before['answered']:.2f}"],
        ["answerable: answered", "0 (0%)", "2 (100%)"],
        ["of these right", "0", "2 (100%)"],
        ["answerable: unsure", "2 (100%)", "0 (0%)"],
        ["answerable: refused", "0 (0%)", "0 (0%)"],
        ["unanswerable: answered", "0 (0%)", "0 (0%)"],
        ["unanswerable: unsure", "0 (0%)", "0 (0%)"],
        ["unanswerable: refused", "1 (100%)", "1 (100%)"],
        ["answers that are right", "–", "100%"],
    ]


def test_a_point_that_answers_clearly_fewer_questions_is_written_only_if_forced(
    calibrate: Run, questions: Path, index: Path
) -> None:
    other = {
        "question": "After how many seconds is a crashed node restarted?",
        "must_contain": ["what no answer holds"],
    }
    questions.write_text("\n".join(map(json.dumps, (ROWS[0], ROWS[1] | other, ROWS[2]))))
    done = calibrate("--min-precision", "0.9")
    assert done.returncode == 1
    fewer = f"answers clearly fewer questions: 1 of 2 answerable ones, while {ANSWERED}, which is in use, answers 2."
    assert fewer in done.stderr
    assert "Nothing was written. To use the threshold " in done.stderr
    assert not (index / FILE).exists()
    done = calibrate("--min-precision", "0.9", "--force")
    assert done.returncode == 0
    assert "answers clearly fewer questions" in done.stderr
    assert (index / FILE).is_file()


def test_a_named_book_gets_its_own_point(bookbound: Run, little_book: Path, questions: Path, tmp_path: Path) -> None:
    for edition in ("1.0", "2.0"):
        bookbound("index", str(little_book), "--book", "drives", "--edition", edition, cwd=tmp_path)
    given = ("--questions", str(questions), "--min-precision", "0.1", "--book", "drives")
    assert bookbound("calibrate", *given, cwd=tmp_path).returncode == 0
    assert bookbound("calibrate", *given, "--edition", "1.0", cwd=tmp_path).returncode == 0
    found = [file.parent.name for file in sorted((tmp_path / ".bookbound").rglob(FILE))]
    assert found == ["drives@1.0", "drives@2.0"]
    status = bookbound("status", "--book", "drives", "--json", cwd=tmp_path).stdout
    assert json.loads(status)["operating_point"]["origin"] == "calibrated on 3 questions"
    newest = tmp_path / ".bookbound" / "books" / "drives@2.0" / FILE
    newest.write_text(json.dumps(json.loads(newest.read_text()) | {"title": "another"}))
    warned = bookbound("ask", ROWS[0]["question"], "--book", "drives", cwd=tmp_path).stderr
    assert warned.endswith("bookbound calibrate --questions FILE --book drives --edition 2.0\n")
    first = ("--book", "drives", "--edition", "1.0")
    measured = bookbound("eval", "--questions", str(questions), *first, "--json-file", "-", cwd=tmp_path)
    assert json.loads(measured.stdout)["operating_point"]["origin"] == "calibrated on 3 questions"


@pytest.mark.parametrize("command", ["calibrate", "eval"])
def test_a_question_set_is_about_one_book(bookbound: Run, index: Path, questions: Path, command: str) -> None:
    given = (command, "--questions", str(questions), "--index", str(index))
    done = bookbound(*given, "--book", "all")
    assert (done.returncode, done.stdout) == (4, "")
    assert "Name one book: --book NAME" in done.stderr
    assert bookbound(*given, "--book", "other").returncode == 2


def test_a_precision_that_no_threshold_reaches_writes_nothing_and_exits_with_1(
    calibrate: Run, questions: Path, index: Path
) -> None:
    wrong = [row | {"must_contain": ["what no answer holds"]} for row in ROWS[:2]]
    questions.write_text("\n".join(map(json.dumps, wrong)))
    done = calibrate()
    assert done.returncode == 1
    assert "No threshold makes 90% of the answers right, so nothing was written. The best is 0.0%" in done.stderr
    assert not (index / FILE).exists()


def test_another_output_file_leaves_the_index_unchanged_and_says_how_to_use_the_choice(
    calibrate: Run, index: Path, tmp_path: Path
) -> None:
    done = calibrate("--min-precision", "0.1", "--output-file", "chosen.json")
    stored = json.loads((tmp_path / "chosen.json").read_text())
    assert done.returncode == 0
    assert f"set answer_threshold = {stored['answered']:.2f} in bookbound.toml" in done.stdout
    assert not (index / FILE).exists()


@pytest.mark.parametrize("out", ["questions.jsonl", "-", "nowhere/chosen.json"])
def test_an_output_file_that_cannot_be_written_is_reported_before_a_question_is_asked(
    calibrate: Run, questions: Path, out: str
) -> None:
    before = questions.read_text()
    done = calibrate("--output-file", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert questions.read_text() == before


def test_the_output_file_may_be_that_of_the_index(calibrate: Run, index: Path) -> None:
    done = calibrate("--min-precision", "0.1", "--output-file", f"{index}/../{index.name}/{FILE}")
    assert done.returncode == 0
    assert "not next to the index" not in done.stdout
    assert (index / FILE).is_file()


def test_a_set_without_unanswerable_questions_writes_nothing_unless_forced(
    calibrate: Run, questions: Path, index: Path
) -> None:
    questions.write_text("\n".join(map(json.dumps, ROWS[:2])))
    done = calibrate("--min-precision", "0.1")
    assert done.returncode == 1
    assert "Warning: The set has no unanswerable questions, so refusals cannot be measured." in done.stderr
    assert "Nothing was written." in done.stderr
    assert not (index / FILE).exists()
    done = calibrate("--min-precision", "0.1", "--force")
    assert done.returncode == 0
    assert "refusals cannot be measured" in done.stderr
    assert (index / FILE).is_file()


def test_a_calibration_for_another_book_is_a_warning_with_the_command_to_run(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    calibrate("--min-precision", "0.1")
    kept = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(kept | {"title": "another", "answered": 1.0}))
    done = bookbound("ask", ROWS[0]["question"], "--index", str(index))
    assert operating_point(bookbound, index)["answered"] != 1.0
    assert "is for another book." in done.stderr
    assert done.stderr.endswith(f"bookbound calibrate --questions FILE --index {index}\n")


def test_a_calibration_for_another_judge_is_a_warning_and_not_used(bookbound: Run, calibrate: Run, index: Path) -> None:
    calibrate("--min-precision", "0.1")
    kept = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(kept | {"judge": "another", "answered": 1.0}))
    done = bookbound("ask", ROWS[0]["question"], "--index", str(index))
    assert operating_point(bookbound, index)["answered"] != 1.0
    assert "is for another model." in done.stderr
    assert "another model" in str(operating_point(bookbound, index)["origin"])


def test_a_damaged_calibration_is_an_error_until_it_is_repeated(bookbound: Run, calibrate: Run, index: Path) -> None:
    (index / FILE).write_text("{")
    done = bookbound("ask", ROWS[0]["question"], "--index", str(index))
    assert done.returncode == 2
    assert "bookbound calibrate --questions FILE" in done.stderr
    assert calibrate("--min-precision", "0.1").returncode == 0
    assert bookbound("ask", ROWS[0]["question"], "--index", str(index)).returncode == 0


def test_a_setting_that_overrides_the_choice_is_shown(calibrate: Run) -> None:
    done = calibrate("--min-precision", "0.1", BOOKBOUND_ANSWER_THRESHOLD="0.75")
    assert "The setting answer_threshold = 0.75 overrides this choice." in done.stdout


def test_a_calibration_survives_indexing_again(bookbound: Run, calibrate: Run, index: Path, little_book: Path) -> None:
    calibrate("--min-precision", "0.1")
    assert bookbound("index", str(little_book), "--index", str(index)).returncode == 0
    assert operating_point(bookbound, index)["origin"] == "calibrated on 3 questions"


@pytest.mark.parametrize("precision", ["1.5", "-0.1", "high", "nan", "inf"])
def test_a_precision_that_is_not_a_share_is_bad_use(calibrate: Run, precision: str) -> None:
    assert calibrate("--min-precision", precision).returncode == 2


def test_for_an_index_on_a_server_the_setting_is_shown(tmp_path: Path) -> None:
    found = Calibration(0.62, "model", 133, 0.9, 0.91, 0.7, "g1", "2026-01-01")
    settings = Settings(index=tmp_path, qdrant_url="http://127.0.0.1:9")
    words = "\n".join(line.text for line in _save_calibration(found, [], settings, None))
    assert (
        "An index on a Qdrant server has no calibration file. To use the threshold, set answer_threshold = 0.62"
        in words
    )
    assert "BOOKBOUND_ANSWER_THRESHOLD=0.62" in words
    assert list(tmp_path.iterdir()) == []
