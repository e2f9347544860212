"""One log entry for each outcome of a question."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from bookbound import testing
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ServiceTimeoutError
from bookbound.domain.judgement import RefusalReason, ReplyStatus
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Reply
from bookbound.domain.trace import QueryLogEntry, QueryMode, QueryStatus, Requester

REQUESTER = Requester()


def test_an_answer_is_logged_with_each_cited_chapter_once() -> None:
    one = testing.make_passage("One.", "a", 0.7, chapter="Gaits")
    two = testing.make_passage("Two.", "b", 0.9, chapter="Drives")
    reply = testing.make_answer([("One.", one), ("Two.", two), ("One.", one)], retrieved=[one, two])
    entry = QueryLogEntry.of(Question("What?"), reply, 12.6, REQUESTER)
    assert (entry.status, entry.mode, entry.refusal_reason) == (QueryStatus.ANSWERED, QueryMode.BOOK, None)
    assert (entry.retrieved_count, entry.top_score) == (2, 0.9)
    assert entry.milliseconds == round(reply.trace.total_ms) > 0
    assert entry.chapters == ("Gaits", "Drives")


def test_a_refusal_is_logged_with_its_reason() -> None:
    entry = QueryLogEntry.of(Question("What?"), testing.make_refusal(RefusalReason.EMPTY_RETRIEVAL), 1, REQUESTER)
    assert (entry.status, entry.refusal_reason) == (QueryStatus.REFUSED, RefusalReason.EMPTY_RETRIEVAL)
    assert (entry.retrieved_count, entry.top_score, entry.chapters) == (0, None, ())


def test_an_unsure_reply_is_logged_without_chapters() -> None:
    passage = testing.make_passage("One.", "a", 0.7, chapter="Gaits")
    entry = QueryLogEntry.of(Question("What?"), testing.make_unsure([passage]), 1, REQUESTER)
    assert (entry.status, entry.refusal_reason) == (QueryStatus.UNSURE, RefusalReason.INSUFFICIENT_GROUNDING)
    assert (entry.retrieved_count, entry.top_score, entry.chapters) == (1, 0.7, ())


def test_the_log_counts_every_kind_of_reply_under_its_own_status() -> None:
    passage = testing.make_passage("One.")
    replies: list[Reply] = [
        testing.make_answer([("One.", passage)]),
        testing.make_unsure([passage]),
        testing.make_refusal(),
    ]
    assert [reply.status for reply in replies] == list(ReplyStatus)
    entries = [QueryLogEntry.of(Question("What?"), reply, 1, REQUESTER) for reply in replies]
    assert [entry.status.name for entry in entries] == [status.name for status in ReplyStatus]


def test_an_error_is_logged_without_its_message() -> None:
    entry = QueryLogEntry.of(Question("What?"), ServiceTimeoutError("MARKER", service="qdrant"), 5000, REQUESTER)
    assert (entry.status, entry.retrieved_count, entry.top_score) == (QueryStatus.FAILED, None, None)
    assert entry.milliseconds == 5000
    assert "MARKER" not in repr(entry)


@pytest.mark.parametrize(
    ("scope", "mode"),
    [
        (AnswerScope.SELECTION, QueryMode.SELECTION),
        (AnswerScope.SELECTION_THEN_BOOK, QueryMode.BOOK),
        (AnswerScope.BOOK, QueryMode.BOOK),
    ],
)
def test_only_the_length_of_a_selection_is_logged(scope: AnswerScope, mode: QueryMode) -> None:
    entry = QueryLogEntry.of(Question("What?", "some words", scope), testing.make_refusal(), 1, REQUESTER)
    assert (entry.mode, entry.selection_length) == (mode, 10)
    assert "some words" not in repr([getattr(entry, field.name) for field in fields(entry)])
    assert QueryLogEntry.of(Question("What?"), testing.make_refusal(), 1, REQUESTER).selection_length is None


def test_a_cited_selection_counts_for_the_chapter_where_it_was_found() -> None:
    selected = testing.make_passage("Words.", SELECTION_CHUNK_ID, 1.0, chapter="")
    place = testing.make_passage("Words.", chapter="Gaits").chunk.place
    found = testing.make_answer([("Words.", selected)], selection=place)
    assert QueryLogEntry.of(Question("What?"), found, 1, REQUESTER).chapters == ("Gaits",)
    elsewhere = replace(found, trace=testing.make_trace((selected,), None))
    assert QueryLogEntry.of(Question("What?"), elsewhere, 1, REQUESTER).chapters == ()


def test_a_reply_is_logged_with_its_edition_and_an_error_with_the_requested_one() -> None:
    reply = testing.make_refusal()
    other_edition = replace(reply, trace=replace(reply.trace, edition="2.1"))
    requested = BookRef("robots", "2.0")
    assert QueryLogEntry.of(Question("What?"), other_edition, 1, REQUESTER, requested).book_ref == BookRef(
        "robots", "2.1"
    )
    assert QueryLogEntry.of(Question("What?"), reply, 1, REQUESTER, BookRef("all")).book_ref == BookRef("all")
    assert QueryLogEntry.of(Question("What?"), ValueError(), 1, REQUESTER, requested).book_ref == requested
    assert QueryLogEntry.of(Question("What?"), reply, 1, REQUESTER).book_ref == BookRef()


def test_the_repr_of_an_entry_has_no_question_and_no_address() -> None:
    entry = QueryLogEntry.of(Question("MARKER"), testing.make_refusal(), 1, Requester(address="203.0.113.9"))
    assert "MARKER" not in repr(entry)
    assert "203.0.113" not in repr(entry)
