from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evals.calibrate import refusing

from bookbound import bootstrap
from bookbound.answering.operating_point import (
    OPERATING_POINT_FILE,
    Calibration,
    DefaultOperatingPoint,
    OperatingPoint,
    load_calibration,
    recalibration_hint,
    resolve_operating_point,
    save_calibration,
)
from bookbound.domain.errors import ConfigError
from bookbound.domain.manifest import Manifest
from bookbound.evaluation.threshold_curve import CurvePoint, choose_threshold
from bookbound.models import CONSTANTS_FILE, DIGESTS_FILE, EMBEDDER_FILE, MODELS_FOLDER, READER_FILE
from bookbound.settings import Settings

SHIPPED = DefaultOperatingPoint(OperatingPoint(answered=0.3, relevant=0.2, drafted=0.1), "judge-1")
CHOSEN = Calibration(0.62, "judge-1", 133, 0.9, 0.91, 0.7, "g1", "2026-01-01T00:00:00+00:00", "Drives", "mdbook")
BOOK = Manifest("Drives", "mdbook", "embedder", 2, "splitter", 1.0, pages=1, chunks=1)


def test_without_a_choice_the_default_holds(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        held = resolve_operating_point(Settings(index=folder), SHIPPED, BOOK)
        assert (held.point, held.origin, held.outdated) == (SHIPPED.point, "default", "")


def test_what_was_calibrated_beside_the_index_holds_and_moves_the_one_threshold(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    held = resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK)
    assert held.point == replace(SHIPPED.point, answered=0.62, drafted=0.62)
    assert held.origin == "calibrated on 133 questions"


def test_a_setting_overrides_whatever_lies_beside_the_index(tmp_path: Path) -> None:
    (tmp_path / OPERATING_POINT_FILE).write_text("damaged")
    held = resolve_operating_point(Settings(index=tmp_path, answered=0.8), SHIPPED, BOOK)
    assert (held.point.answered, held.origin) == (0.8, "setting")


def test_what_was_calibrated_for_another_judge_does_not_hold(tmp_path: Path) -> None:
    save_calibration(replace(CHOSEN, judge="judge-0"), [], tmp_path / OPERATING_POINT_FILE)
    held = resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK)
    assert (held.point, held.outdated) == (SHIPPED.point, "another judge")


@pytest.mark.parametrize("parts", [{"embedder": "cohere"}, {"examiner": "cohere"}])
def test_what_was_calibrated_with_the_local_parts_does_not_hold_for_others(
    tmp_path: Path, parts: dict[str, Any]
) -> None:
    default = resolve_operating_point(Settings(index=tmp_path, **parts), SHIPPED, BOOK)
    assert default.origin == "default; it was chosen with the local embedder and examiner"
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(Settings(index=tmp_path, **parts), SHIPPED, BOOK).outdated == "another judge"
    save_calibration(replace(CHOSEN, judge=default.judge), [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(Settings(index=tmp_path, **parts), SHIPPED, BOOK).point.answered == 0.62
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).outdated == "another judge"


@pytest.mark.parametrize("other", [{"title": "Nodes"}, {"kind": "sphinx"}])
def test_what_was_calibrated_for_another_book_does_not_hold(tmp_path: Path, other: dict[str, Any]) -> None:
    save_calibration(replace(CHOSEN, **other), [], tmp_path / OPERATING_POINT_FILE)
    held = resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK)
    assert (held.point, held.outdated) == (SHIPPED.point, "another book")
    assert held.origin == "default; what was calibrated is for another book"


def test_a_file_that_does_not_say_for_which_book_holds(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    kept = json.loads((tmp_path / OPERATING_POINT_FILE).read_text())
    assert (kept.pop("title"), kept.pop("kind")) == ("Drives", "mdbook")
    (tmp_path / OPERATING_POINT_FILE).write_text(json.dumps(kept))
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).point.answered == 0.62


def test_by_default_there_is_a_reply_from_a_lower_point_on_than_a_sure_answer(tmp_path: Path) -> None:
    save_calibration(replace(CHOSEN, judge="judge-0"), [], tmp_path / OPERATING_POINT_FILE)
    for folder in (tmp_path, tmp_path / "nowhere"):
        held = resolve_operating_point(Settings(index=folder), SHIPPED, BOOK)
        assert (held.point.offered, held.point.answered) == (0.1, 0.3)


def test_below_a_point_that_was_set_or_calibrated_nothing_is_offered(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    for answered, expected in ((None, 0.62), (0.8, 0.8), (0.3, 0.3), (0.0, 0.0)):
        held = resolve_operating_point(Settings(index=tmp_path, answered=answered), SHIPPED, BOOK)
        assert held.point.offered == held.point.answered == expected


def test_one_question_is_one_question(tmp_path: Path) -> None:
    save_calibration(replace(CHOSEN, questions=1), [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).origin == "calibrated on 1 question"


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / OPERATING_POINT_FILE).symlink_to(tmp_path / "elsewhere.json")
    for _ in range(2):
        save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
        assert (tmp_path / OPERATING_POINT_FILE).is_symlink()
        assert load_calibration(tmp_path / "elsewhere.json") == CHOSEN


def test_the_hint_names_an_index_that_is_elsewhere() -> None:
    assert recalibration_hint(Settings().index).endswith(" --questions FILE")
    assert recalibration_hint(Path("my index")).endswith(" --questions FILE --index 'my index'")


def test_with_a_server_no_file_counts(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    held = resolve_operating_point(Settings(index=tmp_path, qdrant_url="http://127.0.0.1:9"), SHIPPED, BOOK)
    assert held.origin == "default"


def test_what_is_kept_is_read_again_with_its_curve_beside_it(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [{"answered": 0.0, "precision": 0.5}], tmp_path / OPERATING_POINT_FILE)
    assert load_calibration(tmp_path / OPERATING_POINT_FILE) == CHOSEN
    assert json.loads((tmp_path / OPERATING_POINT_FILE).read_text())["curve"] == [{"answered": 0.0, "precision": 0.5}]
    assert [path.name for path in tmp_path.iterdir()] == [OPERATING_POINT_FILE]


@pytest.mark.parametrize(
    "content", ["", "nonsense", "[]", "{}", "null", '{"answered": 0.5}', "[" * 100_000, b"\xff".decode("latin-1")]
)
def test_a_damaged_file_is_told_with_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / OPERATING_POINT_FILE).write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match="bookbound calibrate --questions FILE"):
        load_calibration(tmp_path / OPERATING_POINT_FILE)


@pytest.mark.parametrize("answered", [-0.1, 1.1, "0.5", None, True, float("nan")])
def test_a_threshold_that_is_no_probability_is_damage(tmp_path: Path, answered: Any) -> None:
    save_calibration(replace(CHOSEN, answered=answered), [], tmp_path / OPERATING_POINT_FILE)
    with pytest.raises(ConfigError):
        load_calibration(tmp_path / OPERATING_POINT_FILE)


def judge(folder: Path, networks: dict[str, str] | None = None, **held: Any) -> DefaultOperatingPoint:
    """The judge of a folder with these constants and with networks of these digests."""
    point = {"answered": 0.3, "relevant": 0.2, "drafted": 0.1}
    (folder / CONSTANTS_FILE).write_text(json.dumps({"weights": [1, 2], "point": point} | held))
    (folder / DIGESTS_FILE).write_text(json.dumps({READER_FILE: "r1", EMBEDDER_FILE: "e1"} | (networks or {})))
    return DefaultOperatingPoint.of(folder)


def test_a_judge_is_told_by_what_was_fitted_and_not_by_the_point_chosen_for_it(tmp_path: Path) -> None:
    first = judge(tmp_path)
    assert first.point == SHIPPED.point
    point = {"answered": 0.4, "relevant": 0.2, "drafted": 0.3}
    assert judge(tmp_path, point=point, curve=[1], held_out={}, wanted=0.6).judge == first.judge
    assert judge(tmp_path, weights=[1, 3]).judge != first.judge


def test_what_counts_as_relevant_makes_another_judge(tmp_path: Path) -> None:
    assert judge(tmp_path, point={"answered": 0.3, "relevant": 0.1, "drafted": 0.1}).judge != judge(tmp_path).judge


@pytest.mark.parametrize("network", [READER_FILE, EMBEDDER_FILE])
def test_what_was_calibrated_with_another_network_is_outdated(tmp_path: Path, network: str) -> None:
    first = judge(tmp_path)
    save_calibration(replace(CHOSEN, judge=first.judge), [], tmp_path / OPERATING_POINT_FILE)
    assert not resolve_operating_point(Settings(index=tmp_path), first, BOOK).outdated
    assert resolve_operating_point(Settings(index=tmp_path), judge(tmp_path, {network: "another"}), BOOK).outdated


@pytest.mark.parametrize(
    "point",
    [
        {},
        {"answered": 0.4},
        {"answered": 0.4, "relevant": 0.1},
        {"answered": 0.4, "relevant": 0.1, "drafted": None},
        {"answered": 0.4, "relevant": 0.1, "drafted": 0.2, "more": 0.3},
        {"answered": "0.4", "relevant": 0.1, "drafted": 0.2},
        {"answered": 2, "relevant": 0.1, "drafted": 0.2},
        None,
        [1],
    ],
)
def test_a_point_that_is_none_is_damage(tmp_path: Path, point: Any) -> None:
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged; install bookbound again"):
        judge(tmp_path, point=point)


@pytest.mark.parametrize("name", [CONSTANTS_FILE, DIGESTS_FILE])
@pytest.mark.parametrize("content", ["", "{", "{}", "[]", "null", "[" * 100_000, b"\xff".decode("latin-1")])
def test_a_damaged_model_file_is_named(tmp_path: Path, name: str, content: str) -> None:
    judge(tmp_path)
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=f"^The model file {name} is damaged; install bookbound again.$"):
        DefaultOperatingPoint.of(tmp_path)


@pytest.mark.parametrize("name", [CONSTANTS_FILE, DIGESTS_FILE])
def test_a_missing_model_file_is_named(tmp_path: Path, name: str) -> None:
    judge(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match=f"{name} is missing; install bookbound again"):
        DefaultOperatingPoint.of(tmp_path)


def test_the_points_of_the_package_are_those_that_its_curve_calls_for(tmp_path: Path) -> None:
    held = bootstrap.point(Settings(index=tmp_path), BOOK)
    kept = json.loads((MODELS_FOLDER / CONSTANTS_FILE).read_text(encoding="utf-8"))
    rows = [CurvePoint(**row) for row in kept["curve"]]
    choice = choose_threshold(rows, kept["wanted"])
    assert choice is not None
    assert choice.answered == held.point.answered
    assert refusing(rows).answered == held.point.offered
