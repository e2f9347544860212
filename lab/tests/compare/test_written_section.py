"""The section about the answers that readers judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.compare import results_page
from lab.compare.report_tables import END, START, replace_tables
from lab.compare.results_page import choose_page_tables, load_tables
from lab.compare.written_section import build_written_section


def make_system(**counts: float) -> dict[str, Any]:
    answered = {"questions": 88, "right": 0.0, "partly": 0.0, "wrong": 0.0, "made_up": 0.0, "refused": 0.0} | counts
    return {"answerable": answered, "unanswerable": {"questions": 40, "refused": 30.5, "made_up": 9.5}}


FIGURES: dict[str, Any] = {
    "machine": {"date": "today", "commit": "abc", "versions": {"langchain-classic": "1.0.8", "torch": "2"}},
    "model": "Some-Small-Model",
    "judges": "two language models",
    "books": {name: {"questions": 32, "answerable": 22} for name in ("caddy", "helix", "jj", "restic")},
    "systems": {
        "Bookbound, quotes": make_system(right=40, refused=48),
        "LangChain": make_system(right=50.5, wrong=37.5),
    },
    "agreement": {"answers": 256, "share": 0.913, "kappa": 0.8512},
}


def test_the_section_says_model_passages_books_and_judges() -> None:
    text = " ".join(build_written_section(FIGURES).split())
    assert text.startswith("## Written answers with the same language model 128 questions about the documentation of ")
    assert "of caddy, helix, jj and restic: 88 that it answers, and 40 that it does not. Some-Small-Model wrote" in text
    assert "LangChain and LlamaIndex had the five passages that Bookbound ranks first" in text
    assert "Two language models judged all 256 answers as blind readers: they did not see which system wrote" in text
    assert "91 % of the answers the same verdict (Cohen's kappa 0.85)" in text
    assert "- today, Bookbound abc, langchain-classic 1.0.8" in text


def test_each_system_has_a_row_with_its_verdicts_and_its_right_replies_also_if_it_is_bad() -> None:
    lines = build_written_section(FIGURES).splitlines()
    head = next(line for line in lines if line.startswith("| system"))
    assert "| answerable: right | answerable: partly right |" in head
    assert head.endswith("| unanswerable: refused | unanswerable: made up | right replies to all questions |")
    assert "| Bookbound, quotes | 40 | 0 | 0 | 0 | 48 | 30.5 | 9.5 | 70.5 |" in lines
    assert "| LangChain | 50.5 | 0 | 37.5 | 0 | 0 | 30.5 | 9.5 | 81 |" in lines


def test_readers_without_a_kappa_have_a_dash() -> None:
    figures = FIGURES | {"agreement": {"answers": 4, "share": 1.0, "kappa": None}}
    assert "(Cohen's kappa –)" in " ".join(build_written_section(figures).split())


@pytest.mark.parametrize("is_judged", [True, False])
def test_the_section_is_left_out_if_no_answers_were_judged(
    is_judged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "written.json"
    if is_judged:
        file.write_text(json.dumps(FIGURES), encoding="utf-8")
    monkeypatch.setattr(results_page, "WRITTEN", file)
    start, end = START.format(name="written", file="written.json"), END.format(name="written")
    old = f"Before.\n\n{start}\n\n## Written answers, old\n\n{end}\n\nAfter."
    text = replace_tables(old, {"written": load_tables()["written"]})
    assert ("## Written answers with the same language model" in text) is is_judged
    assert "old" not in text
    assert is_judged or text == f"Before.\n\n{start}\n\n{end}\n\nAfter."


def test_the_page_has_the_tables_of_its_marks_only() -> None:
    shown = choose_page_tables({"retrieval": "a", "answers": "b", "written": "c"})
    assert shown == {"retrieval": "a", "written": "c"}
