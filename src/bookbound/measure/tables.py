"""The figures as tables for people: a heading, the names of the columns, and rows of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bookbound.measure.figures import Plain

NOTHING = "–"


class Table(NamedTuple):
    """A heading, the names of the columns, and the cells of each row."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def tables(measured: Plain) -> Iterator[Table]:
    """All that is measured of a question set, but for the curve and the questions."""
    yield _retrieval(measured["retrieval"])
    yield _answers(measured["answers"])
    yield _refusals(measured["refusals"])
    citations = measured["citations"]
    yield Table(
        "Citations",
        ("", f"{citations['citations']} in all"),
        [
            ("hold words of the evidence", share(citations["hold_evidence"])),
            ("evidence that they cover", share(citations["evidence_covered"])),
            ("verbatim at their offsets", share(citations["verbatim"])),
        ],
    )
    times = {"the whole": measured["latency_ms"]["all"], **measured["latency_ms"]["by_stage"]}
    rows = [(stage, _ms(taken["p50"]), _ms(taken["p95"])) for stage, taken in times.items()]
    yield Table("Milliseconds", ("", "p50", "p95"), rows)


def share(value: float | None) -> str:
    """A share with three places, or that there is none."""
    return NOTHING if value is None else f"{value:.3f}"


def _retrieval(retrieval: Plain) -> Table:
    questions, pieces = retrieval["by_question"], retrieval["by_evidence"]
    rows = [(name.replace("mrr", "MRR"), share(questions[name]), share(pieces[name])) for name in questions]
    return Table("Retrieval", ("", "any evidence of a question", "each piece of evidence"), rows)


def _answers(answers: Plain) -> Table:
    where = answers["where_answered"]
    words = {
        "evidence_found": "evidence cited",
        "token_f1": "token F1 with the evidence",
        "must_contain": "hold what they must",
        "correct_and_cited": "correct and cited",
    }
    rows = [("answered", share(answers["answered"]), "")]
    rows += [(told, share(answers[name]), share(where[name])) for name, told in words.items()]
    rows.append((f"correct of the {answers['given']} answers given", "", share(answers["precision"])))
    return Table("Answers", ("", "of the answerable", "where answered"), rows)


def _refusals(refusals: Plain) -> Table:
    named = {"all that should be": refusals, **refusals["by_kind"]}
    rows = [
        (kind, f"{of['refused']} of {of['questions']}", share(of["recall"]), share(of["precision"]))
        for kind, of in named.items()
    ]
    wrong = refusals["wrongly_refused"].values()
    refused, questions = sum(of["refused"] for of in wrong), sum(of["questions"] for of in wrong)
    if refusals["corrected"]:
        rows.append(("corrected instead", f"{refusals['corrected']} of {refusals['questions']}", "", ""))
    rows.append(("answerable, wrongly", f"{refused} of {questions}", "", ""))
    return Table("Refusals", ("", "refused", "recall", "precision"), rows)


def _ms(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"
