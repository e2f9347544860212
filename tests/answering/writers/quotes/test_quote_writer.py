"""Answers that quote the book: which units are chosen, and how short answers are widened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answering.writers.conftest import Pages

from bookbound.answering.understanding import understand
from bookbound.answering.writers.quotes.quote_writer import quote_closest
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES

Make = Callable[..., Pages]
CODE = "\n\n```\nrest()\n```\n\n"
"""Short answers are not widened across code."""


def test_the_sentence_with_the_words_is_quoted_and_cited(make_pages: Make) -> None:
    page = make_pages(f"# Walking\n\nA robot walks.{CODE}The robot stops after 5 m.{CODE}Robots rest.")
    (sentence,) = page.answer("How far?", "5 m")
    assert sentence.text == "The robot stops after 5 m."
    (evidence,) = sentence.evidence
    assert (evidence.text, evidence.kind, evidence.probability) == (sentence.text, "sentence", 0.8)
    assert evidence.place.end - evidence.place.start == len(sentence.text)


def test_words_in_two_sentences_quote_both(make_pages: Make) -> None:
    page = make_pages(f"# Walking\n\nA robot walks. The robot stops.{CODE}Robots rest.")
    assert page.quote_texts("What next?", "walks. The robot") == ["A robot walks.", "The robot stops."]


def test_the_words_that_answer_come_first_and_then_those_after_and_those_before_them(make_pages: Make) -> None:
    page = make_pages(f"# Walking\n\nA robot walks.{CODE}Motors turn.{CODE}Batteries rest.{CODE}Lamps glow.")
    said = page.quote_texts("What?", ("Batteries", 0.9), ("walks", 0.8), ("glow", 0.7), ("Motors", 0.6))
    assert said == ["Batteries rest.", "Lamps glow.", "A robot walks.", "Motors turn."]


def test_what_the_words_refer_to_comes_before_them(make_pages: Make) -> None:
    page = make_pages("# A\n\nPigs dig. The server has a default. It is 42. Owls fly.")
    said = page.quote_texts("Which port?", "42")
    assert said == ["Pigs dig.", "The server has a default.", "It is 42.", "Owls fly."]


def test_short_words_that_refer_back_come_with_their_paragraph_and_long_ones_with_one_sentence(
    make_pages: Make,
) -> None:
    before = "Hens walk. Dogs run. Cats climb. Cows graze. The server has a default."
    short = make_pages(f"# A\n\nOwls fly.\n\n{before} It is 42.")
    assert short.quote_texts("Which port?", "42") == [*NINE[1:4], "The server has a default.", "It is 42."]
    long = make_pages(f"# A\n\n{before} It is {'very ' * 25}high, namely 42.")
    assert long.quote_texts("Which port?", "42")[0] == "The server has a default."


def test_words_of_the_same_passage_need_a_tenth_of_the_best_probability(make_pages: Make) -> None:
    page = make_pages(f"# Walking\n\nA robot walks.{CODE}The robot stops.{CODE}Batteries rest.")
    assert page.quote_texts("What?", ("Batteries", 0.9), ("walks", 0.1)) == ["Batteries rest.", "A robot walks."]
    assert page.quote_texts("What?", ("Batteries", 0.9), ("walks", 0.08)) == ["Batteries rest."]


def test_a_second_passage_needs_three_tenths_of_the_best_probability_and_new_terms(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe port is 42.", "# B\n\nServers listen somewhere else entirely.")
    both = ["The port is 42.", "Servers listen somewhere else entirely."]
    assert pages.quote_texts("port?", ("42", 0.6), ("somewhere", 0.19)) == both
    assert pages.quote_texts("port?", ("42", 0.6), ("somewhere", 0.17)) == both[:1]
    assert pages.quote_texts("Is the port somewhere?", ("42", 0.6), ("somewhere", 0.5)) == both[:1]


def test_words_that_are_sure_need_no_second_passage(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe port is 42.", "# B\n\nServers listen somewhere else entirely.")
    assert len(pages.quote_texts("port?", ("42", 0.65), ("somewhere", 0.6))) == 2
    assert pages.quote_texts("port?", ("42", 0.75), ("somewhere", 0.7)) == ["The port is 42."]


def test_a_table_needs_no_second_passage(make_pages: Make) -> None:
    pages = make_pages("# A\n\n| State | Event |\n|---|---|\n| idle | start |", "# B\n\nAn equation tells the state.")
    (table,) = pages.quote_texts("Which states?", ("idle", 0.4), ("equation", 0.4))
    assert "idle" in table


def test_a_table_that_is_nearly_as_probable_answers_one_of_several_parts(make_pages: Make) -> None:
    table = "| Quantity | Robot |\n|---|---|\n| Height | 1.6 m |\n| Mass | 60 kg |"
    pages = make_pages(f"# A\n\n{table}", "# B\n\nIts centre is at 0.9 m.", "# C\n\nThe battery has 48 V.")
    found = (("0.9 m", 0.8), ("1.6 m", 0.75), ("48 V", 0.9, 1))
    said = pages.quote_texts("How tall is it and what battery does it have?", *found)
    assert ("1.6 m" in said[0], said[1:]) == (True, ["The battery has 48 V."])


def test_words_that_answer_two_parts_need_no_second_passage(make_pages: Make) -> None:
    pages = make_pages(
        "# A\n\nNode 24 is needed, which node -v tells.", "# B\n\nRun the updater to check other things."
    )
    said = pages.quote_texts("Which node, and how to check?", ("24", 0.8), ("node -v", 0.5, 1), ("updater", 0.4, 1))
    assert said == ["Node 24 is needed, which node -v tells."]


def test_code_for_which_a_sentence_is_quoted_is_left_out(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe minimum is TypeScript 5.", "# B\n\nSome file:\n\n```\ntypescript ~4.7\n```\n")
    assert pages.quote_texts("minimum version", ("~4.7", 0.5), ("TypeScript 5", 0.47)) == [
        "The minimum is TypeScript 5."
    ]


def test_three_tenths_of_the_terms_of_a_second_passage_must_be_new(make_pages: Make) -> None:
    known = "Motors gears springs belts bearings shafts brakes"
    pages = make_pages(
        f"# A\n\n{known} matter.", f"# B\n\n{known} sing.", f"# C\n\n{known} sing loudly daily everywhere."
    )
    assert pages.quote_texts("port?", ("matter", 0.6), ("sing.", 0.5)) == [f"{known} matter."]
    new = f"{known} sing loudly daily everywhere."
    assert pages.quote_texts("port?", ("matter", 0.6), ("sing loudly", 0.5)) == [f"{known} matter.", new]


def test_a_paraphrase_or_the_same_number_is_not_added(make_pages: Make) -> None:
    pages = make_pages(
        "# A\n\nThe server listens on port 42 by default.",
        "# B\n\nBy default a listening server has port 42 open.",
        "# C\n\nFirewalls must admit traffic towards 42.",
        "# D\n\nThe server listens on port 42 by default.",
    )
    first = "The server listens on port 42 by default."
    assert pages.quote_texts("which?", ("port 42 by", 0.6), ("port 42 open", 0.6)) == [first]
    other = pages.evidence("Firewalls must admit traffic towards 42.", 0.59)
    figure = Evidence.from_chunk(pages.passages[2].chunk, other.end - 3, other.end - 1, 0.59)
    repeat = Evidence.from_chunk(pages.passages[3].chunk, 0, len(first), 0.59)
    assert figure.text == "42"
    for piece, said in ((figure, [first]), (repeat, [first]), (other, [first, other.text])):
        assert [
            sentence.text for sentence in pages.quote_evidence("which?", [pages.evidence("port 42 by", 0.6), piece])
        ] == said


def test_each_part_of_a_question_gets_its_best_words(make_pages: Make) -> None:
    pages = make_pages("# A\n\nTowers stand. The tower is 9 m high.", "# B\n\nThe tower weighs 5 t. Birds nest there.")
    evidence = [pages.evidence("5 t", 0.9, 1), pages.evidence("9 m", 0.3, 0), pages.evidence("Birds", 0.08, 1)]
    first, *_, third, _ = (sentence.text for sentence in pages.quote_evidence("How high, and how heavy?", evidence))
    assert (first, third) == ("The tower is 9 m high.", "The tower weighs 5 t.")


def test_of_words_as_probable_those_next_to_the_answer_to_another_part_are_taken(make_pages: Make) -> None:
    pages = make_pages(f"# A\n\nBirds are 9 m up.{CODE}Ships rest.", f"# B\n\nIt is 8 m high.{CODE}It weighs 5 t.")
    found = [pages.evidence("5 t", 0.9, 1), pages.evidence("9 m", 0.42, 0), pages.evidence("8 m", 0.4, 0)]
    assert pages.quote_evidence("How high, and how heavy?", found)[0].text == "It is 8 m high."
    found[-1] = replace(found[-1], probability=0.3)
    assert pages.quote_evidence("How high, and how heavy?", found)[0].text == "Birds are 9 m up."


def test_no_part_is_displaced_by_another(make_pages: Make) -> None:
    animals = ["hen", "dog", "cat", "cow", "pig", "fox"]
    page = make_pages("# A\n\n" + " ".join(f"The {animal} walks." for animal in animals) + " Owls fly.")
    marked = [(animal, 0.9, 0) for animal in animals]
    assert page.quote_texts("Who walks, and who flies?", *marked, ("Owls", 0.3, 1))[-1] == "Owls fly."


def test_the_same_words_for_two_parts_are_quoted_once(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe port is 42.", "# B\n\nThe  port is 42. Ships rest.")
    said = pages.quote_evidence(
        "Which, and why?", [Evidence.from_chunk(found.chunk, 0, 15, 0.9, n) for n, found in enumerate(pages.passages)]
    )
    assert [sentence.text for sentence in said] == ["The port is 42."]


def test_passages_come_in_the_order_of_the_parts_that_they_answer(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe tower weighs 5 t.\n\n## Size\n\nThe tower is 9 m high.", "# B\n\nIron is grey.")
    question = "What colour is iron, how high is the tower, how heavy?"
    assert pages.quote_texts(question, ("grey", 0.5, 0), ("9 m", 0.9, 1), ("5 t", 0.8, 2)) == [
        "Iron is grey.",
        "The tower is 9 m high.",
        "The tower weighs 5 t.",
    ]


def test_an_answer_has_at_most_five_sentences_or_four_if_partial(make_pages: Make) -> None:
    animals = ["hen", "dog", "cat", "cow", "pig", "fox", "owl"]
    page = make_pages("# A\n\n" + " ".join(f"The {animal} walks." for animal in animals))
    assert len(page.quote_texts("Who?", *animals)) == MAX_ANSWER_SENTENCES == 5
    assert len(page.quote_texts("Who?", *animals, partial=True)) == 4


def test_a_long_stretch_is_quoted_from_its_beginning(make_pages: Make) -> None:
    page = make_pages("# A\n\nHens. Dogs. Cats. Cows. Pigs. Owls. Emus.")
    assert page.quote_texts("Who?", page.chunks[0].text) == ["Hens.", "Dogs.", "Cats.", "Cows.", "Pigs."]


def test_selected_words_are_neither_repeated_from_the_book_nor_widened(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe port is 42. Ships rest there.")
    found = page.passages[0]
    page.passages.insert(0, Passage(replace(found.chunk, id=SELECTION_CHUNK_ID), 1.0))
    pieces = [Evidence.from_chunk(passage.chunk, 0, 15, 0.9) for passage in page.passages]
    said = page.quote_evidence("port?", pieces)
    assert [sentence.text for sentence in said] == ["The port is 42."]
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
def test_every_answer_is_verbatim_short_and_without_repetition(
    example: Pages,
    spans: list[tuple[int, int, int, float, int]],
    question: str,
    partial: bool,
) -> None:
    evidence = []
    for number, start, length, probability, part in spans:
        passage = example.passages[number % len(example.passages)]
        start %= len(passage.chunk.text)
        end = min(start + length, len(passage.chunk.text))
        evidence.append(Evidence.from_chunk(passage.chunk, start, end, probability, part))
    evidence.sort(key=lambda piece: -piece.probability)
    said = example.quote_evidence(question, evidence, partial)
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


NINE = [
    "Hens walk.",
    "Dogs run.",
    "Cats climb.",
    "Cows graze.",
    "Pigs dig.",
    "Owls fly.",
    "Rams rest.",
    "Bees hum.",
    "Eels swim.",
]


@pytest.mark.parametrize("question", ["What runs?", "How many are there?", "Why?", "Which animals run?", "cats"])
@pytest.mark.parametrize(
    ("words", "quoted"),
    [
        ("Hens", (0, 1, 2, 3, 4)),
        ("dig", (4, 5, 6, 7, 8)),
        ("fly", (5, 6, 7, 8)),
        ("swim", (8,)),
        ("rest. Bees hum", (6, 7, 8)),
    ],
)
@pytest.mark.parametrize("separator", [" ", "\n\n"], ids=["a paragraph", "several paragraphs"])
def test_a_short_answer_is_widened_to_five_units_with_those_after_it(
    make_pages: Make, question: str, words: str, quoted: tuple[int, ...], separator: str
) -> None:
    page = make_pages("# A\n\n" + separator.join(NINE))
    if separator == "\n\n":
        words = words.replace(". ", ".\n\n")
    assert page.quote_texts(question, words) == [NINE[at] for at in quoted]


def test_a_sentence_before_the_answer_that_names_what_the_answer_lacks_is_shown_before_it(make_pages: Make) -> None:
    page = make_pages("# A\n\nPigs dig. The farm keeps hens. Everybody gets 9 grains.")
    assert page.quote_texts("How many grains for hens?", "9 grains") == [
        "The farm keeps hens.",
        "Everybody gets 9 grains.",
    ]
    assert page.quote_texts("How many grains?", "9 grains") == ["Everybody gets 9 grains."]


def test_a_comparison_shows_the_sentence_before_with_its_other_side(make_pages: Make) -> None:
    page = make_pages("# A\n\nHens store grain. Owls store mice. Farmers keep hens.")
    assert page.quote_texts("What does each store, hens or owls?", "mice")[:2] == [
        "Hens store grain.",
        "Owls store mice.",
    ]
    assert page.quote_texts("What do owls store with hens?", "mice")[0] == "Owls store mice."


def test_an_answer_to_yes_or_no_begins_with_the_sentence_that_decides(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe farm keeps hens. Nobody may feed the animals.")
    assert page.quote_texts("May I feed hens?", "Nobody")[0] == "Nobody may feed the animals."


LONG = "The keeper opens the door of the barn at seven and closes it again at nine, because foxes come in the dark."


def test_a_long_answer_is_not_widened_by_a_paragraph_about_something_else(make_pages: Make) -> None:
    page = make_pages(f"# A\n\n{LONG} Nobody else does.\n\nPigs dig holes.\n\nThe door is red.")
    assert page.quote_texts("When does the barn open?", "seven") == [LONG, "Nobody else does."]
    related = make_pages(f"# A\n\n{LONG} Nobody else does.\n\nThe barn opens later on Sunday.")
    assert related.quote_texts("When does the barn open?", "seven")[2:] == ["The barn opens later on Sunday."]


def test_a_short_answer_is_not_widened_by_a_paragraph_that_leads_to_a_list(make_pages: Make) -> None:
    page = make_pages("# A\n\nDogs run.\n\nCats climb. They eat:\n\n- mice\n- fish\n")
    assert page.quote_texts("Who?", "run") == ["Dogs run."]


def test_a_how_to_answer_goes_on_to_the_few_lines_of_code_that_its_paragraph_announces(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe port is 3000. Name another one:\n\n```\nserve -p 8000\n```\n\nOwls fly.")
    shown = ["The port is 3000.", "Name another one:", "serve -p 8000"]
    assert page.quote_texts("How do I change the port?", "3000") == shown
    assert page.quote_texts("Which port is it?", "3000") == shown[:1]
    assert page.quote_texts("How many ports are there?", "3000") == shown[:1]
    long = make_pages("# A\n\nThe port is 3000. Name another one:\n\n```\n" + "serve\n" * 9 + "```\n")
    assert long.quote_texts("How do I change the port?", "3000") == shown[:1]


def test_of_words_nearly_as_probable_a_sentence_comes_before_code(make_pages: Make) -> None:
    pages = make_pages("# A\n\n```\nversion = 4.7\n```", "# B\n\nAt least version 5.1 is required.")
    assert pages.quote_texts("Which version?", ("4.7", 0.5), ("5.1", 0.47))[0] == "At least version 5.1 is required."
    assert pages.quote_texts("Which version?", ("4.7", 0.5), ("5.1", 0.3))[0] == "version = 4.7"


def test_a_partial_answer_is_widened_to_four_units(make_pages: Make) -> None:
    page = make_pages("# A\n\n" + " ".join(NINE))
    assert page.quote_texts("Who?", "climb", partial=True) == NINE[2:6]


def test_added_units_have_the_probability_of_the_words(make_pages: Make) -> None:
    page = make_pages("# A\n\n" + " ".join(NINE))
    for sentence in page.answer("Who?", ("climb", 0.7)):
        (evidence,) = sentence.evidence
        assert (evidence.text, evidence.probability) == (sentence.text, 0.7)


def test_an_answer_of_five_units_or_more_is_not_widened(make_pages: Make) -> None:
    page = make_pages("# A\n\n" + " ".join(NINE))
    assert page.quote_texts("Who?", " ".join(NINE[1:6])) == NINE[1:6]
    assert page.quote_texts("Who?", "Hens", "Dogs", "Cows", "Owls", "Eels") == [NINE[i] for i in (0, 1, 3, 5, 8)]


def test_an_answer_from_two_places_is_not_widened(make_pages: Make) -> None:
    pages = make_pages("# A\n\n" + " ".join(NINE), "# B\n\nEmus wander. Goats jump.")
    assert pages.quote_texts("Who?", ("Dogs", 0.6), ("Emus", 0.5)) == ["Dogs run.", "Emus wander."]
    assert pages.quote_texts("Who?", ("Dogs", 0.6), ("graze", 0.5)) == ["Dogs run.", "Cows graze."]


@pytest.mark.parametrize(
    "wall",
    ["## Legs", "```\nwalk()\n```", "| A | B |\n|---|---|\n| 1 | 2 |", "$$\nF = m a\n$$", ":::tip\nWings help.\n:::"],
    ids=["heading", "code", "table", "formula", "label"],
)
def test_widening_ends_at_what_is_not_prose(make_pages: Make, wall: str) -> None:
    page = make_pages(f"# A\n\nDogs run. Cats climb.\n\n{wall}\n\nPigs dig. Owls fly.")
    assert page.quote_texts("Why?", "run") == ["Dogs run.", "Cats climb."]
    assert page.quote_texts("Why?", "climb") == ["Cats climb."]


def test_widening_before_the_words_ends_at_what_is_not_prose(make_pages: Make) -> None:
    page = make_pages(f"# A\n\nDogs run. Cats climb.{CODE}Pigs dig. Owls fly.")
    assert page.quote_texts("Why?", "dig") == ["Pigs dig.", "Owls fly."]


def test_widening_does_not_add_an_introduction(make_pages: Make) -> None:
    page = make_pages("# A\n\nDogs run. Cats climb. They eat:\n\n- corn\n")
    assert page.quote_texts("Who?", "run") == ["Dogs run.", "Cats climb."]


def test_code_and_rows_are_widened_by_the_prose_next_to_them(make_pages: Make) -> None:
    code, rows = "```\nwalk()\n```", "| A | B |\n|---|---|\n| 1 | 2 |"
    page = make_pages(f"# A\n\nPigs dig. Start the motor:\n\n{code}\n\nOwls fly.\n\nRates are:\n\n{rows}\n")
    assert page.quote_texts("How?", "walk()") == ["Start the motor:", "walk()", "Owls fly."]
    assert page.quote_texts("What?", "1 | 2") == ["Rates are:", "A | B\n1 | 2"]


def test_an_item_of_a_long_list_is_not_widened_by_other_items(make_pages: Make) -> None:
    foods = ["corn", "worms", "grass", "bread", "rice", "nuts", "peas", "beans", "seeds", "snails", "slugs"]
    page = make_pages("# A\n\nHens eat:\n\n" + "".join(f"- {food}\n" for food in foods))
    assert page.quote_texts("What of worms?", "worms") == ["Hens eat:", "- worms"]


def test_a_short_answer_is_not_widened_to_more_words_than_a_paragraph_has(make_pages: Make) -> None:
    cats, pigs = (f"{who}{' slowly' * 60}." for who in ("Cats climb", "Pigs dig"))
    page = make_pages(f"# A\n\nDogs run. {cats} {pigs} Owls fly.")
    assert page.quote_texts("Who?", "run") == ["Dogs run.", cats]
    code = "walk = 1\n" * 60
    page = make_pages(f"# A\n\nDogs run:\n\n```\n{code}```\n\n{cats}")
    assert page.quote_texts("Who?", "run") == ["Dogs run:", code.strip(), cats]


CAPTIONS = ["Figure 3: A pig in its field.", "Figure 3. A pig in its field.", "Figure 3: A field. See the pig in it."]


@pytest.mark.parametrize("caption", CAPTIONS)
def test_a_short_answer_is_not_widened_by_a_caption(make_pages: Make, caption: str) -> None:
    page = make_pages(f"# A\n\nPigs dig. Owls fly.\n\n{caption}\n\nCats climb.")
    assert page.quote_texts("Who?", "dig") == ["Pigs dig.", "Owls fly."]
    assert page.quote_texts("Who?", "climb") == ["Cats climb."]


@pytest.mark.parametrize("caption", CAPTIONS)
def test_a_caption_is_not_quoted(make_pages: Make, caption: str) -> None:
    page = make_pages(f"# A\n\n{caption}{CODE}Pigs dig for roots.")
    assert page.quote_texts("Who?", ("pig in", 0.9), ("dig for", 0.5)) == ["Pigs dig for roots."]


@pytest.mark.parametrize(
    "heading", ["Exercises", "Exercise 3: Pigs", "Problems", "Problem set 2", "Quiz", "Self-check", "Review questions"]
)
def test_words_of_an_exercise_are_not_quoted_nor_closest(make_pages: Make, heading: str) -> None:
    page = make_pages(f"# A\n\nPigs dig.\n\n## {heading}\n\nShow that pigs dig for 42 roots.")
    assert page.quote_texts("Why?", ("42", 0.9), ("Pigs dig", 0.5)) == ["Pigs dig."]
    assert page.quote_texts("Why?", ("42", 0.9)) == []
    assert find_closest(page, page.evidence("42", 0.5)) == []


def test_words_of_a_page_of_exercises_are_not_quoted(make_pages: Make) -> None:
    page = make_pages("# Exercises\n\nShow that pigs dig for 42 roots.")
    assert page.quote_texts("Why?", ("42", 0.9)) == []


def test_words_of_a_part_of_an_exercise_are_not_quoted(make_pages: Make) -> None:
    page = make_pages("# A\n\nPigs dig.\n\n## Exercises\n\n### Roots\n\nShow that pigs dig for 42 roots.")
    assert page.quote_texts("Why?", ("42", 0.9)) == []


@pytest.mark.parametrize(
    "heading",
    [
        "Exercising a pig",
        "Problematic pigs",
        "The problem of pigs",
        "Practices",
        "Problem Formulation",
        "Problems with pigs",
        "Assignment operators",
        "Practice makes perfect",
        "Exercise and the heart",
    ],
)
def test_a_section_about_something_that_sounds_like_an_exercise_is_quoted(make_pages: Make, heading: str) -> None:
    page = make_pages(f"# A\n\nPigs dig.\n\n## {heading}\n\nA pig needs 42 roots.")
    assert page.quote_texts("How many?", ("42", 0.9)) == ["A pig needs 42 roots."]


def test_the_answer_to_each_of_several_parts_is_widened_to_two_units(make_pages: Make) -> None:
    page = make_pages("# A\n\n" + " ".join(NINE))
    said = page.quote_texts("Who runs, and who digs?", ("Dogs", 0.9, 0), ("Pigs", 0.8, 1))
    assert said == [NINE[1], NINE[2], NINE[4], NINE[5]]


def test_a_part_that_has_two_units_is_not_widened(make_pages: Make) -> None:
    page = make_pages("# A\n\n" + " ".join(NINE))
    said = page.quote_texts("Who runs, and who digs?", ("Dogs", 0.9, 0), ("Cows graze. Pigs dig.", 0.8, 1))
    assert said == [NINE[1], NINE[2], NINE[3], NINE[4]]


def test_widening_one_part_does_not_take_the_words_of_another(make_pages: Make) -> None:
    page = make_pages("# A\n\n" + " ".join(NINE[:3]))
    said = page.quote_texts("Who runs, and who climbs?", ("Dogs", 0.9, 0), ("climb", 0.8, 1))
    assert said == [NINE[1], NINE[2]]


def test_a_part_that_the_judge_is_unsure_of_is_not_quoted(make_pages: Make) -> None:
    page = make_pages(f"# Walking\n\nA robot walks.{CODE}The robot stops.{CODE}Batteries rest.")
    evidence = [page.evidence("walks", 0.9), page.evidence("Batteries", 0.8, 1)]
    assert [each.text for each in page.quote_evidence("What?", evidence)] == ["A robot walks.", "Batteries rest."]
    assert [each.text for each in page.quote_evidence("What?", evidence, unsure_parts=(1,))] == ["A robot walks."]


def find_closest(page: Pages, *evidence: Evidence) -> list[str]:
    judgement = Judgement(0.5, (), evidence, "Partial", RefusalReason.INSUFFICIENT_GROUNDING, is_unsure=True)
    return [quote.text for quote in quote_closest(understand(Question("Which?")), page.passages, judgement)]


def test_the_closest_quotes_are_whole_units_and_the_best_passage_comes_first(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe port is 42.\n\nIt never moves.", "# B\n\nServers listen somewhere else entirely.")
    evidence = pages.evidence("somewhere", 0.6), pages.evidence("42", 0.5)
    assert find_closest(pages, *evidence) == ["Servers listen somewhere else entirely.", "The port is 42."]


def test_the_closest_quotes_are_at_most_two_for_each_of_three_passages(make_pages: Make) -> None:
    words = [["motor", "gear", "spring"], ["belt", "shaft", "brake"], ["wheel", "leg", "arm"], ["hand"]]
    pages = make_pages(
        *(
            "# Page\n\n" + "\n\n".join(f"Every {word} of page {i} turns." for word in page)
            for i, page in enumerate(words)
        )
    )
    evidence = [pages.evidence(f"{word} of page {i}", 0.6 - i / 50) for i, page in enumerate(words) for word in page]
    closest = find_closest(pages, *evidence)
    assert closest == [f"Every {word} of page {i} turns." for i, page in enumerate(words[:3]) for word in page[:2]]


def test_the_closest_quotes_do_not_repeat_themselves(make_pages: Make) -> None:
    pages = make_pages("# A\n\nThe port is 42.", "# B\n\nThe port is 42.", "# C\n\nThe door is 7.")
    first, second = (
        Evidence.from_chunk(passage.chunk, 0, 8, 0.6) for passage in pages.passages if "port" in passage.chunk.text
    )
    assert find_closest(pages, first, second, pages.evidence("7", 0.5)) == ["The port is 42.", "The door is 7."]


def test_a_further_closest_passage_is_short_and_nearly_as_probable(make_pages: Make) -> None:
    pages = make_pages(
        "# A\n\nThe port is 42.", "# B\n\nServers listen here.", "# C\n\n" + "Doors stay open " * 21 + "."
    )
    port, here, doors = pages.evidence("42", 0.6), pages.evidence("listen", 0.45), pages.evidence("Doors", 0.5)
    assert find_closest(pages, port, doors, here) == ["The port is 42.", "Servers listen here."]
    assert find_closest(pages, port, replace(here, probability=0.4)) == ["The port is 42."]
    assert len(find_closest(pages, doors)) == 1


def test_long_code_is_only_closest_if_nothing_else_is(make_pages: Make) -> None:
    code = "\n".join(f"step({i})" for i in range(14))
    pages = make_pages(f"# A\n\n```\n{code}\n```", "# B\n\nThe port is 42.")
    steps, port = pages.evidence("step(3)", 0.6), pages.evidence("42", 0.5)
    assert find_closest(pages, steps, port) == ["The port is 42."]
    assert find_closest(pages, steps) == [code]


def test_without_evidence_nothing_is_closest(make_pages: Make) -> None:
    assert find_closest(make_pages("# A\n\nThe port is 42.")) == []
