"""A question as it is logged."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from bookbound import testing
from bookbound.dialogue import SELECTION_ID, Question, Scope
from bookbound.entry import Asker, Entry, Mode, Status
from bookbound.errors import TimedOut
from bookbound.finding import RefusalKind
from bookbound.volume import Volume

NOBODY = Asker()


def test_an_answer_is_logged_with_its_chapters_each_once() -> None:
    one = testing.passage("One.", "a", 0.7, chapter="Gaits")
    two = testing.passage("Two.", "b", 0.9, chapter="Drives")
    reply = testing.answer([("One.", one), ("Two.", two), ("One.", one)], retrieved=[one, two])
    entry = Entry.of(Question("What?"), reply, 12.6, NOBODY)
    assert (entry.status, entry.mode, entry.refusal) == (Status.ANSWERED, Mode.BOOK, None)
    assert (entry.retrieved, entry.top_score, entry.milliseconds) == (2, 0.9, 13)
    assert entry.chapters == ("Gaits", "Drives")


def test_a_refusal_is_logged_with_its_kind() -> None:
    entry = Entry.of(Question("What?"), testing.refusal(RefusalKind.EMPTY_RETRIEVAL), 1, NOBODY)
    assert (entry.status, entry.refusal) == (Status.REFUSED, RefusalKind.EMPTY_RETRIEVAL)
    assert (entry.retrieved, entry.top_score, entry.chapters) == (0, None, ())


def test_an_error_is_logged_as_one_and_without_its_words() -> None:
    entry = Entry.of(Question("What?"), TimedOut("MARKER", service="qdrant"), 5000, NOBODY)
    assert (entry.status, entry.retrieved, entry.top_score) == (Status.FAILED, None, None)
    assert "MARKER" not in repr(entry)


@pytest.mark.parametrize(
    ("scope", "mode"),
    [
        (Scope.SELECTION, Mode.SELECTION),
        (Scope.SELECTION_THEN_BOOK, Mode.BOOK),
        (Scope.BOOK, Mode.BOOK),
    ],
)
def test_of_a_selection_only_the_length_is_logged(scope: Scope, mode: Mode) -> None:
    entry = Entry.of(Question("What?", "some words", scope), testing.refusal(), 1, NOBODY)
    assert (entry.mode, entry.selected) == (mode, 10)
    assert "some words" not in repr([getattr(entry, field.name) for field in fields(entry)])
    assert Entry.of(Question("What?"), testing.refusal(), 1, NOBODY).selected is None


def test_a_selection_stands_in_the_chapter_where_it_was_found_or_in_none() -> None:
    selected = testing.passage("Words.", SELECTION_ID, 1.0, chapter="")
    place = testing.passage("Words.", chapter="Gaits").chunk.place
    found = testing.answer([("Words.", selected)], selection=place)
    assert Entry.of(Question("What?"), found, 1, NOBODY).chapters == ("Gaits",)
    elsewhere = replace(found, trace=testing.trace((selected,), None))
    assert Entry.of(Question("What?"), elsewhere, 1, NOBODY).chapters == ()


def test_a_reply_is_logged_with_the_edition_that_gave_it_and_an_error_with_the_one_that_was_asked() -> None:
    reply = testing.refusal()
    of_another = replace(reply, trace=replace(reply.trace, edition="2.1"))
    asked = Volume("robots", "2.0")
    assert Entry.of(Question("What?"), of_another, 1, NOBODY, asked).volume == Volume("robots", "2.1")
    assert Entry.of(Question("What?"), reply, 1, NOBODY, Volume("all")).volume == Volume("all")
    assert Entry.of(Question("What?"), ValueError(), 1, NOBODY, asked).volume == asked
    assert Entry.of(Question("What?"), reply, 1, NOBODY).volume == Volume()


def test_what_a_reader_said_is_not_shown_where_an_entry_is() -> None:
    entry = Entry.of(Question("MARKER"), testing.refusal(), 1, Asker(address="203.0.113.9"))
    assert "MARKER" not in repr(entry)
    assert "203.0.113" not in repr(entry)
