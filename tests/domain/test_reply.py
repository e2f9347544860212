"""Joining the sentences of an answer, and the words of an unsure reply."""

from __future__ import annotations

from dataclasses import replace

from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.question import Retrieval
from bookbound.domain.reply import (
    UNSURE_MESSAGE,
    UNSURE_SELECTION_MESSAGE,
    AnswerSentence,
    Refusal,
    Unsure,
    join_sentences,
)
from bookbound.domain.trace import Trace

TEXT = "It walks. It stops.\n\nstop()\n\n- legs\n- feet"
UNITS = (
    QuotableUnit("sentence", 0, 9),
    QuotableUnit("sentence", 10, 19),
    QuotableUnit("code", 21, 27),
    QuotableUnit("item", 29, 35),
    QuotableUnit("item", 36, 42),
)
PLACE = Place("a.md", "/a", "Motion", "Walking", (), "", 0, len(TEXT))
PASSAGE = Passage(Chunk("a", TEXT, PLACE, 0, (SourceSpan(0, len(TEXT), 0, len(TEXT)),), UNITS), 0.6)


def quote(unit: QuotableUnit) -> AnswerSentence:
    evidence = Evidence.from_chunk(PASSAGE.chunk, unit.start, unit.end, 0.9)
    return AnswerSentence(evidence.text, (evidence,))


def test_evidence_has_the_kind_of_its_unit() -> None:
    assert [quote(unit).kind for unit in UNITS] == [unit.kind for unit in UNITS]
    assert Evidence.from_chunk(PASSAGE.chunk, 21, 25, 0.9).kind == "sentence"


def test_a_paraphrase_is_prose_whatever_it_cites() -> None:
    assert AnswerSentence("Call stop.", (Evidence.from_chunk(PASSAGE.chunk, 21, 27, 0.9),)).kind == "sentence"


def test_quotes_are_joined_as_in_the_book() -> None:
    assert join_sentences(map(quote, UNITS)) == TEXT
    assert join_sentences([quote(UNITS[2]), "(page 1)", quote(UNITS[0])]) == "stop()\n\n(page 1) It walks."


def test_several_items_keep_their_kind_and_code_makes_code() -> None:
    assert Evidence.from_chunk(PASSAGE.chunk, 29, 42, 0.9).kind == "item"
    assert Evidence.from_chunk(PASSAGE.chunk, 10, 42, 0.9).kind == "code"


def test_items_of_two_places_are_separated() -> None:
    other = Passage(replace(PASSAGE.chunk, id="b"), 0.5)
    item = Evidence.from_chunk(other.chunk, 36, 42, 0.9)
    assert join_sentences([quote(UNITS[3]), AnswerSentence(item.text, (item,))]) == "- legs\n\n- feet"


def make_unsure(kind: RefusalReason) -> Unsure:
    closest = tuple(quote(unit).evidence[0] for unit in UNITS[:2])
    judgement = Judgement(0.3, ("a",), closest, "Partial", kind, is_unsure=True)
    return Unsure(kind, judgement, Trace(Retrieval((PASSAGE,)), "g1", "embedder", "quotes", {}), closest)


def test_an_unsure_reply_says_what_it_is_not_sure_of() -> None:
    assert make_unsure(RefusalReason.INSUFFICIENT_GROUNDING).text == UNSURE_MESSAGE
    assert make_unsure(RefusalReason.SELECTED_TEXT_MISSING).text == UNSURE_SELECTION_MESSAGE


def test_an_unsure_reply_becomes_a_refusal_with_each_closest_section_once() -> None:
    unsure = make_unsure(RefusalReason.INSUFFICIENT_GROUNDING)
    refusal = unsure.to_refusal()
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.judgement.is_unsure, refusal.trace) == (unsure.kind, False, unsure.trace)
    assert [place.link for place in refusal.closest] == [PLACE.link]
