"""A question as it is logged."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from bookbound import testing
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ServiceTimeoutError
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.query_log_entry import QueryLogEntry, QueryMode, QueryStatus, Requester
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question

NOBODY = Requester()


def test_an_answer_is_logged_with_its_chapters_each_once() -> None:
    one = testing.make_passage("One.", "a", 0.7, chapter="Gaits")
    two = testing.make_passage("Two.", "b", 0.9, chapter="Drives")
    reply = testing.make_answer([("One.", one), ("Two.", two), ("One.", one)], retrieved=[one, two])
    entry = QueryLogEntry.of(Question("What?"), reply, 12.6, NOBODY)
    assert (entry.status, entry.mode, entry.refusal) == (QueryStatus.ANSWERED, QueryMode.BOOK, None)
    assert (entry.retrieved, entry.top_score, entry.milliseconds) == (2, 0.9, 13)
    assert entry.chapters == ("Gaits", "Drives")


def test_a_refusal_is_logged_with_its_kind() -> None:
    entry = QueryLogEntry.of(Question("What?"), testing.make_refusal(RefusalReason.EMPTY_RETRIEVAL), 1, NOBODY)
    assert (entry.status, entry.refusal) == (QueryStatus.REFUSED, RefusalReason.EMPTY_RETRIEVAL)
    assert (entry.retrieved, entry.top_score, entry.chapters) == (0, None, ())


def test_an_error_is_logged_as_one_and_without_its_words() -> None:
    entry = QueryLogEntry.of(Question("What?"), ServiceTimeoutError("MARKER", service="qdrant"), 5000, NOBODY)
    assert (entry.status, entry.retrieved, entry.top_score) == (QueryStatus.FAILED, None, None)
    assert "MARKER" not in repr(entry)


@pytest.mark.parametrize(
    ("scope", "mode"),
    [
        (AnswerScope.SELECTION, QueryMode.SELECTION),
        (AnswerScope.SELECTION_THEN_BOOK, QueryMode.BOOK),
        (AnswerScope.BOOK, QueryMode.BOOK),
    ],
)
def test_of_a_selection_only_the_length_is_logged(scope: AnswerScope, mode: QueryMode) -> None:
    entry = QueryLogEntry.of(Question("What?", "some words", scope), testing.make_refusal(), 1, NOBODY)
    assert (entry.mode, entry.selected) == (mode, 10)
    assert "some words" not in repr([getattr(entry, field.name) for field in fields(entry)])
    assert QueryLogEntry.of(Question("What?"), testing.make_refusal(), 1, NOBODY).selected is None


def test_a_selection_stands_in_the_chapter_where_it_was_found_or_in_none() -> None:
    selected = testing.make_passage("Words.", SELECTION_CHUNK_ID, 1.0, chapter="")
    place = testing.make_passage("Words.", chapter="Gaits").chunk.place
    found = testing.make_answer([("Words.", selected)], selection=place)
    assert QueryLogEntry.of(Question("What?"), found, 1, NOBODY).chapters == ("Gaits",)
    elsewhere = replace(found, trace=testing.make_trace((selected,), None))
    assert QueryLogEntry.of(Question("What?"), elsewhere, 1, NOBODY).chapters == ()


def test_a_reply_is_logged_with_the_edition_that_gave_it_and_an_error_with_the_one_that_was_asked() -> None:
    reply = testing.make_refusal()
    of_another = replace(reply, trace=replace(reply.trace, edition="2.1"))
    asked = BookRef("robots", "2.0")
    assert QueryLogEntry.of(Question("What?"), of_another, 1, NOBODY, asked).volume == BookRef("robots", "2.1")
    assert QueryLogEntry.of(Question("What?"), reply, 1, NOBODY, BookRef("all")).volume == BookRef("all")
    assert QueryLogEntry.of(Question("What?"), ValueError(), 1, NOBODY, asked).volume == asked
    assert QueryLogEntry.of(Question("What?"), reply, 1, NOBODY).volume == BookRef()


def test_what_a_reader_said_is_not_shown_where_an_entry_is() -> None:
    entry = QueryLogEntry.of(Question("MARKER"), testing.make_refusal(), 1, Requester(address="203.0.113.9"))
    assert "MARKER" not in repr(entry)
    assert "203.0.113" not in repr(entry)
