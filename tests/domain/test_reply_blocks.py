"""The form of a reply: paragraphs, headings, lists, tables and code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, SupportLabel
from bookbound.domain.reply import AnswerSentence, SentenceForm
from bookbound.domain.reply_blocks import ListItem, build_blocks
from bookbound.domain.reply_markdown import render_markdown


def make_chunk(*pieces: tuple[UnitKind, str] | str, name: str = "a", cut: str = "") -> Chunk:
    """Makes a chunk of units and the texts between them; `cut` says at which ends it is cut."""
    text, units = "", []
    for piece in pieces:
        words = piece if isinstance(piece, str) else piece[1]
        if not isinstance(piece, str):
            units.append(QuotableUnit(piece[0], len(text), len(text) + len(words)))
        text += words
    place = Place(f"{name}.md", f"/{name}", "Motion", "Walking", (), "", 0, len(text))
    spans = (SourceSpan(0, len(text), 0, len(text)),)
    return Chunk(name, text, place, 0, spans, tuple(units), "start" in cut, "end" in cut)


def quote(chunk: Chunk, first: int, last: int | None = None) -> AnswerSentence:
    """Quotes the units from `first` to `last` in one piece."""
    start, end = chunk.units[first].start, chunk.units[first if last is None else last].end
    evidence = Evidence.from_chunk(chunk, start, end, 0.9)
    return AnswerSentence(evidence.text, (evidence,))


def quote_all(chunk: Chunk) -> list[AnswerSentence]:
    return [quote(chunk, at) for at in range(len(chunk.units))]


def shapes(*pieces: AnswerSentence | str) -> list[tuple[str, object]]:
    """Returns the kind of each block with its text, its items without their quotes, or its rows."""
    found = build_blocks(pieces)
    items = [tuple(item._replace(quote=None) for item in block.items) for block in found]
    return [(block.kind, block.text or listed or block.rows) for block, listed in zip(found, items, strict=True)]


def markdown(*pieces: AnswerSentence | str) -> str:
    return render_markdown(build_blocks(pieces))


PROSE = make_chunk(
    ("sentence", "It walks."),
    " ",
    ("sentence", "It stops."),
    "\n\n",
    ("sentence", "It rests."),
    " ",
    ("sentence", "Go."),
)


def test_adjacent_sentences_are_one_paragraph() -> None:
    assert shapes(quote(PROSE, 0), quote(PROSE, 1)) == [("paragraph", "It walks. It stops.")]


def test_a_blank_line_of_the_book_starts_a_new_paragraph() -> None:
    assert shapes(*quote_all(PROSE)) == [("paragraph", "It walks. It stops."), ("paragraph", "It rests. Go.")]


def test_words_that_are_left_out_start_a_new_paragraph() -> None:
    chunk = make_chunk(("sentence", "It walks."), " ", ("sentence", "It stops."), " ", ("sentence", "It rests."))
    assert shapes(quote(chunk, 0), quote(chunk, 2)) == [("paragraph", "It walks."), ("paragraph", "It rests.")]


def test_a_sentence_that_the_book_has_earlier_starts_a_new_paragraph() -> None:
    assert shapes(quote(PROSE, 1), quote(PROSE, 0)) == [("paragraph", "It stops."), ("paragraph", "It walks.")]


def test_sentences_of_two_chunks_are_two_paragraphs() -> None:
    other = make_chunk(("sentence", "It flies."), name="b")
    assert shapes(quote(PROSE, 3), quote(other, 0)) == [("paragraph", "Go."), ("paragraph", "It flies.")]


def test_a_block_rests_on_the_evidence_of_all_its_sentences() -> None:
    said = quote_all(PROSE)
    assert [block.evidence for block in build_blocks(said)] == [
        (said[0].evidence[0], said[1].evidence[0]),
        (said[2].evidence[0], said[3].evidence[0]),
    ]


def test_the_line_breaks_of_a_sentence_are_spaces() -> None:
    chunk = make_chunk(("sentence", "It walks\nvery\n  far."))
    assert shapes(quote(chunk, 0)) == [("paragraph", "It walks very far.")]


def test_a_sentence_that_is_cut_has_a_mark() -> None:
    chunk = make_chunk(("sentence", "of walking."), " ", ("sentence", "It stops."), " ", ("sentence", "It rests in"))
    said = markdown(*quote_all(replace(chunk, cut_start=True, cut_end=True)))
    assert said == "… of walking. It stops. It rests in …"
    assert markdown(*quote_all(chunk)) == "of walking. It stops. It rests in"


def test_sentences_of_a_writer_are_one_paragraph() -> None:
    first, second = quote(PROSE, 0).evidence, quote(PROSE, 2).evidence
    said = [AnswerSentence("A robot walks.", first), AnswerSentence("Then it rests.", second)]
    assert shapes(*said) == [("paragraph", "A robot walks. Then it rests.")]


def test_what_a_writer_says_about_code_is_no_code() -> None:
    chunk = make_chunk(("code", "stop()"))
    assert shapes(AnswerSentence("Call stop.", quote(chunk, 0).evidence)) == [("paragraph", "Call stop.")]


def test_code_and_links_of_a_writer_are_plain_words() -> None:
    said = AnswerSentence("Call `walk()` as [the guide](https://a.example/b) says.", quote(PROSE, 0).evidence)
    assert shapes(said) == [("paragraph", "Call walk() as the guide says.")]
    quoted = make_chunk(("sentence", "Type `walk()`."))
    assert shapes(quote(quoted, 0)) == [("paragraph", "Type `walk()`.")]


def test_a_text_of_an_interface_continues_the_paragraph_before_it() -> None:
    assert markdown(quote(PROSE, 0), "[1]", quote(PROSE, 1), "[2]") == "It walks. [1]\n\nIt stops. [2]"


def test_a_text_of_an_interface_does_not_become_part_of_a_list_table_or_code() -> None:
    units: list[tuple[UnitKind, str]] = [("item", "- legs"), ("row", "a | b"), ("code", "stop()")]
    for unit in units:
        *_, last = shapes(quote(make_chunk(unit), 0), "(page 1)")
        assert last == ("paragraph", "(page 1)")


def test_items_of_a_chunk_are_one_list_without_their_bullets() -> None:
    chunk = make_chunk(("item", "- legs"), "\n", ("item", "* feet"), "\n", ("item", "• wheels\n  of iron"))
    for said in (quote_all(chunk), [quote(chunk, 0, 2)]):
        assert shapes(*said) == [("list", (ListItem("legs"), ListItem("feet"), ListItem("wheels of iron")))]
        assert markdown(*said) == "- legs\n- feet\n- wheels of iron"


def test_items_keep_their_numbers() -> None:
    chunk = make_chunk(("item", "1. Look."), "\n", ("item", "2) Walk."), "\n", ("item", "(b) Rest."))
    assert shapes(quote(chunk, 0, 2)) == [
        ("list", (ListItem("Look.", "1."), ListItem("Walk.", "2)"), ListItem("Rest.", "(b)")))
    ]


def test_an_item_that_starts_with_a_number_or_a_short_word_has_no_number() -> None:
    chunk = make_chunk(("item", "- 3.5 kg"), "\n", ("item", "- A. Smith"), "\n", ("item", "- 2024 was warm"))
    assert shapes(quote(chunk, 0, 2)) == [
        ("list", (ListItem("3.5 kg"), ListItem("A. Smith"), ListItem("2024 was warm")))
    ]


def test_two_spaces_before_an_item_are_a_level() -> None:
    chunk = make_chunk(
        ("item", "- legs"), "\n  ", ("item", "- feet"), "\n    ", ("item", "- toes"), "\n", ("item", "- arms")
    )
    for said in (quote_all(chunk), [quote(chunk, 0, 3)]):
        assert shapes(*said) == [
            ("list", (ListItem("legs"), ListItem("feet", "", 1), ListItem("toes", "", 2), ListItem("arms")))
        ]
        assert markdown(*said) == "- legs\n  - feet\n    - toes\n- arms"


def test_a_sentence_that_continues_an_item_is_part_of_it() -> None:
    chunk = make_chunk(
        ("item", "- Legs walk."),
        " ",
        ("sentence", "They bend."),
        "\n",
        ("sentence", "They rest."),
        "\n",
        ("item", "- Arms."),
    )
    assert shapes(quote(chunk, 0, 3)) == [("list", (ListItem("Legs walk. They bend. They rest."), ListItem("Arms.")))]


def test_an_indented_paragraph_of_an_item_is_part_of_it() -> None:
    chunk = make_chunk(
        ("item", "- Legs walk."), "\n\n  ", ("sentence", "They bend."), "\n\n", ("sentence", "All rest.")
    )
    assert shapes(quote(chunk, 0, 2)) == [("list", (ListItem("Legs walk. They bend."),)), ("paragraph", "All rest.")]


def test_a_sentence_after_a_list_is_a_paragraph() -> None:
    chunk = make_chunk(("item", "- legs"), "\n\n", ("sentence", "They bend."))
    assert shapes(quote(chunk, 0, 1)) == [("list", (ListItem("legs"),)), ("paragraph", "They bend.")]


def test_items_of_two_chunks_are_two_lists() -> None:
    one, two = make_chunk(("item", "- legs")), make_chunk(("item", "- arms"), name="b")
    assert shapes(quote(one, 0), quote(two, 0)) == [("list", (ListItem("legs"),)), ("list", (ListItem("arms"),))]


def test_an_item_has_its_quote() -> None:
    chunk = make_chunk(("item", "- legs"), "\n", ("item", "- feet"))
    said = quote_all(chunk)
    (block,) = build_blocks(said)
    assert [(item.quote,) for item in block.items] == [sentence.evidence for sentence in said]


def test_items_that_the_source_leaves_to_be_numbered_are_numbered_by_level() -> None:
    chunk = make_chunk(
        ("item", "#. Look."), "\n  ", ("item", "#. Twice."), "\n", ("item", "#. Walk."), "\n  ", ("item", "#. Far.")
    )
    (block,) = build_blocks([quote(chunk, 0, 3)])
    assert [(item.number, item.text) for item in block.items] == [
        ("1.", "Look."),
        ("1.", "Twice."),
        ("2.", "Walk."),
        ("1.", "Far."),
    ]


def test_an_item_in_the_middle_of_a_list_has_its_own_number() -> None:
    chunk = make_chunk(
        ("item", "#. Look."), "\n", ("item", "#. Walk."), "\n  ", ("sentence", "Slowly."), "\n", ("item", "#. Stop."),
        "\n\n", ("sentence", "Then:"), "\n\n", ("item", "#. Rest."),
    )  # fmt: skip
    assert [(item.number, item.text) for block in build_blocks([quote(chunk, 3)]) for item in block.items] == [
        ("3.", "Stop.")
    ]
    assert build_blocks([quote(chunk, 5)])[0].items[0].number == "1."


def test_titles_without_a_chunk_are_items_of_one_list() -> None:
    places = [replace(PROSE.place, anchor=name) for name in ("legs", "arms")]
    titles = [Evidence("", place.anchor.title(), place, 0, 0, 1.0, "heading") for place in places]
    (block,) = build_blocks([AnswerSentence(title.text, (title,)) for title in titles])
    assert [(item.text, item.quote) for item in block.items] == [("Legs", titles[0]), ("Arms", titles[1])]
    assert render_markdown([block]) == "- Legs\n- Arms"


ROWS = make_chunk(
    ("sentence", "Rates:"),
    "\n\n",
    ("row", "Loop | Rate"),
    "\n",
    ("row", "Motor | 10 kHz"),
    "\n",
    ("row", "Arm | 1 kHz"),
)


def test_a_table_has_a_header_if_its_first_row_names_the_columns() -> None:
    for said in ([quote(ROWS, 1, 3)], quote_all(ROWS)[1:]):
        (block,) = build_blocks(said)
        assert (block.kind, block.has_header) == ("table", True)
        assert block.rows == (("Loop", "Rate"), ("Motor", "10 kHz"), ("Arm", "1 kHz"))
        assert render_markdown([block]) == ("| Loop | Rate |\n| --- | --- |\n| Motor | 10 kHz |\n| Arm | 1 kHz |")


def test_a_row_of_a_table_follows_its_header_although_rows_are_left_out() -> None:
    (block,) = build_blocks([quote(ROWS, 1), quote(ROWS, 3)])
    assert (block.rows, block.has_header) == ((("Loop", "Rate"), ("Arm", "1 kHz")), True)


def test_rows_without_the_names_of_their_columns_have_no_header() -> None:
    (block,) = build_blocks([quote(ROWS, 2, 3)])
    assert not block.has_header
    assert render_markdown([block]) == "|  |  |\n| --- | --- |\n| Motor | 10 kHz |\n| Arm | 1 kHz |"


def test_the_first_row_of_a_cut_table_is_no_header() -> None:
    chunk = make_chunk(("row", "Motor | 10 kHz"), "\n", ("row", "Arm | 1 kHz"))
    (block,) = build_blocks([quote(chunk, 0, 1)])
    assert not block.has_header


def test_tables_of_two_chunks_are_two_tables() -> None:
    other = replace(ROWS, id="b")
    assert [block.rows for block in build_blocks([quote(ROWS, 1, 2), quote(other, 1, 2)])] == [
        (("Loop", "Rate"), ("Motor", "10 kHz")),
        (("Loop", "Rate"), ("Motor", "10 kHz")),
    ]


def test_two_tables_of_one_chunk_are_two_tables() -> None:
    chunk = make_chunk(
        ("row", "Loop | Rate"), "\n", ("row", "a | 1"), "\n\n", ("row", "Joint | Torque"), "\n", ("row", "b | 2")
    )
    found = build_blocks([quote(chunk, 0, 3)])
    assert [(block.rows, block.has_header) for block in found] == [
        ((("Loop", "Rate"), ("a", "1")), True),
        ((("Joint", "Torque"), ("b", "2")), True),
    ]


def test_columns_in_which_nothing_is_said_are_left_out() -> None:
    chunk = make_chunk(("row", "Loop |  | Rate |"), "\n", ("row", "Motor |  | 10 kHz |"))
    assert build_blocks([quote(chunk, 0, 1)])[0].rows == (("Loop", "Rate"), ("Motor", "10 kHz"))


def test_the_line_below_the_names_of_columns_in_plain_text_is_left_out() -> None:
    chunk = make_chunk(("row", "| Loop | Rate |"), "\n", ("row", "|---|:---|"), "\n", ("row", "| Arm | 1 kHz |"))
    (block,) = build_blocks([quote(chunk, 0, 2)])
    assert (block.has_header, block.rows) == (True, (("Loop", "Rate"), ("Arm", "1 kHz")))


def test_a_cell_may_contain_a_bar() -> None:
    chunk = make_chunk(("row", "Name | Type"), "\n", ("row", "size | int|None"))
    assert build_blocks([quote(chunk, 0, 1)])[0].rows == (("Name", "Type"), ("size", "int|None"))


def test_code_keeps_its_lines_and_each_code_is_a_block() -> None:
    chunk = make_chunk(("code", "    if go:\n        walk()"), "\n\n", ("code", "stop()"))
    said = quote_all(chunk)
    assert shapes(*said) == [("code", "    if go:\n        walk()"), ("code", "stop()")]
    assert markdown(*said) == "```\n    if go:\n        walk()\n```\n\n```\nstop()\n```"


def test_code_that_goes_on_in_the_book_has_marks() -> None:
    code: tuple[UnitKind, str] = ("code", "walk()")
    cuts = {
        cut: render_markdown(build_blocks([quote(make_chunk(code, cut=cut), 0)]))
        for cut in ("start", "end", "start end")
    }
    assert cuts == {
        "start": "```\n…\nwalk()\n```",
        "end": "```\nwalk()\n…\n```",
        "start end": "```\n…\nwalk()\n…\n```",
    }


def test_code_in_the_middle_of_a_cut_chunk_has_no_marks() -> None:
    chunk = make_chunk(
        ("sentence", "of it."), "\n\n", ("code", "walk()"), "\n\n", ("sentence", "Then we"), cut="start end"
    )
    assert markdown(quote(chunk, 1)) == "```\nwalk()\n```"


def test_a_formula_is_a_block() -> None:
    chunk = make_chunk(("sentence", "So:"), "\n\n", ("formula", "F = m * a"), "\n\n", ("sentence", "It holds."))
    assert [kind for kind, _ in shapes(*quote_all(chunk))] == ["paragraph", "formula", "paragraph"]
    assert markdown(quote(chunk, 1)) == "$$\nF = m * a\n$$"


@pytest.mark.parametrize("below", [("sentence", "It helps."), ("item", "- legs"), ("code", "walk()"), ("row", "a | b")])
def test_a_short_line_without_a_full_stop_before_another_block_is_a_heading(below: tuple[UnitKind, str]) -> None:
    chunk = make_chunk(("sentence", "Choosing legs over wheels"), "\n\n", below)
    assert shapes(quote(chunk, 0, 1))[0] == ("heading", "Choosing legs over wheels")


@pytest.mark.parametrize(
    "words",
    [
        "Legs are good.",
        "Choose legs:",
        "Legs?",
        "Choosing legs over wheels and wings and fins is a " + "long " * 4 + "line",
    ],
)
def test_a_long_line_or_one_with_punctuation_at_its_end_is_no_heading(words: str) -> None:
    chunk = make_chunk(("sentence", words), "\n\n", ("sentence", "It helps."))
    assert shapes(quote(chunk, 0, 1))[0] == ("paragraph", words)


def test_a_short_line_at_the_end_is_no_heading() -> None:
    chunk = make_chunk(("sentence", "It helps."), "\n\n", ("sentence", "Choosing legs over wheels"))
    assert shapes(*quote_all(chunk))[-1] == ("paragraph", "Choosing legs over wheels")


def test_a_sentence_that_a_formula_ends_is_no_heading() -> None:
    chunk = make_chunk(("sentence", "The force is"), "\n\n", ("formula", "F = m a"))
    assert shapes(quote(chunk, 0, 1))[0] == ("paragraph", "The force is")


def test_a_short_line_of_a_writer_is_no_heading() -> None:
    chunk = make_chunk(("code", "walk()"))
    said = AnswerSentence("Do it like this", quote(PROSE, 0).evidence)
    assert shapes(said, quote(chunk, 0)) == [("paragraph", "Do it like this"), ("code", "walk()")]


def write(text: str, form: SentenceForm | None = None, *, is_verified: bool = True) -> AnswerSentence:
    """Writes a sentence as a language model does."""
    label = SupportLabel.SUPPORTED if is_verified else SupportLabel.UNVERIFIED
    return AnswerSentence(text, quote(PROSE, 1).evidence, 0.3, label, form or SentenceForm())


def test_an_unverified_sentence_is_a_marked_paragraph_with_the_closest_words() -> None:
    written = [write("It walks."), write("It flies.", is_verified=False), write("It stops."), write("It rests.")]
    blocks = build_blocks(written)
    assert [(block.text, block.is_verified) for block in blocks] == [
        ("It walks.", True),
        ("It flies.", False),
        ("It stops. It rests.", True),
    ]
    assert blocks[1].closest == quote(PROSE, 1).evidence[0]
    assert markdown(*written) == "It walks.\n\nIt flies. *(not verified)*\n\nIt stops. It rests."


def test_two_unverified_sentences_each_have_their_mark() -> None:
    written = [write("It flies.", is_verified=False), write("It swims.", is_verified=False)]
    assert markdown(*written) == "It flies. *(not verified)*\n\nIt swims. *(not verified)*"


def test_an_unverified_item_is_marked_in_its_list() -> None:
    item = SentenceForm("item")
    written = [write("legs", item), write("wings", item, is_verified=False), write("arms", item)]
    (block,) = build_blocks(written)
    assert (block.is_verified, [each.is_verified for each in block.items]) == (True, [True, False, True])
    assert block.items[1].quote == quote(PROSE, 1).evidence[0]
    assert markdown(*written) == "- legs\n- wings *(not verified)*\n- arms"


def test_an_unverified_row_is_marked_in_its_table_without_the_empty_columns() -> None:
    def row(*cells: str, is_verified: bool = True, is_header: bool = False) -> AnswerSentence:
        form = SentenceForm("row", cells=cells, is_header=is_header)
        return write(" | ".join(cells), form, is_verified=is_verified)

    names = row("part", "", "speed", is_header=True)
    written = [names, row("leg", "", "2 m/s"), row("wing", "", "9 m/s", is_verified=False)]
    (block,) = build_blocks(written)
    assert block.rows == (("part", "speed"), ("leg", "2 m/s"), ("wing", "9 m/s"))
    assert [(each.at, each.closest) for each in block.unverified_rows] == [(2, quote(PROSE, 1).evidence[0])]
    lines = ["| part | speed |", "| --- | --- |", "| leg | 2 m/s |", "| wing | 9 m/s *(not verified)* |"]
    assert markdown(*written) == "\n".join(lines)


def test_unverified_code_is_marked_below_it() -> None:
    written = write("robot.fly()", SentenceForm("code"), is_verified=False)
    assert markdown(written) == "```\nrobot.fly()\n```\n\n*(not verified)*"
