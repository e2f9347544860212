"""The units that a quote needs to be understood alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.answering.writers.conftest import Pages

from bookbound.answering.writers.quotes.excerpt import Excerpt
from bookbound.domain.question import Wants
from bookbound.domain.reply import MAX_ANSWER_SENTENCES
from bookbound.text import extract_terms

Make = Callable[..., Pages]


def quote(page: Pages, words: str, asked_for: str = "") -> list[str]:
    """Returns the quotes for some words before widening; `asked_for` has the terms of a list question."""
    wants = Wants(list_terms=frozenset(extract_terms(asked_for)))
    excerpt = Excerpt(frozenset(), wants, page.passages, MAX_ANSWER_SENTENCES)
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
        "However, the port is 42.",
        "Now add 42.",
        "Contrary to a name, the port is 42.",
        "The port is 42 at this point.",
        "Set this property to 42.",
        "A client uses the same value, 42.",
        "A name allows that value to be 42.",
        "The server then takes 42.",
    ],
)
def test_a_sentence_with_a_reference_needs_the_one_before(make_pages: Make, opening: str) -> None:
    page = make_pages(f"# Ports\n\nPorts are numbers. The server has a default. {opening} More follows.")
    assert quote(page, "42") == ["The server has a default.", opening]


def test_an_introduction_that_says_nothing_is_left_out(make_pages: Make) -> None:
    items = "\n".join(f"- Code {number} is one of the many codes that a server sends." for number in range(20))
    assert quote(make_pages(f"# Codes\n\nIn short:\n\n{items}"), "Code 3 ") == [
        "- Code 3 is one of the many codes that a server sends."
    ]


def test_the_sentence_before_may_continue_an_earlier_one(make_pages: Make) -> None:
    page = make_pages("# Ports\n\nPorts are numbers. The server has a default. Now add a port. It is 42. More follows.")
    assert quote(page, "42") == ["The server has a default.", "Now add a port.", "It is 42."]


@pytest.mark.parametrize(
    "opening",
    [
        "The port is 42.",
        "It is possible to take 42.",
        "It is recommended to take 42.",
        "It takes 42 seconds.",
        "This chapter has 42 pages.",
        "Those who ask get 42.",
        "So far, the port is 42.",
        "Instead of a name take 42.",
        "The server keeps its 42 ports.",
        "None is the name of port 42.",
        "The port has the same number as 42.",
        "A port is free after closing of that port 42.",
        "If nothing answers, then 42 is next.",
    ],
)
def test_an_independent_sentence_needs_no_other(make_pages: Make, opening: str) -> None:
    assert quote(make_pages(f"# Ports\n\nPorts are numbers. {opening}"), "42") == [opening]


def test_at_most_two_sentences_are_added_before_a_reference(make_pages: Make) -> None:
    page = make_pages("# A\n\nA hen lays. It sits. It waits. It gets 42 chicks.")
    assert quote(page, "42") == ["It sits.", "It waits.", "It gets 42 chicks."]


def test_references_end_at_the_paragraph(make_pages: Make) -> None:
    assert quote(make_pages("# A\n\nA hen lays eggs.\n\nIt gets 42 chicks."), "42") == ["It gets 42 chicks."]


def test_a_reference_after_a_picture_needs_the_sentence_that_introduces_the_picture(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe editor shows a property:\n\n![](a.png)\n\nSet this property to 42.")
    assert quote(page, "42") == ["The editor shows a property:", "Set this property to 42."]


def test_a_comment_on_code_needs_the_code_and_its_introduction(make_pages: Make) -> None:
    page = make_pages("# A\n\nRun the loop:\n\n```\nloop()\n```\n\nThis prints 42.")
    assert page.quote_texts("what does it print?", "42") == ["Run the loop:", "loop()", "This prints 42."]


def test_a_sentence_that_continues_after_a_formula_needs_the_formula(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe force is\n\n$$\nF = m a\n$$\n\nwhere a is the acceleration.")
    assert page.quote_texts("what is a?", "acceleration") == ["The force is", "F = m a", "where a is the acceleration."]


def test_a_sentence_that_ends_in_a_formula_needs_the_formula(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe weight of the arm is then\n\n$$\nF = m g\n$$\n\nArms are heavy.")
    assert quote(page, "weight") == ["The weight of the arm is then", "F = m g"]


def test_code_needs_the_sentence_that_introduces_it(make_pages: Make) -> None:
    page = make_pages("# A\n\nIt is easy. Start the server:\n\n```\nserve --port 42\n```\n")
    assert quote(page, "serve --port") == ["Start the server:", "serve --port 42"]


def test_code_does_not_need_an_unrelated_sentence(make_pages: Make) -> None:
    page = make_pages("# A\n\nServers take a while to warm up.\n\n```\nserve --port 42\n```\n")
    assert quote(page, "serve --port") == ["serve --port 42"]


@pytest.mark.parametrize("title", ["", "wave.py\n\n"])
def test_a_sentence_about_the_code_below_it_needs_the_code(make_pages: Make, title: str) -> None:
    page = make_pages(f"# Nodes\n\nThe node below publishes a wave.\n\n{title}```\nspin()\n```\n\nIt stops.")
    assert "spin()" in " ".join(quote(page, "publishes a wave"))
    other = make_pages("# Nodes\n\nThe value is 3 V below the limit.\n\n```\nspin()\n```\n")
    assert quote(other, "3 V") == ["The value is 3 V below the limit."]


def test_a_sentence_with_a_colon_needs_what_follows(make_pages: Make) -> None:
    code = make_pages("# A\n\nStart the server on port 42:\n\n```\nserve\n```\n")
    assert code.quote_texts("how?", "42") == ["Start the server on port 42:", "serve"]


def test_an_introduction_needs_its_whole_list(make_pages: Make) -> None:
    page = make_pages("# A\n\nThere are three ways to walk:\n\n- slowly\n- fast\n- not at all\n\nThe end.")
    assert quote(page, "three ways") == ["There are three ways to walk:", "- slowly\n- fast\n- not at all"]


def test_a_table_may_come_some_sentences_after_the_one_that_announces_it(make_pages: Make) -> None:
    page = make_pages(
        "# A\n\nThe following table has 42 hens. They are old.\n\n| hen | age |\n|---|---|\n| Ida | 9 |\n"
    )
    assert quote(page, "42") == ["The following table has 42 hens.", "hen | age\nIda | 9"]


def test_a_sentence_that_introduces_a_diagram_is_not_quoted(make_pages: Make) -> None:
    page = make_pages("# A\n\nThe chain has 42 links:\n\n```\nflowchart LR\n  A --> B\n```\n")
    assert quote(page, "42") == []


def test_they_needs_no_sentence_before_it_that_begins_with_what_the_question_names(make_pages: Make) -> None:
    page = make_pages("# A\n\nWorm gears are cheap. They waste 42 % of the power.")
    assert page.quote_texts("How efficient is a worm gear?", "42") == ["They waste 42 % of the power."]
    assert page.quote_texts("How efficient is it?", "42")[0] == "Worm gears are cheap."


def test_an_introduction_without_its_list_is_not_quoted(make_pages: Make) -> None:
    assert make_pages("# A\n\nThese are the ways to walk:").quote_texts("how?", "ways") == []


def test_a_short_list_is_quoted_whole_with_its_introduction(make_pages: Make) -> None:
    page = make_pages("# A\n\nA hen eats little. She eats:\n\n- corn\n- 42 worms\n- grass\n")
    assert quote(page, "42") == ["A hen eats little.", "She eats:", "- corn\n- 42 worms\n- grass"]


def make_items(count: int, words: str = "") -> str:
    return "".join(f"- {n} worms{words}\n" for n in range(1, count + 1))


def test_a_list_of_up_to_ten_items_is_short(make_pages: Make) -> None:
    ten, eleven = (make_pages(f"# A\n\nA hen eats:\n\n{make_items(count)}") for count in (10, 11))
    assert quote(ten, "7 worms") == ["A hen eats:", make_items(10).rstrip()]
    assert quote(eleven, "7 worms") == ["A hen eats:", "- 7 worms"]


def test_a_list_of_up_to_nine_hundred_characters_is_short(make_pages: Make) -> None:
    wide, wider = (
        make_pages(f"# A\n\nA hen eats:\n\n{make_items(3, ' ' + letters)}") for letters in (290 * "x", 291 * "x")
    )
    assert len(quote(wide, "2 worms")[-1].splitlines()) == 3
    assert quote(wider, "2 worms") == ["A hen eats:", "- 2 worms " + 291 * "x"]


def test_an_item_of_a_long_list_needs_the_introduction(make_pages: Make) -> None:
    page = make_pages(f"# A\n\nA hen eats little. She eats:\n\n{make_items(11)}")
    assert quote(page, "7 worms") == ["A hen eats little.", "She eats:", "- 7 worms"]


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
def test_the_whole_list_is_quoted_if_the_question_asks_for_it(make_pages: Make, question: str) -> None:
    items = "\n".join(f"- food number {n}" for n in range(12))
    page = make_pages(f"# A\n\nThe foods are these:\n\n{items}\n\nThe end.")
    (lead, whole) = page.answer(question, "food number 3")
    assert (lead.text, whole.text, whole.kind) == ("The foods are these:", items, "item")


def test_a_long_list_of_something_else_is_not_quoted_whole(make_pages: Make) -> None:
    page = make_pages(f"# A\n\nMany points matter:\n\n{make_items(10)}- the mean and the spread are kept\n- sun\n")
    said = quote(page, "the mean and the spread", asked_for="statistics")
    assert said == ["Many points matter:", "- the mean and the spread are kept"]


def test_words_in_several_items_need_the_whole_list(make_pages: Make) -> None:
    page = make_pages(f"# A\n\nA hen eats:\n\n{make_items(12)}")
    assert page.quote_texts("food?", "7 worms\n- 8") == ["A hen eats:", make_items(12).rstrip()]


def test_a_later_sentence_of_an_item_needs_the_item_from_its_start(make_pages: Make) -> None:
    filler = "Words that make the item long enough to be quoted by its sentences. " * 5
    page = make_pages(f"# A\n\nTwo kinds:\n\n- Fixed joints. They hold 42 kg. {3 * filler}\n- Loose joints.\n")
    assert quote(page, "42") == ["Two kinds:", "- Fixed joints. They hold 42 kg."]


def test_code_in_an_item_needs_the_item(make_pages: Make) -> None:
    steps = "".join(f"{n}. Rest.\n" for n in range(3, 13))
    page = make_pages(f"# A\n\nDo this:\n\n1. Look.\n2. Start it:\n\n   ```\n   serve\n   ```\n\n{steps}")
    assert quote(page, "serve") == ["Do this:", "2. Start it:\nserve"]


def test_a_short_list_with_code_is_quoted_whole(make_pages: Make) -> None:
    page = make_pages("# A\n\nDo this:\n\n1. Look.\n2. Start it:\n\n   ```\n   serve\n   ```\n\n3. Rest.\n")
    assert quote(page, "serve") == ["Do this:", "1. Look.\n2. Start it:\nserve\n3. Rest."]


COLUMNS = "| Loop | Rate |\n|---|---|\n"


def make_rows(count: int) -> str:
    return "".join(f"| Loop {n} | {n} kHz |\n" for n in range(1, count + 1))


def test_a_table_of_up_to_ten_lines_is_quoted_whole(make_pages: Make) -> None:
    for count in (2, 9):
        (whole,) = quote(make_pages(f"# A\n\nLoops differ.\n\n{COLUMNS}{make_rows(count)}"), "2 kHz")
        assert whole.splitlines() == ["Loop | Rate", *(f"Loop {n} | {n} kHz" for n in range(1, count + 1))]


def test_a_row_of_a_long_table_needs_its_column_names(make_pages: Make) -> None:
    table = COLUMNS + make_rows(10)
    assert quote(make_pages(f"# A\n\nLoops differ.\n\n{table}"), "7 kHz") == ["Loop | Rate", "Loop 7 | 7 kHz"]
    assert quote(make_pages(f"# A\n\nThe loops are:\n\n{table}"), "1 kHz") == [
        "The loops are:",
        "Loop | Rate\nLoop 1 | 1 kHz",
    ]


def test_the_column_names_of_a_long_table_come_with_its_first_rows(make_pages: Make) -> None:
    rows = "".join(f"| hen {number} | {number} |\n" for number in range(20))
    page = make_pages(f"# A\n\n| name | age in weeks |\n|---|---|\n{rows}")
    (table,) = quote(page, "age in weeks")
    assert table.split("\n") == ["name | age in weeks", *(f"hen {number} | {number}" for number in range(9))]


def test_a_row_of_a_cut_table_has_no_column_names(make_pages: Make) -> None:
    page = make_pages("# A\n\n| Motor | 10 kHz |\n|---|---|\n" + make_rows(10))
    assert quote(page, "7 kHz") == ["Loop 7 | 7 kHz"]


def test_a_long_table_is_quoted_whole_if_the_question_asks_for_it(make_pages: Make) -> None:
    page = make_pages(f"# A\n\nLoops differ.\n\n{COLUMNS}{make_rows(20)}")
    (whole,) = quote(page, "7 kHz", asked_for="loops")
    assert (whole.splitlines()[0], len(whole.splitlines())) == ("Loop | Rate", 21)


def test_the_label_of_a_note_is_not_quoted(make_pages: Make) -> None:
    page = make_pages("# A\n\nBefore.\n\n:::warning\nNever lift it by the head.\n:::\n")
    assert page.quote_texts("how to lift?", "Never lift") == ["Never lift it by the head."]
    assert page.quote_texts("how to lift?", "warning") == ["Never lift it by the head."]


def test_a_title_in_the_text_is_quoted_with_what_it_heads(make_pages: Make) -> None:
    page = make_pages("# A\n\n:::tip[Choosing legs over wheels]\nChoose legs on stairs. Rest.\n:::\n")
    assert quote(page, "legs over wheels") == ["Choosing legs over wheels\n\nChoose legs on stairs."]


def test_a_heading_is_never_quoted(make_pages: Make) -> None:
    assert make_pages("# A\n\nText.\n\n## Empty end\n").quote_texts("end?", "Empty end") == []
