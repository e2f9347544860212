"""How an answer reads as one text."""

from __future__ import annotations

from dataclasses import replace

from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence
from bookbound.domain.reply import AnswerSentence, join_sentences

TEXT = "It walks. It stops.\n\nstop()\n\n- legs\n- feet"
UNITS = (
    QuotableUnit("sentence", 0, 9), QuotableUnit("sentence", 10, 19), QuotableUnit("code", 21, 27), QuotableUnit("item", 29, 35), QuotableUnit("item", 36, 42),
)  # fmt: skip
PLACE = Place("a.md", "/a", "Motion", "Walking", (), "", 0, len(TEXT))
PASSAGE = Passage(Chunk("a", TEXT, PLACE, 0, (SourceSpan(0, len(TEXT), 0, len(TEXT)),), UNITS), 0.6)


def quoted(unit: QuotableUnit) -> AnswerSentence:
    evidence = Evidence.of(PASSAGE, unit.start, unit.end, 0.9)
    return AnswerSentence(evidence.text, (evidence,))


def test_evidence_is_of_the_kind_of_the_unit_it_quotes() -> None:
    assert [quoted(unit).kind for unit in UNITS] == [unit.kind for unit in UNITS]
    assert Evidence.of(PASSAGE, 21, 25, 0.9).kind == "sentence"


def test_a_sentence_in_a_writers_own_words_is_prose_whatever_it_rests_on() -> None:
    assert AnswerSentence("Call stop.", (Evidence.of(PASSAGE, 21, 27, 0.9),)).kind == "sentence"


def test_a_quoted_text_is_laid_out_as_in_the_book() -> None:
    assert join_sentences(map(quoted, UNITS)) == TEXT
    assert join_sentences([quoted(UNITS[2]), "(page 1)", quoted(UNITS[0])]) == "stop()\n\n(page 1) It walks."


def test_several_items_are_of_their_kind_and_what_holds_code_is_code() -> None:
    assert Evidence.of(PASSAGE, 29, 42, 0.9).kind == "item"
    assert Evidence.of(PASSAGE, 10, 42, 0.9).kind == "code"


def test_items_of_two_places_stand_apart() -> None:
    other = Passage(replace(PASSAGE.chunk, id="b"), 0.5)
    item = Evidence.of(other, 36, 42, 0.9)
    assert join_sentences([quoted(UNITS[3]), AnswerSentence(item.text, (item,))]) == "- legs\n\n- feet"
