"""Tests the form and the sources of the replies of our own API over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fastapi.testclient import TestClient

from bookbound.contracts.v1_models import ReplyModel
from bookbound.domain.chunk import Chunk, Passage, QuotableUnit, UnitKind
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, SupportLabel
from bookbound.domain.reply import Answer, AnswerSentence, Reply, SentenceForm
from bookbound.domain.trace import SentenceCounts
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal, make_unsure

Serve = Callable[[ScriptedBackend], TestClient]
TEXT = "Use *args for 5 legs.\n\n1. Look.\n  - twice\n\nLoop | Rate\nMotor | 10 kHz\n\ndef walk():\n    go()"
KINDS: dict[str, UnitKind] = {
    "Use *args for 5 legs.": "sentence",
    "1. Look.": "item",
    "- twice": "item",
    "Loop | Rate": "row",
    "Motor | 10 kHz": "row",
    "def walk():\n    go()": "code",
}
EMPTY = {"text": "", "items": [], "header": None, "rows": [], "cut": False, "sources": [1], "marks": []}
EMPTY |= {"unverified": None, "unverified_rows": []}


def make_passages() -> tuple[Passage, Passage]:
    found = make_passage(TEXT, "c1", title="Legs", section="Walking", url="https://book.example/legs", anchor="walking")
    units = tuple(
        QuotableUnit(kind, TEXT.index(words), TEXT.index(words) + len(words)) for words, kind in KINDS.items()
    )
    chunk = replace(found.chunk, units=units, spans=(SourceSpan(0, len(TEXT), 0, len(TEXT)),), cut_end=True)
    other = make_passage("Arms lift.", "c2", title="Arms", section="", url="https://book.example/arms")
    return replace(found, chunk=chunk), other


def quote(chunk: Chunk, words: str, last: str = "") -> AnswerSentence:
    """Quotes the words from `words` to `last`."""
    last = last or words
    evidence = Evidence.from_chunk(chunk, chunk.text.index(words), chunk.text.index(last) + len(last), 0.9)
    return AnswerSentence(evidence.text, (evidence,), 1.0)


def make_formed_answer() -> Answer:
    """An answer with a paragraph, a list, a table, code that goes on, and a paragraph of another section."""
    legs, arms = make_passages()
    answer = make_answer([("Arms lift.", arms)], retrieved=[legs, arms])
    quotes = (
        quote(legs.chunk, "Use *args for 5 legs."),
        quote(legs.chunk, "1. Look.", "- twice"),
        quote(legs.chunk, "Loop | Rate", "Motor | 10 kHz"),
        quote(legs.chunk, "def walk():\n    go()"),
    )
    start = TEXT.index("5 legs")
    found = Evidence.from_chunk(legs.chunk, start, start + 6, 0.9)
    judgement = replace(answer.judgement, evidence=(found,))
    return replace(answer, sentences=(*quotes, *answer.sentences), judgement=judgement)


def ask(serve: Serve, reply: Reply) -> dict[str, Any]:
    response = serve(ScriptedBackend(reply)).post("/v1/answers", json={"question": "How many legs?"})
    assert response.status_code == 200
    body = response.json()
    assert ReplyModel.model_validate(body).model_dump(mode="json") == body
    return dict(body)


def test_blocks_have_the_form_of_the_book_and_the_numbers_of_their_sources(serve: Serve) -> None:
    blocks = ask(serve, make_formed_answer())["blocks"]
    assert blocks == [
        EMPTY
        | {
            "kind": "paragraph",
            "text": "Use *args for 5 legs.",
            "marks": [[14, 20]],
            "markdown": "Use \\*args for 5 legs.",
        },
        EMPTY
        | {
            "kind": "list",
            "items": [
                {"text": "Look.", "number": "1.", "level": 0, "sources": [1], "unverified": None},
                {"text": "twice", "number": "", "level": 1, "sources": [1], "unverified": None},
            ],
            "markdown": blocks[1]["markdown"],
        },
        EMPTY
        | {
            "kind": "table",
            "header": ["Loop", "Rate"],
            "rows": [["Motor", "10 kHz"]],
            "markdown": "| Loop | Rate |\n| --- | --- |\n| Motor | 10 kHz |",
        },
        EMPTY
        | {
            "kind": "code",
            "text": "def walk():\n    go()",
            "cut": True,
            "markdown": "```\ndef walk():\n    go()\n…\n```",
        },
        EMPTY | {"kind": "paragraph", "text": "Arms lift.", "sources": [2], "markdown": "Arms lift."},
    ]


def test_the_answer_is_the_markdown_of_its_blocks(serve: Serve) -> None:
    body = ask(serve, make_formed_answer())
    assert body["answer"] == "\n\n".join(block["markdown"] for block in body["blocks"])


def test_rows_without_the_names_of_their_columns_have_no_header(serve: Serve) -> None:
    answer, (legs, _) = make_formed_answer(), make_passages()
    (block,) = ask(serve, replace(answer, sentences=(quote(legs.chunk, "Motor | 10 kHz"),)))["blocks"]
    assert (block["header"], block["rows"]) == (None, [["Motor", "10 kHz"]])


def test_each_section_is_one_source_with_a_link_that_highlights_its_first_quote(serve: Serve) -> None:
    legs, arms = ask(serve, make_formed_answer())["sources"]
    assert (legs["number"], legs["section"], legs["url"]) == (1, "Walking", "https://book.example/legs#walking")
    assert legs["link"] == "https://book.example/legs#walking:~:text=Use%20%2Aargs%20for%205%20legs."
    assert legs["quotes"] == [
        "Use *args for 5 legs.",
        "1. Look.\n  - twice",
        "Loop | Rate\nMotor | 10 kHz",
        "def walk():\n    go()",
    ]
    assert (arms["number"], arms["title"], arms["quotes"]) == (2, "Arms", ["Arms lift."])


def test_the_closest_quotes_of_an_unsure_reply_have_their_form(serve: Serve) -> None:
    legs, _ = make_passages()
    unsure = replace(make_unsure([legs]), closest=quote(legs.chunk, "1. Look.", "- twice").evidence)
    body = ask(serve, unsure)
    (closest,) = body["closest"]
    assert closest["quote"] == "1. Look.\n  - twice"
    assert [(block["kind"], block["sources"], block["marks"]) for block in closest["blocks"]] == [("list", [], [])]
    assert (body["blocks"], body["sources"], body["answer"]) == ([], [], None)


def test_a_refusal_has_no_blocks_and_no_sources(serve: Serve) -> None:
    body = ask(serve, make_refusal())
    assert (body["blocks"], body["sources"]) == ([], [])


def test_a_stream_ends_with_the_same_blocks_and_sources(serve: Serve) -> None:
    reply = make_formed_answer()
    client = serve(ScriptedBackend(reply))
    streamed = client.post("/v1/answers", json={"question": "Legs?"}, headers={"Accept": "text/event-stream"})
    *_, last = (json.loads(line[5:]) for line in streamed.text.splitlines() if line.startswith("data:"))
    body = ask(serve, reply)
    assert (last["blocks"], last["sources"]) == (body["blocks"], body["sources"])


def test_what_is_not_verified_has_the_closest_words_in_every_form(serve: Serve) -> None:
    legs, _ = make_passages()
    evidence = quote(legs.chunk, "Use *args for 5 legs.").evidence

    def write(text: str, *, is_verified: bool = False, **form: Any) -> AnswerSentence:
        label = SupportLabel.SUPPORTED if is_verified else SupportLabel.UNVERIFIED
        return AnswerSentence(text, evidence, 0.3, label, SentenceForm(**form))

    sentences = (
        write("It flies."),
        write("a", is_verified=True, kind="item"),
        write("b", kind="item"),
        write("x", is_verified=True, kind="row", cells=("x",), is_header=True),
        write("y", is_verified=True, kind="row", cells=("y",)),
        write("z", kind="row", cells=("z",)),
    )
    answer = make_formed_answer()
    trace = replace(answer.trace, sentences=SentenceCounts(3, 3, 2))
    body = ask(serve, replace(answer, sentences=sentences, trace=trace))
    paragraph, items, table = body["blocks"]
    closest = {"closest": evidence[0].text}
    assert paragraph["unverified"] == closest
    assert [each["unverified"] for each in items["items"]] == [None, closest]
    assert (items["unverified"], table["unverified"]) == (None, None)
    assert table["rows"][table["unverified_rows"][0]["row"]] == ["z"]
    assert table["unverified_rows"] == [{"row": 1} | closest]
    assert [each["label"] for each in body["sentences"]].count("unverified") == 3
    assert body["verification"] == {"verified": 3, "unverified": 3, "dropped": 2, "withheld": False}
