from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bookbound import bootstrap
from bookbound.answering.deciding.operating_point import (
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
from bookbound.models import (
    CONSTANTS_FILE,
    DIGESTS_FILE,
    EMBEDDER_FILE,
    FAST_READER_FILE,
    MODELS_FOLDER,
    STRONG_READER_FILE,
)
from bookbound.settings import Settings

SHIPPED = DefaultOperatingPoint(OperatingPoint(0.3, 0.2, 0.1), "model-1")
CHOSEN = Calibration(0.62, "model-1", 133, 0.9, 0.91, 0.7, "g1", "2026-01-01T00:00:00+00:00", "Drives", "mdbook")
BOOK = Manifest("Drives", "mdbook", "embedder", 2, "splitter", 1.0, pages=1, chunks=1)


def test_the_default_point_is_used_without_a_calibration(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        active = resolve_operating_point(Settings(index=folder), SHIPPED, BOOK)
        assert (active.point, active.origin, active.outdated) == (SHIPPED.point, "default", "")


def test_a_calibration_next_to_the_index_sets_the_threshold(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    active = resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK)
    assert active.point == OperatingPoint(0.62, SHIPPED.point.relevance_threshold, SHIPPED.point.unsure_threshold)
    assert active.origin == "calibrated on 133 questions"


def test_a_setting_overrides_the_calibration(tmp_path: Path) -> None:
    (tmp_path / OPERATING_POINT_FILE).write_text("damaged")
    active = resolve_operating_point(Settings(index=tmp_path, answer_threshold=0.8), SHIPPED, BOOK)
    assert (active.point.answer_threshold, active.origin) == (0.8, "setting")


def test_a_calibration_for_another_model_is_not_used(tmp_path: Path) -> None:
    save_calibration(replace(CHOSEN, model_fingerprint="model-0"), [], tmp_path / OPERATING_POINT_FILE)
    active = resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK)
    assert (active.point, active.outdated) == (SHIPPED.point, "another model")


@pytest.mark.parametrize("parts", [{"embedder": "cohere"}, {"reranker": "cohere"}])
def test_a_calibration_with_the_local_models_is_not_used_for_others(tmp_path: Path, parts: dict[str, Any]) -> None:
    default = resolve_operating_point(Settings(index=tmp_path, **parts), SHIPPED, BOOK)
    assert default.origin == "default; it was chosen with the local embedder and reranker"
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(Settings(index=tmp_path, **parts), SHIPPED, BOOK).outdated == "another model"
    save_calibration(replace(CHOSEN, model_fingerprint=default.model_fingerprint), [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(Settings(index=tmp_path, **parts), SHIPPED, BOOK).point.answer_threshold == 0.62
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).outdated == "another model"


def test_a_calibration_with_the_strong_reader_is_not_used_for_the_fast_one(tmp_path: Path) -> None:
    fast = Settings(index=tmp_path, reader="fast")
    default = resolve_operating_point(fast, SHIPPED, BOOK)
    assert default.origin == "default; it was chosen with the strong reader"
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(fast, SHIPPED, BOOK).outdated == "another model"
    save_calibration(replace(CHOSEN, model_fingerprint=default.model_fingerprint), [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(fast, SHIPPED, BOOK).point.answer_threshold == 0.62
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).outdated == "another model"


@pytest.mark.parametrize("other", [{"title": "Nodes"}, {"kind": "sphinx"}])
def test_a_calibration_for_another_book_is_not_used(tmp_path: Path, other: dict[str, Any]) -> None:
    save_calibration(replace(CHOSEN, **other), [], tmp_path / OPERATING_POINT_FILE)
    active = resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK)
    assert (active.point, active.outdated) == (SHIPPED.point, "another book")
    assert active.origin == "default; the calibration is for another book"


def test_a_calibration_that_names_no_book_is_used(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    kept = json.loads((tmp_path / OPERATING_POINT_FILE).read_text())
    assert (kept.pop("title"), kept.pop("kind")) == ("Drives", "mdbook")
    (tmp_path / OPERATING_POINT_FILE).write_text(json.dumps(kept))
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).point.answer_threshold == 0.62


def test_a_chosen_answer_threshold_keeps_the_unsure_threshold_or_caps_it(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    for answered, point in ((None, (0.62, 0.1)), (0.8, (0.8, 0.1)), (0.05, (0.05, 0.05)), (0.0, (0.0, 0.0))):
        active = resolve_operating_point(Settings(index=tmp_path, answer_threshold=answered), SHIPPED, BOOK)
        assert (active.point.answer_threshold, active.point.unsure_threshold) == point


def test_the_unsure_threshold_is_never_above_the_answer_threshold() -> None:
    assert OperatingPoint(0.3, 0.2).unsure_threshold == 0.3
    assert OperatingPoint(0.3, 0.2, 0.4).unsure_threshold == 0.3
    assert replace(OperatingPoint(0.3, 0.2, 0.1), answer_threshold=0.05).unsure_threshold == 0.05


def test_one_question_is_counted_in_the_singular(tmp_path: Path) -> None:
    save_calibration(replace(CHOSEN, questions=1), [], tmp_path / OPERATING_POINT_FILE)
    assert resolve_operating_point(Settings(index=tmp_path), SHIPPED, BOOK).origin == "calibrated on 1 question"


def test_a_calibration_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / OPERATING_POINT_FILE).symlink_to(tmp_path / "elsewhere.json")
    for _ in range(2):
        save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
        assert (tmp_path / OPERATING_POINT_FILE).is_symlink()
        assert load_calibration(tmp_path / "elsewhere.json") == CHOSEN


def test_the_hint_names_an_index_that_is_elsewhere() -> None:
    assert recalibration_hint(Settings().index).endswith(" --questions FILE")
    assert recalibration_hint(Path("my index")).endswith(" --questions FILE --index 'my index'")


def test_with_a_qdrant_server_no_calibration_file_is_used(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    active = resolve_operating_point(Settings(index=tmp_path, qdrant_url="http://127.0.0.1:9"), SHIPPED, BOOK)
    assert active.origin == "default"


def test_a_saved_calibration_is_loaded_again(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [{"answered": 0.0, "precision": 0.5}], tmp_path / OPERATING_POINT_FILE)
    assert load_calibration(tmp_path / OPERATING_POINT_FILE) == CHOSEN
    assert json.loads((tmp_path / OPERATING_POINT_FILE).read_text())["curve"] == [{"answered": 0.0, "precision": 0.5}]
    assert [path.name for path in tmp_path.iterdir()] == [OPERATING_POINT_FILE]


def test_the_files_keep_their_keys(tmp_path: Path) -> None:
    save_calibration(CHOSEN, [], tmp_path / OPERATING_POINT_FILE)
    kept = json.loads((tmp_path / OPERATING_POINT_FILE).read_text())
    assert list(kept)[:3] == ["answered", "judge", "questions"]
    assert SHIPPED.point.to_json() == {"answered": 0.3, "relevant": 0.2, "unsure": 0.1}


@pytest.mark.parametrize(
    "content", ["", "nonsense", "[]", "{}", "null", '{"answered": 0.5}', "[" * 100_000, b"\xff".decode("latin-1")]
)
def test_a_damaged_calibration_is_reported_with_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / OPERATING_POINT_FILE).write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match="bookbound calibrate --questions FILE"):
        load_calibration(tmp_path / OPERATING_POINT_FILE)


@pytest.mark.parametrize("answered", [-0.1, 1.1, "0.5", None, True, float("nan")])
def test_a_threshold_that_is_not_a_probability_is_damage(tmp_path: Path, answered: Any) -> None:
    save_calibration(replace(CHOSEN, answer_threshold=answered), [], tmp_path / OPERATING_POINT_FILE)
    with pytest.raises(ConfigError):
        load_calibration(tmp_path / OPERATING_POINT_FILE)


def load_default(folder: Path, networks: dict[str, str] | None = None, **active: Any) -> DefaultOperatingPoint:
    """The default of a folder with these constants and with networks of these digests."""
    point = {"answered": 0.3, "relevant": 0.2, "unsure": 0.1}
    (folder / CONSTANTS_FILE).write_text(json.dumps({"weights": [1, 2], "point": point} | active))
    digests = {FAST_READER_FILE: "r1", STRONG_READER_FILE: "r2", EMBEDDER_FILE: "e1"}
    (folder / DIGESTS_FILE).write_text(json.dumps(digests | (networks or {})))
    return DefaultOperatingPoint.load(folder)


def test_the_fingerprint_of_the_models_covers_what_was_fitted_and_not_the_threshold(tmp_path: Path) -> None:
    first = load_default(tmp_path)
    assert first.point == SHIPPED.point
    point = {"answered": 0.4, "relevant": 0.2, "unsure": 0.3}
    recalibrated = load_default(tmp_path, point=point, curve=[1], held_out={}, wanted=0.6)
    assert recalibrated.model_fingerprint == first.model_fingerprint
    assert load_default(tmp_path, weights=[1, 3]).model_fingerprint != first.model_fingerprint


def test_another_relevance_threshold_makes_another_model(tmp_path: Path) -> None:
    other = load_default(tmp_path, point={"answered": 0.3, "relevant": 0.1, "unsure": 0.1})
    assert other.model_fingerprint != load_default(tmp_path).model_fingerprint


@pytest.mark.parametrize("network", [FAST_READER_FILE, STRONG_READER_FILE, EMBEDDER_FILE])
def test_a_calibration_with_another_network_is_outdated(tmp_path: Path, network: str) -> None:
    first = load_default(tmp_path)
    save_calibration(replace(CHOSEN, model_fingerprint=first.model_fingerprint), [], tmp_path / OPERATING_POINT_FILE)
    assert not resolve_operating_point(Settings(index=tmp_path), first, BOOK).outdated
    assert resolve_operating_point(
        Settings(index=tmp_path), load_default(tmp_path, {network: "another"}), BOOK
    ).outdated


@pytest.mark.parametrize(
    "point",
    [
        {},
        {"answered": 0.4},
        {"answered": 0.4, "relevant": 0.1},
        {"answered": 0.4, "relevant": 0.1, "unsure": None},
        {"answered": 0.4, "relevant": 0.1, "unsure": 0.2, "more": 0.3},
        {"answered": "0.4", "relevant": 0.1, "unsure": 0.2},
        {"answered": 2, "relevant": 0.1, "unsure": 0.2},
        None,
        [1],
    ],
)
def test_an_invalid_point_is_damage(tmp_path: Path, point: Any) -> None:
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged. Install bookbound again"):
        load_default(tmp_path, point=point)


@pytest.mark.parametrize("name", [CONSTANTS_FILE, DIGESTS_FILE])
@pytest.mark.parametrize("content", ["", "{", "{}", "[]", "null", "[" * 100_000, b"\xff".decode("latin-1")])
def test_a_damaged_model_file_is_named(tmp_path: Path, name: str, content: str) -> None:
    load_default(tmp_path)
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=f"^The model file {name} is damaged. Install bookbound again.$"):
        DefaultOperatingPoint.load(tmp_path)


@pytest.mark.parametrize("name", [CONSTANTS_FILE, DIGESTS_FILE])
def test_a_missing_model_file_is_named(tmp_path: Path, name: str) -> None:
    load_default(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match=f"{name} is missing. Install bookbound again"):
        DefaultOperatingPoint.load(tmp_path)


def test_the_shipped_threshold_of_answers_follows_from_the_shipped_curve(tmp_path: Path) -> None:
    active = bootstrap.load_operating_point(Settings(index=tmp_path), BOOK)
    kept = json.loads((MODELS_FOLDER / CONSTANTS_FILE).read_text(encoding="utf-8"))
    rows = [CurvePoint(row.pop("answered"), row.pop("given"), **row) for row in kept["curve"]]
    choice = choose_threshold(rows, kept["wanted"])
    assert choice is not None
    assert choice.threshold == active.point.answer_threshold
