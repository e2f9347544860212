"""What a log comes to."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.server.query_log.entries import SESSION, entry, of, refused
from tests.server.report.logs import UNTIL, book, reported

from bookbound.domain.book_ref import BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.query_log_entry import QueryLogEntry, QueryMode, QueryStatus
from bookbound.server.report import question_groups


def asked(question: str, days: int = 0, **given: Any) -> QueryLogEntry:
    return entry(question, created=UNTIL - timedelta(days=days), **given)


def silent(question: str, days: int = 0, **given: Any) -> QueryLogEntry:
    return refused(question, created=UNTIL - timedelta(days=days), **given)


def test_questions_are_counted_by_what_became_of_them(tmp_path: Path) -> None:
    found = reported(
        tmp_path,
        [
            asked("one", asker=of()),
            asked("two", asker=of(), mode=QueryMode.SELECTION),
            asked("too old", 31),
            silent("three"),
            silent("four", kind=RefusalReason.EMPTY_RETRIEVAL),
            asked("five", status=QueryStatus.FAILED),
        ],
        lost=4,
    )
    assert found["questions"] == {
        "asked": 5,
        "answered": 2,
        "refused": 2,
        "errors": 1,
        "of_a_selection": 1,
        "sessions": 1,
        "of_other_books": 0,
        "lost": 4,
    }
    assert found["refused_by_kind"] == {
        "empty_retrieval": 1,
        "low_relevance": 1,
        "insufficient_grounding": 0,
        "selected_text_missing": 0,
    }
    assert json.loads(json.dumps(found)) == found
    assert str(SESSION) not in json.dumps(found)


def test_days_without_a_question_are_days_too(tmp_path: Path) -> None:
    found = reported(
        tmp_path,
        [
            asked("one", 3, milliseconds=10),
            asked("two", 3, milliseconds=30),
            silent("three", 1, milliseconds=50),
            asked("four", 1, status=QueryStatus.FAILED, milliseconds=9000),
        ],
    )
    assert [(day["day"], day["asked"], day["p50"]) for day in found["by_day"]] == [
        ("2027-03-28", 2, 20.0),
        ("2027-03-29", 0, None),
        ("2027-03-30", 2, 50.0),
    ]
    assert found["latency_ms"] == {"p50": 30.0, "p95": 48.0}


def test_unanswered_questions_stand_together_and_the_most_asked_come_first(tmp_path: Path) -> None:
    found = reported(
        tmp_path,
        [
            silent("How much does a humanoid robot cost?", 2),
            silent("What is the price of a humanoid robot?", 1),
            silent("how much does a humanoid robot cost", 5),
            silent("Is there a printed edition?"),
            asked("How do robots walk?"),
        ],
    )["unanswered"]
    assert (found["questions"], found["compared"]) == (4, 4)
    first, second = found["groups"]
    assert first == {
        "typical": "how much does a humanoid robot cost",
        "asked": 3,
        "last": "2027-03-30",
        "mode": "standard_rag",
        "kinds": {"low_relevance": 3},
        "wordings": ["how much does a humanoid robot cost", "What is the price of a humanoid robot?"],
    }
    assert (second["typical"], second["asked"]) == ("Is there a printed edition?", 1)


def test_a_question_to_a_selection_is_not_one_to_the_book(tmp_path: Path) -> None:
    kind = RefusalReason.SELECTED_TEXT_MISSING
    found = reported(tmp_path, [silent("What is it?"), silent("What is it?", mode=QueryMode.SELECTION, kind=kind)])
    assert [group["mode"] for group in found["unanswered"]["groups"]] == ["standard_rag", "selected_text_only"]


def test_only_so_many_wordings_are_compared_and_the_rest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_groups, "MAX_COMPARED", 2)
    rare = [silent(f"Rare {number}?") for number in range(5)]
    found = reported(tmp_path, [*rare, silent("Often?"), silent("Often?")])
    assert (found["unanswered"]["questions"], found["unanswered"]["compared"]) == (7, 3)


def test_chapters_are_told_by_their_answers_and_by_their_silence(tmp_path: Path) -> None:
    entries = [asked("a", chapters=("Gaits",)), asked("b", chapters=("Gaits", "Gone")), asked("c")]
    found = reported(tmp_path, entries, book("Intro", "Gaits", "Drives"))
    assert found["chapters"] == {
        "answered": [
            {"book": "", "chapter": "Gaits", "answers": 2},
            {"book": "", "chapter": "Gone", "answers": 1},
        ],
        "never": ["Intro", "Drives"],
        "gone": ["Gone"],
    }
    assert found["book"] == {"title": "A Book", "generation": "g1"}


def test_an_empty_log_is_a_report(tmp_path: Path) -> None:
    found = reported(tmp_path, [])
    assert found["questions"]["asked"] == 0
    assert found["latency_ms"] == {"p50": None, "p95": None}
    assert (found["by_day"], found["unanswered"]["groups"], found["chapters"]["never"]) == ([], [], None)


BOOKS = {
    BookRef(): book("Hello", title="Little"),
    BookRef("robots", "1.0"): book("Gaits", "Old", title="Robots"),
    BookRef("robots", "2.0"): book("Gaits", "Drives", "New", title="Robots 2"),
}
ASKED = [
    asked("a", chapters=("Hello",)),
    asked("b", volume=BookRef("robots", "1.0"), chapters=("Old", "Gone")),
    asked("c", volume=BookRef("robots", "2.0"), chapters=("Gaits",)),
    silent("d", volume=BookRef("robots", "2.0")),
    silent("e", volume=BookRef("all")),
]


def test_a_report_is_on_one_book_and_says_how_much_others_were_asked(tmp_path: Path) -> None:
    found = reported(tmp_path, ASKED, BOOKS)
    assert (found["volume"], found["book"]["title"], found["questions"]["asked"]) == ("", "Little", 1)
    assert found["questions"]["of_other_books"] == 4
    assert found["chapters"] == {
        "answered": [{"book": "", "chapter": "Hello", "answers": 1}],
        "never": [],
        "gone": [],
    }
    assert found["unanswered"]["questions"] == 0


def test_editions_of_a_book_are_one_report_and_each_has_its_own(tmp_path: Path) -> None:
    found = reported(tmp_path, ASKED, BOOKS, on=BookRef("robots"))
    assert (found["volume"], found["book"]["title"], found["questions"]["of_other_books"]) == ("robots", "Robots 2", 2)
    assert [(each["volume"], each["asked"], each["refused"]) for each in found["by_book"]] == [
        ("robots@2.0", 2, 1),
        ("robots@1.0", 1, 0),
    ]
    assert (found["chapters"]["never"], found["chapters"]["gone"]) == (["Drives", "New"], ["Gone"])
    first = reported(tmp_path, [], BOOKS, on=BookRef("robots", "1.0"))
    assert (first["volume"], first["book"]["title"], first["questions"]["asked"]) == ("robots@1.0", "Robots", 1)
    assert (first["chapters"]["never"], first["chapters"]["gone"]) == (["Gaits"], ["Gone"])


def test_a_report_on_all_books_tells_them_apart(tmp_path: Path) -> None:
    found = reported(tmp_path, ASKED, BOOKS, on=BookRef("all"))
    assert (found["volume"], found["book"], found["questions"]["asked"]) == ("all", None, 5)
    assert found["by_book"] == [
        {"volume": "robots@2.0", "title": "Robots 2", "asked": 2, "answered": 1, "refused": 1, "errors": 0},
        {"volume": "", "title": "Little", "asked": 1, "answered": 1, "refused": 0, "errors": 0},
        {"volume": "all", "title": None, "asked": 1, "answered": 0, "refused": 1, "errors": 0},
        {"volume": "robots@1.0", "title": "Robots", "asked": 1, "answered": 1, "refused": 0, "errors": 0},
    ]
    assert {(each["book"], each["chapter"]) for each in found["chapters"]["answered"]} == {
        ("", "Hello"),
        ("robots", "Old"),
        ("robots", "Gone"),
        ("robots", "Gaits"),
    }
    assert (found["chapters"]["never"], found["chapters"]["gone"]) == (None, None)
