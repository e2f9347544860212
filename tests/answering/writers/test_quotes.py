from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.answering.writers.conftest import Shelf

from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence
from bookbound.domain.question import SELECTION_CHUNK_ID
from bookbound.domain.reply import MAX_ANSWER_SENTENCES

Make = Callable[..., Shelf]


def test_the_sentence_that_holds_the_words_is_quoted_with_its_citation(shelf: Make) -> None:
    page = shelf("# Walking\n\nA robot walks.\n\nThe robot stops after 5 m.\n\nRobots rest.")
    (sentence,) = page.answer("How far?", "5 m")
    assert sentence.text == "The robot stops after 5 m."
    (evidence,) = sentence.evidence
    assert (evidence.text, evidence.kind, evidence.probability) == (sentence.text, "sentence", 0.8)
    assert evidence.place.end - evidence.place.start == len(sentence.text)


def test_words_in_two_sentences_take_both(shelf: Make) -> None:
    page = shelf("# Walking\n\nA robot walks. The robot stops.\n\nRobots rest.")
    assert page.said("What next?", "walks. The robot") == ["A robot walks.", "The robot stops."]


def test_sentences_come_in_reading_order(shelf: Make) -> None:
    page = shelf("# Walking\n\nA robot walks.\n\nThe robot stops.\n\nBatteries rest.")
    assert page.said("What?", ("Batteries", 0.9), ("walks", 0.8)) == ["A robot walks.", "Batteries rest."]


def test_words_of_the_same_passage_are_taken_from_a_tenth_of_the_best_on(shelf: Make) -> None:
    page = shelf("# Walking\n\nA robot walks.\n\nThe robot stops.\n\nBatteries rest.")
    assert page.said("What?", ("Batteries", 0.9), ("walks", 0.1)) == ["A robot walks.", "Batteries rest."]
    assert page.said("What?", ("Batteries", 0.9), ("walks", 0.08)) == ["Batteries rest."]


def test_a_second_passage_three_tenths_as_probable_speaks_too_if_it_says_something_new(shelf: Make) -> None:
    pages = shelf("# A\n\nThe port is 42.", "# B\n\nServers listen somewhere else entirely.")
    both = ["The port is 42.", "Servers listen somewhere else entirely."]
    assert pages.said("port?", ("42", 0.9), ("somewhere", 0.28)) == both
    assert pages.said("port?", ("42", 0.9), ("somewhere", 0.26)) == both[:1]
    assert pages.said("Is the port somewhere?", ("42", 0.9), ("somewhere", 0.8)) == both[:1]


def test_of_what_a_second_passage_says_three_tenths_are_new_at_least(shelf: Make) -> None:
    known = "Motors gears springs belts bearings shafts brakes"
    pages = shelf(f"# A\n\n{known} matter.", f"# B\n\n{known} sing.", f"# C\n\n{known} sing loudly daily everywhere.")
    assert pages.said("port?", ("matter", 0.9), ("sing.", 0.8)) == [f"{known} matter."]
    new = f"{known} sing loudly daily everywhere."
    assert pages.said("port?", ("matter", 0.9), ("sing loudly", 0.8)) == [f"{known} matter.", new]


def test_a_paraphrase_or_the_same_figure_does_not_join(shelf: Make) -> None:
    pages = shelf(
        "# A\n\nThe server listens on port 42 by default.",
        "# B\n\nBy default a listening server has port 42 open.",
        "# C\n\nFirewalls must admit traffic towards 42.",
        "# D\n\nThe server listens on port 42 by default.",
    )
    first = "The server listens on port 42 by default."
    assert pages.said("which?", ("port 42 by", 0.9), ("port 42 open", 0.9)) == [first]
    other = pages.evidence("Firewalls must admit traffic towards 42.", 0.89)
    figure = Evidence.of(pages.passages[2], other.end - 3, other.end - 1, 0.89)
    repeat = Evidence.of(pages.passages[3], 0, len(first), 0.89)
    assert figure.text == "42"
    for piece, said in ((figure, [first]), (repeat, [first]), (other, [first, other.text])):
        assert [sentence.text for sentence in pages.quoted("which?", [pages.evidence("port 42 by"), piece])] == said


def test_each_part_of_a_question_has_its_best_words(shelf: Make) -> None:
    pages = shelf("# A\n\nTowers stand. The tower is 9 m high.", "# B\n\nThe tower weighs 5 t. Birds nest there.")
    said = pages.said("How high, and how heavy?", ("5 t", 0.9, 1), ("9 m", 0.3, 0), ("Birds", 0.08, 1))
    assert said == ["The tower is 9 m high.", "The tower weighs 5 t."]


def test_no_part_is_crowded_out_by_more_words_for_another(shelf: Make) -> None:
    animals = ["hen", "dog", "cat", "cow", "pig", "fox"]
    page = shelf("# A\n\n" + " ".join(f"The {animal} walks." for animal in animals) + " Owls fly.")
    marked = [(animal, 0.9, 0) for animal in animals]
    assert page.said("Who walks, and who flies?", *marked, ("Owls", 0.3, 1))[-1] == "Owls fly."


def test_the_same_words_for_two_parts_are_said_once(shelf: Make) -> None:
    pages = shelf("# A\n\nThe port is 42.", "# B\n\nThe  port is 42. Ships rest.")
    said = pages.quoted(
        "Which, and why?", [Evidence.of(found, 0, 15, 0.9, n) for n, found in enumerate(pages.passages)]
    )
    assert [sentence.text for sentence in said] == ["The port is 42."]


def test_files_come_in_the_order_of_the_parts_and_one_file_in_its_own(shelf: Make) -> None:
    pages = shelf("# A\n\nThe tower weighs 5 t.\n\n## Size\n\nThe tower is 9 m high.", "# B\n\nIron is grey.")
    question = "What colour is iron, how high is the tower, how heavy?"
    assert pages.said(question, ("grey", 0.5, 0), ("9 m", 0.9, 1), ("5 t", 0.8, 2)) == [
        "Iron is grey.",
        "The tower weighs 5 t.",
        "The tower is 9 m high.",
    ]


def test_an_answer_has_at_most_five_sentences_and_one_less_where_it_is_only_a_part(shelf: Make) -> None:
    animals = ["hen", "dog", "cat", "cow", "pig", "fox", "owl"]
    page = shelf("# A\n\n" + " ".join(f"The {animal} walks." for animal in animals))
    assert len(page.said("Who?", *animals)) == MAX_ANSWER_SENTENCES == 5
    assert len(page.said("Who?", *animals, partial=True)) == 4


def test_words_over_more_than_five_sentences_are_quoted_from_their_beginning(shelf: Make) -> None:
    page = shelf("# A\n\nHens. Dogs. Cats. Cows. Pigs. Owls. Emus.")
    assert page.said("Who?", page.chunks[0].text) == ["Hens.", "Dogs.", "Cats.", "Cows.", "Pigs."]


def test_what_was_selected_is_not_said_again_from_the_book(shelf: Make) -> None:
    page = shelf("# A\n\nThe port is 42. Ships rest there.")
    found = page.passages[0]
    page.passages.insert(0, Passage(replace(found.chunk, id=SELECTION_CHUNK_ID), 1.0))
    pieces = [Evidence.of(passage, 0, 15, 0.9) for passage in page.passages]
    said = page.quoted("port?", pieces)
    assert [sentence.text for sentence in said] == ["The port is 42.", "Ships rest there."]
    assert {sentence.evidence[0].chunk_id for sentence in said} == {SELECTION_CHUNK_ID}


@given(
    spans=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 900), st.integers(1, 300), st.floats(0, 1), st.integers(0, 2)),
        min_size=1,
        max_size=8,
    ),
    question=st.sampled_from(["What?", "Which parts are there?", "What are the steps to walk?", "Explain this"]),
    partial=st.booleans(),
)
def test_whatever_is_marked_the_answer_is_verbatim_short_and_says_nothing_twice(
    example: Shelf,
    spans: list[tuple[int, int, int, float, int]],
    question: str,
    partial: bool,
) -> None:
    evidence = []
    for number, start, length, probability, part in spans:
        passage = example.passages[number % len(example.passages)]
        start %= len(passage.chunk.text)
        end = min(start + length, len(passage.chunk.text))
        evidence.append(Evidence.of(passage, start, end, probability, part))
    evidence.sort(key=lambda piece: -piece.probability)
    said = example.quoted(question, evidence, partial)
    assert len(said) <= MAX_ANSWER_SENTENCES - partial
    texts = [sentence.text for sentence in said]
    assert len(set(texts)) == len(texts)
    chunks = {chunk.id: chunk for chunk in example.chunks}
    shown = []
    for sentence in said:
        (piece,) = sentence.evidence
        chunk = chunks[piece.chunk_id]
        assert sentence.text == piece.text == chunk.text[piece.start : piece.end] == sentence.text.strip("\n")
        assert piece.start in {unit.start for unit in chunk.units}
        assert piece.end in {unit.end for unit in chunk.units}
        assert piece.kind != "heading"
        shown.append((piece.chunk_id, piece.start, piece.end))
    shown.sort()
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(shown))
    if said:
        # What promises something is followed by it.
        assert not said[-1].text.endswith(":")
