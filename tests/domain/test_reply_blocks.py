"""The form of a reply: paragraphs, headings, lists, tables and code, and how they look as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bookbound.domain.chunk import Chunk, Place, QuotableUnit, UnitKind
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence
from bookbound.domain.reply import AnswerSentence
from bookbound.domain.reply_blocks import ListItem, ReplyBlock, build_blocks
from bookbound.domain.reply_markdown import escape_markdown, render_markdown

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
LISTS = re.compile(r"</?[ou]l|<li>[^<\n]*|start=.\d+.")


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


def test_a_text_of_an_interface_continues_the_paragraph_before_it() -> None:
    assert markdown(quote(PROSE, 0), "[1]", quote(PROSE, 1), "[2]") == "It walks. [1]\n\nIt stops. [2]"


def test_a_text_of_an_interface_does_not_become_part_of_a_list_table_or_code() -> None:
    units: list[tuple[UnitKind, str]] = [("item", "- legs"), ("row", "a | b"), ("code", "stop()")]
    for unit in units:
        *_, last = shapes(quote(make_chunk(unit), 0), "(page 1)")
        assert last == ("paragraph", "(page 1)")


def test_a_text_of_an_interface_keeps_its_markup() -> None:
    assert markdown("See *below*.") == "See *below*."
    assert markdown(quote(PROSE, 0), "[Legs](/a)") == "It walks. [Legs](/a)"


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


def test_titles_without_a_chunk_are_items_of_one_list() -> None:
    places = [replace(PROSE.place, anchor=name) for name in ("legs", "arms")]
    titles = [Evidence("", place.anchor.title(), place, 0, 0, 1.0, "heading") for place in places]
    (block,) = build_blocks([AnswerSentence(title.text, (title,)) for title in titles])
    assert [(item.text, item.quote) for item in block.items] == [("Legs", titles[0]), ("Arms", titles[1])]
    assert render_markdown([block]) == "- Legs\n- Arms"


def read_list(*items: ListItem) -> list[str]:
    """Returns the lists and items that a reader of the Markdown sees."""
    rendered = MARKDOWN.render(render_markdown([ReplyBlock("list", items=items)]))
    return [each.removeprefix("<li>").strip() for each in LISTS.findall(rendered)]


def test_levels_below_bullets_are_seen_as_levels() -> None:
    seen = read_list(ListItem("legs"), ListItem("feet", "", 1), ListItem("toes", "", 2), ListItem("arms"))
    assert seen == ["<ul", "legs", "<ul", "feet", "<ul", "toes", "</ul", "</ul", "arms", "</ul"]


def test_levels_below_numbers_are_seen_as_levels() -> None:
    seen = read_list(ListItem("legs", "1."), ListItem("feet", "", 1), ListItem("toes", "1.", 2), ListItem("arms", "2."))
    assert seen == ["<ol", "legs", "<ul", "feet", "<ol", "toes", "</ol", "</ul", "arms", "</ol"]
    seen = read_list(ListItem("legs", "10."), ListItem("feet", "1.", 1), ListItem("arms", "11."))
    assert seen == ["<ol", 'start="10"', "legs", "<ol", "feet", "</ol", "arms", "</ol"]


def test_nested_items_without_those_above_them_are_seen_as_items() -> None:
    assert read_list(ListItem("toes", "", 2), ListItem("heels", "", 2)) == ["<ul", "toes", "heels", "</ul"]


def test_items_are_seen_with_the_numbers_of_the_book() -> None:
    assert read_list(ListItem("Look.", "3."), ListItem("Walk.", "4.")) == ["<ol", 'start="3"', "Look.", "Walk.", "</ol"]
    seen = read_list(ListItem("Look.", "3."), ListItem("Rest.", "9."))
    assert 'start="9"' in seen or "9. Rest." in seen


@pytest.mark.parametrize(("one", "two"), [("a.", "b."), ("a)", "b)"), ("(a)", "(b)"), ("(1)", "(2)")])
def test_items_with_letters_or_brackets_are_seen_one_below_the_other(one: str, two: str) -> None:
    rendered = MARKDOWN.render(
        render_markdown([ReplyBlock("list", items=(ListItem("Look.", one), ListItem("Go.", two)))])
    )
    first, second = re.split(r"</li>|</p>|<br />", rendered, maxsplit=1)
    assert f"{one} Look." in first
    assert f"{two} Go." in second


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


def read_cells(block: ReplyBlock) -> list[str]:
    """Returns the cells that a reader of the Markdown sees."""
    return [unescape(cell) for cell in re.findall(r"<t[hd]>(.*)</t[hd]>", MARKDOWN.render(render_markdown([block])))]


def test_cells_are_seen_as_they_are_and_short_rows_are_filled() -> None:
    block = ReplyBlock("table", rows=(("Name", "Type"), ("*args", "int|str"), ("__init__",)), has_header=True)
    assert read_cells(block) == ["Name", "Type", "*args", "int|str", "__init__", ""]


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


def test_a_fence_is_longer_than_the_backticks_in_the_code() -> None:
    code = "````\n```python\nwalk()\n```\n````"
    said = markdown(quote(make_chunk(("code", code)), 0))
    assert said == f"`````\n{code}\n`````"
    assert unescape(MARKDOWN.render(said)) == f"<pre><code>{code}\n</code></pre>\n"


def test_code_is_not_escaped() -> None:
    assert (
        markdown(quote(make_chunk(("code", "def __init__(*args): pass")), 0)) == "```\ndef __init__(*args): pass\n```"
    )


def test_a_formula_is_a_block() -> None:
    chunk = make_chunk(("sentence", "So:"), "\n\n", ("formula", "F = m * a"), "\n\n", ("sentence", "It holds."))
    assert [kind for kind, _ in shapes(*quote_all(chunk))] == ["paragraph", "formula", "paragraph"]
    assert markdown(quote(chunk, 1)) == "$$\nF = m * a\n$$"


def test_a_heading_is_bold() -> None:
    chunk = make_chunk(("heading", "Using *args"), "\n\n", ("sentence", "They help."))
    assert markdown(quote(chunk, 0, 1)) == "**Using \\*args**\n\nThey help."


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


@pytest.mark.parametrize(
    "words",
    [
        "snake_case stays",
        "2 * 3",
        "a - b",
        "C:\\path",
        "5 < 6 > 4",
        "a [b] c",
        "[ ] box",
        "R&D",
        "100 # of them",
        "see 3. Then",
        "an _ alone",
        "I – and you",
    ],
)
def test_what_is_no_markup_is_not_escaped(words: str) -> None:
    assert escape_markdown(words) == words


@pytest.mark.parametrize(
    "words",
    [
        "__init__",
        "__name__ == '__main__'",
        "_private and public_",
        "*args, **kwargs",
        "a*b",
        "5*x*6",
        "* a footnote",
        "*",
        "<div>",
        "</div>",
        "<!-- note -->",
        "<https://a.org>",
        "[x](y)",
        "![x](y)",
        "[x][y]",
        "[1]: https://a.org",
        "`code`",
        "``co`de``",
        "&amp; and &#35;",
        "\\* and \\\\",
        "# no heading",
        "#",
        "> no quote",
        "- no item",
        "+ no item",
        "-",
        "---",
        "1. no item",
        "1986. It was hot.",
        "2) no item",
        "~~gone~~",
        "~~~ fence",
    ],
)
def test_words_that_look_like_markup_are_seen_as_they_are(words: str) -> None:
    assert see(escape_markdown(words)) == words


@given(
    st.text(alphabet="ab1 .)*_`[](<>#-+~\\&;:|!='\"/", max_size=14)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
def test_any_words_are_seen_as_they_are(words: str) -> None:
    assert see(escape_markdown(words)) == words


def see(text: str) -> str:
    """Returns what a reader sees of a Markdown paragraph; anything but one plain paragraph stays HTML."""
    rendered = MARKDOWN.render(text)
    found = re.fullmatch(r"<p>([^<]*)</p>\n", rendered)
    return unescape(found[1]) if found else rendered


def test_quoted_and_written_words_and_items_are_escaped() -> None:
    chunk = make_chunk(
        ("sentence", "Call __init__."), "\n\n", ("item", "- *args"), "\n\n", ("sentence", "# is a sign.")
    )
    written = AnswerSentence("Write a*b.", quote(chunk, 0).evidence)
    text = markdown(*quote_all(chunk), written)
    seen = unescape(re.sub(r"</?[a-z]+>|\n", "", MARKDOWN.render(text)))
    assert seen == "Call __init__.*args# is a sign.Write a*b."
