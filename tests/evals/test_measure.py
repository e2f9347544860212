from __future__ import annotations

from pathlib import Path

import pytest
from evals.measure import Outcome, is_verbatim, summarise
from evals.questions import Item, Quote, Sources

from bookbound.book import Place
from bookbound.dialogue import Answer, Refusal, Reply, Retrieval, Sentence, Trace
from bookbound.finding import Evidence, Judgement, RefusalKind

SOURCE = "Intro. A **trot** moves [legs](https://x.example) together. End."
END = SOURCE.index(" End.")
TRACE = Trace(Retrieval(()), "", "", "", {})
FOUND = Judgement(0.9, ("a",), (), "Good")


def evidence(text: str, start: int, end: int) -> Evidence:
    place = Place("a.md", "/a", "", "A", (), "", start, end)
    return Evidence("a", text, place, 0, len(text), 0.9)


@pytest.mark.parametrize(
    ("text", "start", "end", "verbatim"),
    [
        ("A trot moves legs together.", 7, END, True),
        ("A trot moves legs together.", 7, END - 2, False),
        ("A trot moves legs together.", 3, END, False),
        ("A trot lifts legs together.", 7, END, False),
        ("A trot moves together legs.", 7, END, False),
        ("A trot moves together.", 7, END, False),
        ("", 7, 7, False),
    ],
)
def test_a_quote_is_verbatim_only_letter_for_letter_at_its_offsets(
    tmp_path: Path, text: str, start: int, end: int, verbatim: bool
) -> None:
    (tmp_path / "a.md").write_text(SOURCE)
    assert is_verbatim(evidence(text, start, end), Sources(tmp_path)) is verbatim


def outcome(
    answerable: bool, reply: Reply, *, rank: int | None = None, cited: bool = False, kind: str = "fact"
) -> Outcome:
    item = Item("1", "?", answerable, kind, (Quote("a.md", "x"),) if answerable else (), ())
    verbatim = (True,) if isinstance(reply, Answer) else ()
    return Outcome(item, (rank,) if answerable else (), reply, cited, True, verbatim, 1.0)


def test_a_summary_counts_what_was_found_answered_and_refused() -> None:
    answer = Answer((Sentence("It trots.", (evidence("It trots.", 0, 9),)),), (), FOUND, TRACE)
    refusal = Refusal(RefusalKind.LOW_RELEVANCE, FOUND, TRACE)
    summary = summarise(
        [
            outcome(True, answer, rank=0, cited=True),
            outcome(True, answer, rank=4, cited=False),
            outcome(True, refusal, rank=5),
            outcome(True, refusal),
            outcome(False, refusal, kind="off_topic"),
            outcome(False, answer, kind="off_topic"),
        ]
    )
    assert summary.found == {1: 0.25, 5: 0.5, 20: 0.75}
    assert (summary.answered, summary.cited, summary.correct) == (0.5, 0.25, 0.25)
    assert summary.precision == pytest.approx(1 / 3)
    assert summary.refused == {"off_topic": (1, 2)}
    assert summary.verbatim == (3, 3)
