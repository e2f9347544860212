"""The numbers of the report on a log."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.outcomes import make_answered, make_refused, make_unsure
from tests.server.query_log.factories import SESSION, make_entry, make_refused_entry, make_requester, make_unsure_entry
from tests.server.report.report_factory import UNTIL, build_report, make_manifest

from bookbound.domain.book_ref import BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.trace import QueryLogEntry, QueryMode, QueryStatus, Requester
from bookbound.evaluation import COUNT_COLUMNS
from bookbound.evaluation.metrics import compute_metrics
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import Vote
from bookbound.server.query_log.votes import VoteStore
from bookbound.server.report import report_builder
from bookbound.server.report.presentation import REPORT_COLUMNS, report_tables


def answered(question: str, days: int = 0, **fields: Any) -> QueryLogEntry:
    return make_entry(question, created_at=UNTIL - timedelta(days=days), **fields)


def refused(question: str, days: int = 0, **fields: Any) -> QueryLogEntry:
    return make_refused_entry(question, created_at=UNTIL - timedelta(days=days), **fields)


def test_questions_are_counted_by_outcome(tmp_path: Path) -> None:
    report = build_report(
        tmp_path,
        [
            answered("one", requester=make_requester()),
            answered("two", requester=make_requester(), mode=QueryMode.SELECTION),
            answered("too old", 31),
            refused("three"),
            refused("four", reason=RefusalReason.EMPTY_RETRIEVAL),
            answered("five", status=QueryStatus.FAILED),
            make_unsure_entry("six", created_at=UNTIL),
        ],
        lost=4,
    )
    assert report["questions"] == {
        "asked": 6,
        "answered": 2,
        "unsure": 1,
        "refused": 2,
        "errors": 1,
        "of_a_selection": 1,
        "sessions": 1,
        "of_other_books": 0,
        "lost": 4,
    }
    assert report["refused_by_kind"] == {
        "empty_retrieval": 1,
        "low_relevance": 1,
        "insufficient_grounding": 0,
        "selected_text_missing": 0,
    }
    assert json.loads(json.dumps(report)) == report
    assert str(SESSION) not in json.dumps(report)


def test_the_report_counts_replies_with_the_words_and_in_the_order_of_an_evaluation(tmp_path: Path) -> None:
    entries = [answered("one"), make_unsure_entry("two", created_at=UNTIL), refused("three"), refused("four")]
    report = build_report(tmp_path, entries)
    evaluated = compute_metrics([make_answered(0.9), make_unsure(0.3), make_refused(0.1), make_refused(0.1)])
    counts = [(name, evaluated["replies"]["all"][name]) for name in COUNT_COLUMNS]
    for group in (report["questions"], report["by_day"][0], report["by_book"][0]):
        assert [(name, count) for name, count in group.items() if name in COUNT_COLUMNS] == counts
    assert (*COUNT_COLUMNS, "errors") == REPORT_COLUMNS


def test_votes_are_counted_and_replies_that_did_not_help_are_listed(tmp_path: Path) -> None:
    entries = [answered(text, requester=Requester(request_id=text[-1])) for text in ("why? 1", "how? 2", "how? 3")]
    build_report(tmp_path, entries)
    with closing(VoteStore(QueryLogDatabase(None, tmp_path))) as votes:
        for request_id, vote in (("1", Vote.UP), ("2", Vote.DOWN), ("3", Vote.DOWN)):
            assert asyncio.run(votes.store(request_id, vote))
    report = build_report(tmp_path, [answered("never voted on")])
    unhelpful = [{"question": "how? 2", "votes": 1}, {"question": "how? 3", "votes": 1}]
    assert report["votes"] == {"up": 1, "down": 2, "unhelpful": unhelpful}
    assert [(day["day"], day["up"], day["down"]) for day in report["by_day"]] == [("2027-03-31", 1, 2)]
    (counts, questions) = [table for table in report_tables(report) if "Votes" in table.title or "help" in table.title]
    assert [list(row) for row in counts.rows] == [["helpful", "1"], ["not helpful", "2"]]
    assert len(questions.rows) == 2


def test_days_without_a_question_are_listed(tmp_path: Path) -> None:
    report = build_report(
        tmp_path,
        [
            answered("one", 3, milliseconds=10),
            answered("two", 3, milliseconds=30),
            refused("three", 1, milliseconds=50),
            answered("four", 1, status=QueryStatus.FAILED, milliseconds=9000),
        ],
    )
    assert [(day["day"], day["asked"], day["p50"]) for day in report["by_day"]] == [
        ("2027-03-28", 2, 20.0),
        ("2027-03-29", 0, None),
        ("2027-03-30", 2, 50.0),
    ]
    assert report["latency_ms"] == {"p50": 30.0, "p95": 48.0}


def test_similar_unanswered_questions_are_one_group_and_frequent_ones_come_first(tmp_path: Path) -> None:
    report = build_report(
        tmp_path,
        [
            refused("How much does a humanoid robot cost?", 2),
            refused("What is the price of a humanoid robot?", 1),
            refused("how much does a humanoid robot cost", 5),
            refused("Is there a printed edition?"),
            answered("How do robots walk?"),
        ],
    )["unanswered"]
    assert (report["questions"], report["compared"]) == (4, 4)
    first, second = report["groups"]
    assert first == {
        "typical": "how much does a humanoid robot cost",
        "asked": 3,
        "last": "2027-03-30",
        "mode": "standard_rag",
        "kinds": {"low_relevance": 3},
        "wordings": ["how much does a humanoid robot cost", "What is the price of a humanoid robot?"],
    }
    assert (second["typical"], second["asked"]) == ("Is there a printed edition?", 1)


def test_unsure_questions_are_without_an_answer(tmp_path: Path) -> None:
    report = build_report(tmp_path, [make_unsure_entry("What is it?", created_at=UNTIL), refused("What is it?", 1)])
    (group,) = report["unanswered"]["groups"]
    assert (group["asked"], group["kinds"]) == (2, {"low_relevance": 1, "unsure": 1})
    assert sum(report["refused_by_kind"].values()) == 1


def test_questions_about_a_selection_and_about_the_book_are_not_grouped(tmp_path: Path) -> None:
    reason = RefusalReason.SELECTED_TEXT_MISSING
    report = build_report(
        tmp_path, [refused("What is it?"), refused("What is it?", mode=QueryMode.SELECTION, reason=reason)]
    )
    assert [group["mode"] for group in report["unanswered"]["groups"]] == ["standard_rag", "selected_text_only"]


def test_only_the_most_frequent_wordings_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_builder, "MAX_COMPARED", 2)
    rare = [refused(f"Rare {number}?") for number in range(5)]
    report = build_report(tmp_path, [*rare, refused("Often?"), refused("Often?")])
    assert (report["unanswered"]["questions"], report["unanswered"]["compared"]) == (7, 3)


def test_chapters_are_listed_by_answers_and_those_without_any_apart(tmp_path: Path) -> None:
    entries = [answered("a", chapters=("Gaits",)), answered("b", chapters=("Gaits", "Gone")), answered("c")]
    report = build_report(tmp_path, entries, make_manifest("Intro", "Gaits", "Drives"))
    assert report["chapters"] == {
        "answered": [
            {"book": "", "chapter": "Gaits", "answers": 2},
            {"book": "", "chapter": "Gone", "answers": 1},
        ],
        "uncited": ["Intro", "Drives"],
        "removed": ["Gone"],
    }
    assert report["book"] == {"title": "A Book", "generation": "g1"}


def test_an_empty_log_has_a_report(tmp_path: Path) -> None:
    report = build_report(tmp_path, [])
    assert report["questions"]["asked"] == 0
    assert report["latency_ms"] == {"p50": None, "p95": None}
    assert (report["by_day"], report["unanswered"]["groups"], report["chapters"]["uncited"]) == ([], [], None)


BOOKS = {
    BookRef(): make_manifest("Hello", title="Little"),
    BookRef("robots", "1.0"): make_manifest("Gaits", "Old", title="Robots"),
    BookRef("robots", "2.0"): make_manifest("Gaits", "Drives", "New", title="Robots 2"),
}
ENTRIES = [
    answered("a", chapters=("Hello",)),
    answered("b", book_ref=BookRef("robots", "1.0"), chapters=("Old", "Gone")),
    answered("c", book_ref=BookRef("robots", "2.0"), chapters=("Gaits",)),
    refused("d", book_ref=BookRef("robots", "2.0")),
    refused("e", book_ref=BookRef("all")),
]


def test_a_report_is_about_one_book_and_counts_questions_to_others(tmp_path: Path) -> None:
    report = build_report(tmp_path, ENTRIES, BOOKS)
    assert (report["book_ref"], report["book"]["title"], report["questions"]["asked"]) == ("", "Little", 1)
    assert report["questions"]["of_other_books"] == 4
    assert report["chapters"] == {
        "answered": [{"book": "", "chapter": "Hello", "answers": 1}],
        "uncited": [],
        "removed": [],
    }
    assert report["unanswered"]["questions"] == 0


def test_editions_have_a_common_report_and_one_each(tmp_path: Path) -> None:
    report = build_report(tmp_path, ENTRIES, BOOKS, book_ref=BookRef("robots"))
    assert (report["book_ref"], report["book"]["title"], report["questions"]["of_other_books"]) == (
        "robots",
        "Robots 2",
        2,
    )
    assert [(each["book_ref"], each["asked"], each["refused"]) for each in report["by_book"]] == [
        ("robots@2.0", 2, 1),
        ("robots@1.0", 1, 0),
    ]
    assert (report["chapters"]["uncited"], report["chapters"]["removed"]) == (["Drives", "New"], ["Gone"])
    first = build_report(tmp_path, [], BOOKS, book_ref=BookRef("robots", "1.0"))
    assert (first["book_ref"], first["book"]["title"], first["questions"]["asked"]) == ("robots@1.0", "Robots", 1)
    assert (first["chapters"]["uncited"], first["chapters"]["removed"]) == (["Gaits"], ["Gone"])


def test_a_report_on_all_books_lists_each_book(tmp_path: Path) -> None:
    report = build_report(tmp_path, ENTRIES, BOOKS, book_ref=BookRef("all"))
    assert (report["book_ref"], report["book"], report["questions"]["asked"]) == ("all", None, 5)
    assert report["by_book"] == [
        {
            "book_ref": "robots@2.0",
            "title": "Robots 2",
            "asked": 2,
            "answered": 1,
            "unsure": 0,
            "refused": 1,
            "errors": 0,
        },
        {"book_ref": "", "title": "Little", "asked": 1, "answered": 1, "unsure": 0, "refused": 0, "errors": 0},
        {"book_ref": "all", "title": None, "asked": 1, "answered": 0, "unsure": 0, "refused": 1, "errors": 0},
        {
            "book_ref": "robots@1.0",
            "title": "Robots",
            "asked": 1,
            "answered": 1,
            "unsure": 0,
            "refused": 0,
            "errors": 0,
        },
    ]
    assert {(each["book"], each["chapter"]) for each in report["chapters"]["answered"]} == {
        ("", "Hello"),
        ("robots", "Old"),
        ("robots", "Gone"),
        ("robots", "Gaits"),
    }
    assert (report["chapters"]["uncited"], report["chapters"]["removed"]) == (None, None)
