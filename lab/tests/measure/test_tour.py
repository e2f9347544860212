"""The journeys through the code stay short."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.measure.tour import Hop, trace_indexing, trace_opening, trace_question

MAX_QUESTION_MODULES = 46
"""From HTTP to the reply."""
MAX_OPENING_MODULES = 24
MAX_INDEXING_MODULES = 52


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Hop]]:
    index = tmp_path_factory.mktemp("tour") / "index"
    return {
        "indexing": trace_indexing(index),
        "opening": trace_opening(index),
        "question": trace_question(index),
    }


def test_a_question_crosses_few_modules(journeys: dict[str, list[Hop]]) -> None:
    assert len(journeys["question"]) <= MAX_QUESTION_MODULES, [hop.module for hop in journeys["question"]]


def test_opening_a_book_crosses_few_modules(journeys: dict[str, list[Hop]]) -> None:
    assert len(journeys["opening"]) <= MAX_OPENING_MODULES, [hop.module for hop in journeys["opening"]]


def test_indexing_crosses_few_modules(journeys: dict[str, list[Hop]]) -> None:
    assert len(journeys["indexing"]) <= MAX_INDEXING_MODULES, [hop.module for hop in journeys["indexing"]]


def test_the_journeys_pass_the_stages_of_the_design(journeys: dict[str, list[Hop]]) -> None:
    crossed = {hop.module for hop in journeys["indexing"]}
    assert {"sources.detect", "indexing.pipeline", "indexing.split", "indexing.store.edge_store"} <= crossed
    crossed = {hop.module for hop in journeys["question"]}
    assert {"answering.pipeline", "answering.deciding.decision", "answering.writers.quotes.quote_writer"} <= crossed
    assert {"server.middleware.request_guard", "contracts.v1", "contracts.serialization"} <= crossed
    assert "bootstrap.web_app" not in crossed


def test_every_function_that_the_tour_page_names_exists() -> None:
    """Code spans such as `answering.pipeline.Pipeline.ask` in the page name real modules and attributes."""
    page = Path(__file__).resolve().parents[3] / "docs" / "internals" / "tour.md"
    assert missing_names(page.read_text(encoding="utf-8")) == []


def missing_names(page: str) -> list[str]:
    import importlib
    import re

    missing = []
    for name in re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_.]+)(?:\(\))?`", page):
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found: object = importlib.import_module(".".join(["bookbound", *parts[:cut]]))
            except ModuleNotFoundError:
                continue
            try:
                for part in parts[cut:]:
                    found = getattr(found, part)
            except AttributeError:
                missing.append(name)
            break
        else:
            missing.append(name)
    return missing


def test_a_name_that_does_not_exist_is_found() -> None:
    assert missing_names("`answering.pipeline.Pipeline.guess`") == ["answering.pipeline.Pipeline.guess"]
