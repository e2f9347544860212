"""Loads the questions about real books, each with the reply that its reader should get."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.measure.question_sets import BOOK, DATA

QUESTIONS = Path(__file__).with_name("questions.jsonl")
SOURCES = {
    "example": BOOK,
    "byte_of_python": DATA / "books" / "byte_of_python",
    "mdbook_guide": DATA / "books" / "mdbook_guide",
    "fastapi_docs": DATA / "books" / "fastapi_docs",
    "python_robotics_docs": DATA / "books" / "python_robotics_docs",
    "learn2love_epub": DATA / "books" / "_files" / "learn2love.epub",
    "learn2love_pdf": DATA / "books" / "_files" / "learn2love.pdf",
    "docusaurus_docs": DATA / "books" / "docusaurus_docs",
}
"""The sources of the questions: Docusaurus, GitBook, mdBook, MkDocs, Sphinx, EPUB, PDF and Docusaurus."""
KINDS = (
    "table",
    "list",
    "code",
    "comparison",
    "several_parts",
    "yes_no",
    "keyword",
    "typo",
    "about_book",
    "follow_up",
    "selection",
    "off_topic",
    "fact",
    "near_miss",
)
REPLIES = ("answer", "unsure", "refusal")
BLOCKS = ("paragraph", "list", "table", "code", "formula")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a reader should get; letter case does not matter.

    `reply` lists the kinds of reply that are fine. The beginning has one of the words of `first`, the reply has all of
    `contains` and none of `lacks`, and it shows every kind of block in `blocks`. One place whose path or file has one
    of the words of `cites` is cited. The completed question has all words of `completed`.
    """

    reply: tuple[str, ...]
    first: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyQuestion:
    """A question as a reader types it; `words` are the words of the book that answer it, copied verbatim."""

    id: str
    source: str
    kind: str
    question: str
    expect: Expectation
    words: tuple[str, ...]
    conversation: tuple[str, ...] = ()
    selection: str | None = None


def load_reply_questions(file: Path = QUESTIONS) -> list[ReplyQuestion]:
    """Loads one question per line."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return [_parse_row(json.loads(line)) for line in lines if line]


def _parse_row(row: dict[str, Any]) -> ReplyQuestion:
    expect = dict(row["expect"])
    cites = tuple(expect.pop("cites", "").split("|"))
    values = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in expect.items()}
    return ReplyQuestion(
        id=row["id"],
        source=row["source"],
        kind=row["kind"],
        question=row["question"],
        expect=Expectation(**values, cites=cites if any(cites) else ()),
        words=tuple(row["words"]),
        conversation=tuple(row.get("conversation", ())),
        selection=row.get("selection"),
    )
