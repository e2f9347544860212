from __future__ import annotations

from collections.abc import Callable

from bookbound.answering.grounding.alignment import MAX_NEIGHBOURING_UNITS, SentenceAlignment, narrow_evidence
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence

Make = Callable[..., Passage]
TEXT = "Gears wear. The ring has 102 teeth. The cup has 100 teeth. Oil helps. Belts slip. Chains rust. Ropes fray."


def whole(passage: Passage) -> Evidence:
    return Evidence.from_chunk(passage.chunk, 0, len(passage.chunk.text), 0.7, 2)


def test_neighbouring_units_form_one_stretch(passage: Make) -> None:
    sentence = "The ring has 102 teeth, the cup has 100 teeth, and chains rust."
    cited = narrow_evidence(SentenceAlignment(sentence, [whole(passage(TEXT))]))
    assert [piece.text for piece in cited] == ["The ring has 102 teeth. The cup has 100 teeth.", "Chains rust."]


def test_a_stretch_is_verbatim_and_keeps_its_attributes(passage: Make) -> None:
    (cited,) = narrow_evidence(SentenceAlignment("Oil helps.", [whole(passage(TEXT))]))
    assert TEXT[cited.start : cited.end] == cited.text == "Oil helps."
    assert cited.place.start == 100 + TEXT.index("Oil")
    assert (cited.probability, cited.part, cited.chunk_id) == (0.7, 2, "c1")


def test_a_stretch_has_few_units(passage: Make) -> None:
    cited = narrow_evidence(
        SentenceAlignment("Oil helps, belts slip, chains rust and ropes fray.", [whole(passage(TEXT))])
    )
    assert all(len(piece.units) <= MAX_NEIGHBOURING_UNITS for piece in cited)
    assert " ".join(piece.text for piece in cited) == TEXT[TEXT.index("Oil") :]


def test_a_sentence_without_supporting_clauses_has_no_evidence(passage: Make) -> None:
    assert narrow_evidence(SentenceAlignment("Whales sing.", [whole(passage(TEXT))])) == ()


def test_part_of_a_passage_is_narrowed_to_its_units(passage: Make) -> None:
    half = Evidence.from_chunk(passage(TEXT).chunk, TEXT.index("Oil"), len(TEXT), 0.7)
    (cited,) = narrow_evidence(SentenceAlignment("Belts slip.", [half]))
    assert cited.text == TEXT[cited.start : cited.end] == "Belts slip."
