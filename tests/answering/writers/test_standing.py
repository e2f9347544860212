"""What a quote takes along so that it can be understood by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.answering.writers.conftest import Shelf

from bookbound.answering.writers.quotes import Excerpt
from bookbound.domain.reply import MAX_ANSWER_SENTENCES
from bookbound.text.tokens import extract_terms

Make = Callable[..., Shelf]


def stands(page: Shelf, words: str, asked_for: str = "") -> list[str]:
    """What is quoted for some words before it is widened; `asked_for` is what a list is asked of."""
    excerpt = Excerpt("", page.passages, MAX_ANSWER_SENTENCES, set(extract_terms(asked_for)))
    excerpt.add(page.evidence(words))
    return [evidence.text for evidence in excerpt.in_order()]


@pytest.mark.parametrize(
    "opening",
    [
        "It is 42.",
        "This is 42.",
        "They are 42.",
        "These are 42.",
        "Such a port is 42.",
        "However, this is 42.",
        "In that case, 42 is taken.",
        "If it is taken, 42 is next.",
        "This port is 42.",
        "Otherwise 42 is taken.",
        "To change it, write 42.",
        "The value 42 solves this.",
        "Both are 42.",
    ],
)
def test_a_sentence_that_points_back_takes_the_one_before(shelf: Make, opening: str) -> None:
    page = shelf(f"# Ports\n\nPorts are numbers. The server has a default. {opening} More follows.")
    assert stands(page, "42") == ["The server has a default.", opening]


@pytest.mark.parametrize(
    "opening",
    [
        "The port is 42.",
        "It is possible to take 42.",
        "It is recommended to take 42.",
        "It takes 42 seconds.",
        "This chapter has 42 pages.",
        "Those who ask get 42.",
        "However, the port is 42.",
        "Instead of a name take 42.",
        "The server keeps its 42 ports.",
    ],
)
def test_a_sentence_that_stands_alone_needs_no_other(shelf: Make, opening: str) -> None:
    assert stands(shelf(f"# Ports\n\nPorts are numbers. {opening}"), "42") == [opening]


def test_at_most_two_sentences_are_added_before_one_that_points_back(shelf: Make) -> None:
    page = shelf("# A\n\nA hen lays. It sits. It waits. It gets 42 chicks.")
    assert stands(page, "42") == ["It sits.", "It waits.", "It gets 42 chicks."]


def test_pointing_back_ends_at_the_paragraph(shelf: Make) -> None:
    assert shelf("# A\n\nA hen lays eggs.\n\nIt gets 42 chicks.").said("how many?", "42") == ["It gets 42 chicks."]


def test_what_is_said_of_code_takes_the_code_and_what_introduces_it(shelf: Make) -> None:
    page = shelf("# A\n\nRun the loop:\n\n```\nloop()\n```\n\nThis prints 42.")
    assert page.said("what does it print?", "42") == ["Run the loop:", "loop()", "This prints 42."]


def test_a_sentence_that_goes_on_after_a_formula_takes_the_formula(shelf: Make) -> None:
    page = shelf("# A\n\nThe force is\n\n$$\nF = m a\n$$\n\nwhere a is the acceleration.")
    assert page.said("what is a?", "acceleration") == ["The force is", "F = m a", "where a is the acceleration."]


def test_a_sentence_that_a_formula_ends_takes_the_formula(shelf: Make) -> None:
    page = shelf("# A\n\nThe weight of the arm is then\n\n$$\nF = m g\n$$\n\nArms are heavy.")
    assert page.said("weight?", "weight") == ["The weight of the arm is then", "F = m g"]


def test_code_takes_the_sentence_that_introduces_it(shelf: Make) -> None:
    page = shelf("# A\n\nIt is easy. Start the server:\n\n```\nserve --port 42\n```\n")
    assert page.said("how?", "serve --port") == ["Start the server:", "serve --port 42"]


def test_code_leaves_a_sentence_that_does_not_speak_of_it(shelf: Make) -> None:
    page = shelf("# A\n\nServers take a while to warm up.\n\n```\nserve --port 42\n```\n")
    assert page.said("how?", "serve --port") == ["serve --port 42"]


def test_a_sentence_before_a_colon_takes_what_it_leads_to(shelf: Make) -> None:
    code = shelf("# A\n\nStart the server on port 42:\n\n```\nserve\n```\n")
    assert code.said("how?", "42") == ["Start the server on port 42:", "serve"]


def test_a_lead_in_takes_its_whole_list_as_one_piece(shelf: Make) -> None:
    page = shelf("# A\n\nThere are three ways to walk:\n\n- slowly\n- fast\n- not at all\n\nThe end.")
    assert page.said("how?", "three ways") == ["There are three ways to walk:", "- slowly\n- fast\n- not at all"]


def test_a_lead_in_without_what_it_promises_is_not_quoted(shelf: Make) -> None:
    assert shelf("# A\n\nThese are the ways to walk:").said("how?", "ways") == []


def test_an_item_takes_its_lead_in(shelf: Make) -> None:
    page = shelf("# A\n\nA hen eats little. She eats:\n\n- corn\n- 42 worms\n- grass\n")
    assert stands(page, "42") == ["A hen eats little.", "She eats:", "- 42 worms"]


@pytest.mark.parametrize(
    "question",
    [
        "What are the foods of a hen?",
        "Which foods does a hen have?",
        "list the foods",
        "kinds of foods",
        "How many foods are there?",
    ],
)
def test_the_whole_list_comes_where_it_was_asked_for(shelf: Make, question: str) -> None:
    items = "\n".join(f"- food number {n}" for n in range(8))
    page = shelf(f"# A\n\nThe foods are these:\n\n{items}\n\nThe end.")
    (lead, whole) = page.answer(question, "food number 3")
    assert (lead.text, whole.text, whole.kind) == ("The foods are these:", items, "item")


def test_a_list_of_something_else_is_not_quoted_whole(shelf: Make) -> None:
    page = shelf("# A\n\nThree points matter:\n\n- water\n- the mean and the spread are kept\n- sun\n")
    said = stands(page, "the mean and the spread", asked_for="statistics")
    assert said == ["Three points matter:", "- the mean and the spread are kept"]


def test_words_over_several_items_take_the_whole_list(shelf: Make) -> None:
    page = shelf("# A\n\nA hen eats:\n\n- corn\n- worms\n- grass\n")
    assert page.said("food?", "worms\n- grass") == ["A hen eats:", "- corn\n- worms\n- grass"]


def test_a_later_sentence_of_a_long_item_takes_the_item_from_its_head(shelf: Make) -> None:
    filler = "Words that make the item long enough to be quoted by its sentences. " * 5
    page = shelf(f"# A\n\nTwo kinds:\n\n- Fixed joints. They hold 42 kg. {filler}\n- Loose joints.\n")
    assert stands(page, "42") == ["Two kinds:", "- Fixed joints. They hold 42 kg."]


def test_code_in_an_item_takes_the_item(shelf: Make) -> None:
    page = shelf("# A\n\nDo this:\n\n1. Look.\n2. Start it:\n\n   ```\n   serve\n   ```\n\n3. Rest.\n")
    assert page.said("how to start?", "serve") == ["Do this:", "2. Start it:\nserve"]


TABLE = "| Loop | Rate |\n|---|---|\n| Motor | 10 kHz |\n| Joint | 1 kHz |\n| Task | 2 Hz |\n"


def test_a_row_takes_the_names_of_its_columns(shelf: Make) -> None:
    assert shelf(f"# A\n\nLoops differ.\n\n{TABLE}").said("rate?", "2 Hz") == ["Loop | Rate", "Task | 2 Hz"]
    assert shelf(f"# A\n\nThe loops are:\n\n{TABLE}").said("rate?", "10 kHz") == [
        "The loops are:",
        "Loop | Rate\nMotor | 10 kHz",
    ]


def test_a_row_whose_table_was_cut_above_takes_no_other_row_for_its_columns(shelf: Make) -> None:
    page = shelf("# A\n\n| Motor | 10 kHz |\n|---|---|\n| Joint | 1 kHz |\n| Task | 2 Hz |\n")
    assert page.said("rate?", "2 Hz") == ["Task | 2 Hz"]


def test_a_table_comes_whole_where_its_rows_were_asked_for(shelf: Make) -> None:
    (whole,) = shelf(f"# A\n\nLoops differ.\n\n{TABLE}").answer("Which loops are there?", "Joint")
    assert (whole.text.splitlines()[0], len(whole.text.splitlines()), whole.kind) == ("Loop | Rate", 4, "row")


def test_the_label_of_a_note_is_not_quoted(shelf: Make) -> None:
    page = shelf("# A\n\nBefore.\n\n:::warning\nNever lift it by the head.\n:::\n")
    assert page.said("how to lift?", "Never lift") == ["Never lift it by the head."]
    assert page.said("how to lift?", "warning") == ["Never lift it by the head."]


def test_a_title_in_the_text_comes_with_what_it_heads(shelf: Make) -> None:
    page = shelf("# A\n\n:::tip[Choosing legs over wheels]\nChoose legs on stairs. Rest.\n:::\n")
    assert stands(page, "legs over wheels") == ["Choosing legs over wheels\n\nChoose legs on stairs."]


def test_a_heading_is_never_quoted(shelf: Make) -> None:
    assert shelf("# A\n\nText.\n\n## Empty end\n").said("end?", "Empty end") == []
