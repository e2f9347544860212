from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.grounding.alignment import SentenceAlignment
from bookbound.answering.grounding.negation_and_modality import has_antonym
from bookbound.answering.grounding.word_order import changes_relations, common_subsequence_length, measure_deviations
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence

Make = Callable[..., Passage]
TREE = "A Sequence runs its children until one fails, and a Fallback runs them until one succeeds."
SHAPES = "The visual shape of a link is for people. The collision shape is for contact and distance computation."
NAMES = "The relative name odom becomes /arm/odom, the absolute name /odom stays as it is. A name has 20 letters."
SPEED = "Wheels on a flat floor are faster than legs. The larger the step, the slower the gait."
GAMMA = "- The larger the gain, the smaller the error.\n- The smaller the gain, the bigger the error."


@pytest.fixture
def align(passage: Make) -> Callable[..., SentenceAlignment]:
    def make(sentence: str, *texts: str) -> SentenceAlignment:
        passages = [passage(text, f"c{number}") for number, text in enumerate(texts)]
        return SentenceAlignment(
            sentence, [Evidence.from_chunk(each.chunk, 0, len(each.chunk.text), 0.9) for each in passages]
        )

    return make


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("A Fallback runs its children until one fails, and a Sequence runs them until one succeeds.", TREE),
        ("The visual shape is for contact and distance computation, and the collision shape is for people.", SHAPES),
        ("The absolute name odom becomes /arm/odom.", NAMES),
        ("Legs are faster than wheels on a flat floor.", SPEED),
        ("The larger the gain, the bigger the error.", GAMMA),
        ("The motor heats the joint housing.", "The motor cools the joint housing."),
        ("The gearbox in the knee is noisy.", "The gearbox in the knee is quiet."),
        ("The hip moves the leg.", "The leg moves the hip."),
        ("The leg is moved by the hip.", "The leg moves the hip."),
        ("The outer loop is fed by the joint encoder.", "The outer loop feeds the joint encoder."),
    ],
)
def test_a_statement_about_something_else_changes_relations(
    align: Callable[..., SentenceAlignment], sentence: str, text: str
) -> None:
    assert changes_relations(align(sentence, text))


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        (TREE, TREE),
        ("A Sequence runs its children until one of them fails.", TREE),
        ("The collision shape is for contact and distance computation.", SHAPES),
        ("The relative name odom becomes /arm/odom.", NAMES),
        ("Wheels are faster than legs.", SPEED),
        ("The smaller the gain, the bigger the error.", GAMMA),
        ("A Fallback runs its children until one succeeds.", TREE),
        ("The big motor cools the joint housing.", "The motor cools the joint housing."),
        ("The motor cools the housing.", "The motor cools the joint housing."),
        ("The hip is moved by the leg.", "The leg moves the hip."),
        ("The parts were frozen.", "Freeze the parts."),
        ("A motor acts as a generator.", "A motor becomes a generator."),
        ("Three axes turn with three axes.", "Three axes turn with three axes."),
    ],
)
def test_a_faithful_paraphrase_keeps_relations(
    align: Callable[..., SentenceAlignment], sentence: str, text: str
) -> None:
    assert not changes_relations(align(sentence, text))


def test_a_clause_must_not_depend_on_another_passage(align: Callable[..., SentenceAlignment]) -> None:
    assert changes_relations(
        align("A trot has a wide, flat motor.", "A trot has two phases.", "It has a wide, flat motor.")
    )
    assert not changes_relations(
        align("A trot has two phases, while a drive has a motor.", "A trot has two phases.", "A drive has a motor.")
    )


def test_each_deviation_is_a_share_of_the_terms(align: Callable[..., SentenceAlignment]) -> None:
    assert not any(measure_deviations(align("The collision shape is for contact.", SHAPES)).values())
    assert measure_deviations(align("The collision mesh is for contact.", SHAPES))["new"] == pytest.approx(1 / 3)
    assert measure_deviations(align("The collision shape is for people.", SHAPES))["misplaced"] == pytest.approx(1 / 3)
    assert measure_deviations(align("Contact: for it is the collision shape.", SHAPES))["turned"] == pytest.approx(
        1 / 3
    )
    assert measure_deviations(align("", SHAPES)) == {"new": 0, "misplaced": 0, "apart": 0, "turned": 0}


def test_word_forms_and_number_words_are_one_term(align: Callable[..., SentenceAlignment]) -> None:
    assert measure_deviations(align("Two observations of it.", "He observed it 2 times."))["new"] == 0


@pytest.mark.parametrize(
    ("sentence", "book", "common"),
    [("abc", "abc", 3), ("acb", "abc", 2), ("cba", "abc", 1), ("", "abc", 0), ("ad", "a", 1)],
)
def test_terms_in_the_same_order_are_counted(sentence: str, book: str, common: int) -> None:
    assert common_subsequence_length(sentence, book) == common


def test_antonyms_are_found() -> None:
    assert has_antonym("It grows fast.", "It grows slowly.")
    assert not has_antonym("It grows fast.", "It grows fast and not slowly.")
    assert not has_antonym("It grows fast and then slowly.", "It grows slowly.")
    assert not has_antonym("It grows.", "It grows slowly.")
