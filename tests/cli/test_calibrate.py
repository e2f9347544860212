"""Choosing the operating point for a book."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import ROWS

from bookbound.answering.operating_point import Calibration
from bookbound.cli.calibrate_command import _save_calibration
from bookbound.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]
FILE = "operating-point.json"


@pytest.fixture
def index(little_index: Path, tmp_path: Path) -> Path:
    """A copy of the little index, to write beside."""
    return Path(shutil.copytree(little_index, tmp_path / "index"))


@pytest.fixture
def calibrate(bookbound: Run, questions: Path, index: Path, tmp_path: Path) -> Run:
    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        given = ("--questions", str(questions), "--index", str(index), *arguments)
        return bookbound("calibrate", *given, cwd=tmp_path, **environment)

    return run


def told(run: Run, index: Path, **environment: str) -> dict[str, object]:
    point = json.loads(run("status", "--index", str(index), "--json", **environment).stdout)["operating_point"]
    assert isinstance(point, dict)
    return point


def test_the_choice_is_kept_beside_the_index_and_holds_from_then_on(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    assert told(bookbound, index)["origin"] == "default"
    done = calibrate("--precision", "0.1")
    assert done.returncode == 0
    kept = json.loads((index / FILE).read_text())
    assert (kept["questions"], kept["wanted"]) == (3, 0.1)
    assert kept["precision"] >= 0.1
    assert len(kept["curve"]) == 101
    assert f"Answer from {kept['answered']:.2f} on" in done.stdout
    assert told(bookbound, index) | {"relevant": 0, "drafted": 0} == {
        "answered": kept["answered"],
        "relevant": 0,
        "drafted": 0,
        "origin": "calibrated on 3 questions",
    }
    assert "(calibrated on 3 questions)" in bookbound("status", "--index", str(index)).stdout


def test_asking_goes_by_what_was_calibrated_unless_a_setting_says_otherwise(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    assert calibrate("--precision", "0.1").returncode == 0
    asked = ("ask", ROWS[0]["question"], "--index", str(index))
    assert bookbound(*asked).returncode == 0
    kept = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(kept | {"answered": 1.0}))
    assert bookbound(*asked).returncode == 1
    assert bookbound(*asked, BOOKBOUND_ANSWERED="0.0").returncode == 0
    assert told(bookbound, index, BOOKBOUND_ANSWERED="0.25")["origin"] == "setting"


def test_few_questions_are_warned_of(calibrate: Run) -> None:
    done = calibrate("--precision", "0.1")
    assert done.stderr == "Warning: The set has 3 questions: with fewer than 30, the choice rests on chance.\n"


def test_the_curve_is_printed_with_the_choice_marked(calibrate: Run) -> None:
    lines = calibrate("--precision", "0.1").stdout.splitlines()
    assert lines[1].split() == ["from", "answers", "coverage", "precision", "refused"]
    assert any(line.split()[:1] == ["off_topic"] for line in lines)
    assert sum(" * " in line for line in lines) == 1
    assert not any("█" in line for line in lines)


def test_a_precision_that_no_threshold_reaches_writes_nothing_and_ends_with_1(
    calibrate: Run, questions: Path, index: Path
) -> None:
    wrong = [row | {"must_contain": ["what no answer holds"]} for row in ROWS[:2]]
    questions.write_text("\n".join(map(json.dumps, wrong)))
    done = calibrate()
    assert done.returncode == 1
    assert "No threshold makes 90% of the answers right, so nothing was written. The best is 0.0%" in done.stderr
    assert not (index / FILE).exists()


def test_another_file_leaves_the_index_as_it_is_and_says_how_to_use_the_choice(
    calibrate: Run, index: Path, tmp_path: Path
) -> None:
    done = calibrate("--precision", "0.1", "--out", "chosen.json")
    chosen = json.loads((tmp_path / "chosen.json").read_text())
    assert done.returncode == 0
    assert f"set answered = {chosen['answered']:.2f} in bookbound.toml" in done.stdout
    assert not (index / FILE).exists()


@pytest.mark.parametrize("out", ["questions.jsonl", "-", "nowhere/chosen.json"])
def test_a_file_that_may_or_can_not_be_written_is_told_before_any_question_is_asked(
    calibrate: Run, questions: Path, out: str
) -> None:
    before = questions.read_text()
    done = calibrate("--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert questions.read_text() == before


def test_the_own_file_of_the_index_is_beside_the_index(calibrate: Run, index: Path) -> None:
    done = calibrate("--precision", "0.1", "--out", f"{index}/../{index.name}/{FILE}")
    assert done.returncode == 0
    assert "not beside the index" not in done.stdout
    assert (index / FILE).is_file()


def test_a_set_that_cannot_measure_refusal_writes_nothing_unless_forced(
    calibrate: Run, questions: Path, index: Path
) -> None:
    questions.write_text("\n".join(map(json.dumps, ROWS[:2])))
    done = calibrate("--precision", "0.1")
    assert done.returncode == 1
    assert "Warning: The set has no unanswerable questions: refusal cannot be measured on it." in done.stderr
    assert "Nothing was written." in done.stderr
    assert not (index / FILE).exists()
    done = calibrate("--precision", "0.1", "--force")
    assert done.returncode == 0
    assert "refusal cannot be measured" in done.stderr
    assert (index / FILE).is_file()


def test_what_was_calibrated_for_another_book_is_warned_of_with_the_index_to_name(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    calibrate("--precision", "0.1")
    kept = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(kept | {"title": "another", "answered": 1.0}))
    done = bookbound("ask", ROWS[0]["question"], "--index", str(index))
    assert done.returncode == 0
    assert done.stderr == (
        "Warning: The operating point beside this index is for another book. "
        f"Calibrate again: bookbound calibrate --questions FILE --index {index}\n"
    )


def test_what_was_calibrated_for_another_judge_is_warned_of_and_does_not_hold(
    bookbound: Run, calibrate: Run, index: Path
) -> None:
    calibrate("--precision", "0.1")
    kept = json.loads((index / FILE).read_text())
    (index / FILE).write_text(json.dumps(kept | {"judge": "another", "answered": 1.0}))
    done = bookbound("ask", ROWS[0]["question"], "--index", str(index))
    assert done.returncode == 0
    assert done.stderr.startswith(
        "Warning: The operating point beside this index is for another judge. Calibrate again"
    )
    assert "another judge" in str(told(bookbound, index)["origin"])


def test_a_damaged_choice_is_told_and_calibrating_again_mends_it(bookbound: Run, calibrate: Run, index: Path) -> None:
    (index / FILE).write_text("{")
    done = bookbound("ask", ROWS[0]["question"], "--index", str(index))
    assert done.returncode == 2
    assert "bookbound calibrate --questions FILE" in done.stderr
    assert calibrate("--precision", "0.1").returncode == 0
    assert bookbound("ask", ROWS[0]["question"], "--index", str(index)).returncode == 0


def test_a_setting_that_overrides_the_choice_is_named(calibrate: Run) -> None:
    done = calibrate("--precision", "0.1", BOOKBOUND_ANSWERED="0.75")
    assert "The setting answered = 0.75 overrides it" in done.stdout


def test_a_choice_outlives_the_next_index_of_the_book(
    bookbound: Run, calibrate: Run, index: Path, little_book: Path
) -> None:
    calibrate("--precision", "0.1")
    assert bookbound("index", str(little_book), "--index", str(index)).returncode == 0
    assert told(bookbound, index)["origin"] == "calibrated on 3 questions"


@pytest.mark.parametrize("precision", ["1.5", "-0.1", "high", "nan", "inf"])
def test_a_precision_is_a_share(calibrate: Run, precision: str) -> None:
    assert calibrate("--precision", precision).returncode == 2


def test_an_index_on_a_server_keeps_no_choice_and_the_setting_is_named(tmp_path: Path) -> None:
    found = Calibration(0.62, "judge", 133, 0.9, 0.91, 0.7, "g1", "2026-01-01")
    chosen = Settings(index=tmp_path, qdrant_url="http://127.0.0.1:9")
    words = "\n".join(line.text for line in _save_calibration(found, [], chosen, None))
    assert "A Qdrant server keeps no operating point: to answer with it, set answered = 0.62" in words
    assert "BOOKBOUND_ANSWERED=0.62" in words
    assert list(tmp_path.iterdir()) == []
