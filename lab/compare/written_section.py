"""Writes the section about the answers of a language model that readers judged."""

from __future__ import annotations

import textwrap
from typing import Any

from lab.compare.report_tables import NOT_MEASURED, format_rows

Figures = dict[str, Any]
VERDICTS = {"right": "right", "partly": "partly right", "wrong": "wrong", "made_up": "made up", "refused": "refused"}
WRITTEN_INTRODUCTION = """\
{questions} questions about the documentation of {books}: {answerable} that it answers, and {unanswerable} that it
does not. {model} wrote all answers but those of the first row, which are the book's own words. LangChain and
LlamaIndex had the five passages that Bookbound ranks first, in the prompts of their own packages; Bookbound's model
reads up to 12 passages if Bookbound is unsure. {judges} judged all {answers} answers as blind readers: they did not
see which system wrote an answer. They gave {percent:.0f} % of the answers the same verdict (Cohen's kappa {kappa});
an answer on which they differ counts half for each of its two verdicts."""
WRITTEN_NOTES = (
    "**Right** answers correctly and completely enough; **partly right** lacks a key part; **wrong** says something "
    "false or answers something else; **made up** says what the book does not say, as if it did.",
    "**Refused** says that the book does not answer, or that the reply is not sure. A reply to an unanswerable "
    "question that corrects its false premise counts as refused too.",
    "A right reply is a right answer, or a refusal of an unanswerable question.",
)
WITHOUT_REPAIRS = "Bookbound's model was not asked to say sentences again that the book does not support so."
PAGE_WIDTH = 140


def build_written_section(figures: Figures) -> str:
    """The section about the answers that readers judged, with its heading."""
    systems, agreement = figures["systems"], figures["agreement"]
    *others, last = figures["books"]
    counts = {key: sum(book[key] for book in figures["books"].values()) for key in ("questions", "answerable")}
    introduction = WRITTEN_INTRODUCTION.format(
        **counts,
        unanswerable=counts["questions"] - counts["answerable"],
        books=f"{', '.join(others)} and {last}" if others else last,
        model=figures["model"],
        judges=figures["judges"][:1].upper() + figures["judges"][1:],
        answers=agreement["answers"],
        percent=agreement["share"] * 100,
        kappa=NOT_MEASURED if agreement["kappa"] is None else f"{agreement['kappa']:.2f}",
    )
    head = [
        "system",
        *(f"answerable: {title}" for title in VERDICTS.values()),
        *(f"unanswerable: {VERDICTS[name]}" for name in ("refused", "made_up")),
        "right replies to all questions",
    ]
    rows = [head, *([name, *map("{:g}".format, _list_verdicts(system))] for name, system in systems.items())]
    versions = figures["machine"]["versions"]
    used = [f"{name} {versions[name]}" for name in ("langchain-classic", "llama-index-core") if name in versions]
    if not figures["machine"].get("repairs", True):
        introduction += " " + WITHOUT_REPAIRS
    machine = ", ".join([figures["machine"]["date"], f"Bookbound {figures['machine'].get('commit')}", *used])
    notes = (_wrap(f"- {note}", indent="  ") for note in (*WRITTEN_NOTES, machine))
    heading = "## Written answers with the same language model"
    return "\n\n".join([heading, _wrap(introduction), format_rows(rows), "\n".join(notes)])


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(text, PAGE_WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _list_verdicts(system: Figures) -> list[float]:
    answered, unanswered = system["answerable"], system["unanswerable"]
    refused, made_up = unanswered["refused"], unanswered["made_up"]
    return [*(answered[verdict] for verdict in VERDICTS), refused, made_up, answered["right"] + refused]
