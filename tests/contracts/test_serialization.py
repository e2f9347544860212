"""Tests how replies, citations, manifests and errors become JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace

import pytest

from bookbound.contracts import serialization
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.errors import ConfigError, ServiceRateLimitError
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.manifest import ChapterSummary, Manifest
from bookbound.domain.question import Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal
from bookbound.domain.trace import StageTiming, TokenUsage, Trace

PLACE = Place("a.md", "/a", "Part", "Page", ("Section",), "section", 10, 22, page=7)
PASSAGE = Passage(Chunk("c1", "First words.", PLACE, 0, (SourceSpan(0, 12, 10, 22),)), 0.51234)
EVIDENCE = Evidence.from_chunk(PASSAGE.chunk, 0, 5, 0.9)
TRACE = Trace(
    Retrieval((PASSAGE,), PLACE),
    "g1",
    "e1",
    "quotes",
    {"embed": StageTiming(seconds=0.001), "search": StageTiming(seconds=0.002)},
    total_seconds=0.007,
)
FOUND = Judgement(0.8, ("c1",), (EVIDENCE,), "Partial")


def test_an_answer_is_serialized_with_its_sentences_citations_and_trace() -> None:
    answer = Answer((AnswerSentence("First", (EVIDENCE,), 1.0),), (PASSAGE,), FOUND, TRACE)
    plain = json.loads(json.dumps(serialization.serialize_reply(answer)))
    assert (plain["status"], plain["answer"], plain["refusal"]) == ("answered", "First", None)
    assert plain["sentences"] == [
        {"text": "First", "support": 1.0, "label": "supported", "citations": plain["citations"]}
    ]
    assert plain["judgement"]["relevant"] == ["c1"]
    assert plain["passages"][0] | {"rank": 1, "score": 0.5123, "text": "First words."} == plain["passages"][0]
    assert plain["trace"]["milliseconds"] == {"embed": 1.0, "search": 2.0, "retrieve": 3.0, "judge": 0.0, "total": 7.0}
    assert plain["trace"]["selection"]["section"] == "Section"


def test_a_reply_contains_the_usage_and_failure_of_a_language_model() -> None:
    answer = Answer((AnswerSentence("First", (EVIDENCE,), 1.0),), (PASSAGE,), FOUND, TRACE)
    plain = serialization.serialize_reply(answer)
    assert (plain["degraded"], plain["trace"]["tools"]) == (False, [])
    assert plain["trace"]["usage"] == {"calls": 0, "read": 0, "written": 0}
    trace = replace(TRACE, usage=TokenUsage(2, 700, 30), tool_calls=("search_textbook",), degraded=True)
    for reply in (replace(answer, trace=trace), Refusal(RefusalReason.INSUFFICIENT_GROUNDING, FOUND, trace)):
        plain = json.loads(json.dumps(serialization.serialize_reply(reply)))
        assert (plain["degraded"], plain["trace"]["tools"]) == (True, ["search_textbook"])
        assert plain["trace"]["usage"] == {"calls": 2, "read": 700, "written": 30}


def test_a_citation_has_a_complete_address_and_the_hash_of_its_quote() -> None:
    assert serialization.serialize_citation(EVIDENCE) == {
        "chunk_id": "c1",
        "quote": "First",
        "chapter": "Part",
        "title": "Page",
        "section": "Section",
        "path": ["Part", "Page", "Section"],
        "url": "/a#section",
        "file": "a.md",
        "anchor": "section",
        "start": 10,
        "end": 15,
        "page": 7,
        "label": "",
        "book": "",
        "link": "/a#section:~:text=First",
        "hash": hashlib.sha256(b"First").hexdigest(),
        "probability": 0.9,
    }


def test_a_refusal_is_serialized_with_its_kind_and_its_sentence() -> None:
    plain = serialization.serialize_reply(Refusal(RefusalReason.SELECTED_TEXT_MISSING, FOUND, TRACE))
    assert (plain["status"], plain["answer"], plain["sentences"], plain["citations"]) == ("refused", None, [], [])
    assert plain["refusal"] == {
        "kind": "selected_text_missing",
        "message": "The selected text does not contain this information.",
        "sections": [],
    }


def test_a_manifest_is_serialized_without_fingerprints() -> None:
    manifest = Manifest("T", "markdown", "e", 3, "s", 1.0, 1, 1, (ChapterSummary("C", 1, 1),))
    plain = json.loads(json.dumps(serialization.serialize_manifest(manifest)))
    assert plain.keys() == {field.name for field in fields(Manifest)} - {"source_fingerprint", "page_fingerprints"}
    assert plain["chapters"] == [{"title": "C", "pages": 1, "chunks": 1}]


def test_our_errors_show_their_message_and_others_only_their_type() -> None:
    assert serialization.serialize_error(ConfigError("Do this.")) == {
        "error": {"type": "ConfigError", "message": "Do this."}
    }
    limit = serialization.serialize_error(ServiceRateLimitError("Wait.", service="model", retry_after=2.0))["error"]
    assert (limit["service"], limit["retry_after"]) == ("model", 2.0)
    unexpected = serialization.serialize_error(KeyError("a reader's words"))["error"]
    assert unexpected["type"] == "KeyError"
    assert "reader" not in unexpected["message"]


def test_a_link_highlights_a_quote_and_a_long_one_by_its_ends() -> None:
    place = Place("a.md", "/a", "", "Page", (), "part-1", 0, 0)
    assert (
        serialization.build_highlight_link(place, "well-known, & so") == "/a#part-1:~:text=well%2Dknown%2C%20%26%20so"
    )
    long = " ".join(f"w{i}" for i in range(14))
    assert serialization.build_highlight_link(place, long).endswith(
        "text=w0%20w1%20w2%20w3%20w4%20w5,w8%20w9%20w10%20w11%20w12%20w13"
    )
    assert serialization.build_highlight_link(Place("", "", "", "Selected text", (), "", 0, 0), "words") == ""


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        ("- Event: a trigger", "Event%3A%20a%20trigger"),
        ("2. Then turn it", "Then%20turn%20it"),
        ("Damped least squares | Inverse kinematics | Jacobian", "Damped%20least%20squares,Jacobian"),
        ("It turns --- and it doesn't stop there", "It%20turns,stop%20there"),
        ("a well-known way", "a%20well%2Dknown%20way"),
    ],
)
def test_a_link_contains_only_words_that_are_rendered_unchanged(words: str, fragment: str) -> None:
    assert serialization.build_highlight_link(PLACE, words) == f"{PLACE.url}#{PLACE.anchor}:~:text={fragment}"


@pytest.mark.parametrize(
    ("url", "anchor", "link"),
    [
        ("a%20book.pdf", "page=8", "a%20book.pdf#page=8"),
        ("book.epub#ch1.xhtml", "", "book.epub#ch1.xhtml"),
        ("book.epub#ch1.xhtml", "motors", "book.epub#ch1.xhtml%23motors"),
        ("notes.docx", "", "notes.docx"),
    ],
)
def test_a_link_into_a_file_that_is_not_a_web_page_has_one_fragment(url: str, anchor: str, link: str) -> None:
    place = Place("a", url, "", "", (), anchor, 0, 5)
    assert serialization.build_highlight_link(place, "words") == place.link == link


def test_a_quote_without_such_words_links_to_its_section() -> None:
    assert serialization.build_highlight_link(PLACE, '"..."') == PLACE.link
