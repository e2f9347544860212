"""The blocks of a reply as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cli.test_terminal import draw

from bookbound.cli.block_view import MAX_GRID_CHARS, format_block
from bookbound.cli.terminal import StyledLine
from bookbound.domain.reply_blocks import ListItem, ReplyBlock, UnverifiedRow
from bookbound.testing import make_answer, make_passage

RATES = (("Loop", "Rate"), ("Motor", "10 kHz"), ("Arm controller", "1 kHz"))


def lines_of(block: ReplyBlock, citations: str = "", marks: Sequence[tuple[int, int]] = ()) -> list[StyledLine]:
    return list(format_block(block, citations, marks))


def texts_of(block: ReplyBlock, citations: str = "") -> list[str]:
    return [line.text for line in lines_of(block, citations)]


def test_a_paragraph_ends_with_its_citations() -> None:
    assert texts_of(ReplyBlock("paragraph", "It walks."), "[1][2]") == ["It walks. [1][2]"]
    assert texts_of(ReplyBlock("paragraph", "It walks.")) == ["It walks."]


def test_the_marks_of_a_paragraph_are_bold() -> None:
    block = ReplyBlock("paragraph", "It walks far today.")
    (line,) = lines_of(block, "[1]", [(3, 8), (13, 18)])
    assert line.pieces == (
        ("It ", ""),
        ("walks", "bold"),
        (" far ", ""),
        ("today", "bold"),
        (".", ""),
        (" [1]", "cyan"),
    )


def test_marks_that_overlap_do_not_repeat_words() -> None:
    (line,) = lines_of(ReplyBlock("paragraph", "It walks far."), "", [(0, 8), (3, 12)])
    assert line.text == "It walks far."


def test_a_heading_is_bold() -> None:
    (line,) = lines_of(ReplyBlock("heading", "Legs"), "[1]")
    assert line.pieces == (("Legs", "bold"), (" [1]", "cyan"))


def test_a_list_has_bullets_or_numbers_levels_and_its_citations_at_the_end() -> None:
    items = (ListItem("legs", "1."), ListItem("feet", "", 1), ListItem("arms", "2."))
    assert texts_of(ReplyBlock("list", items=items), "[1]") == ["1. legs", "  • feet", "2. arms [1]"]


def test_each_item_may_have_its_own_citations() -> None:
    block = ReplyBlock("list", items=(ListItem("legs"), ListItem("feet"), ListItem("arms")))
    lines = format_block(block, "[1][2]", item_citations=["[1]", "", "[2]"])
    assert [line.text for line in lines] == ["• legs [1]", "• feet", "• arms [2]"]


def test_a_long_item_is_wrapped_behind_its_bullet() -> None:
    nested = ListItem("legs that carry the robot over stairs", "", 1)
    (line,) = lines_of(ReplyBlock("list", items=(nested,)))
    first, *rest = draw(line).splitlines()
    assert first.startswith("  • legs")
    assert rest
    assert all(each.startswith("    ") and each[4] != " " for each in rest)


def test_a_table_is_a_grid_with_a_bold_header_and_its_citations_below() -> None:
    lines = lines_of(ReplyBlock("table", rows=RATES, has_header=True), "[1]")
    assert [line.text for line in lines] == [
        "Loop            Rate",
        "Motor           10 kHz",
        "Arm controller  1 kHz",
        "[1]",
    ]
    assert [line.pieces[0][1] for line in lines] == ["bold", "", "", "cyan"]
    assert all(line.no_wrap for line in lines[:-1])


def test_a_table_without_a_header_has_no_bold_row() -> None:
    assert {line.pieces[0][1] for line in lines_of(ReplyBlock("table", rows=RATES[1:]))} == {""}


def test_short_rows_are_filled() -> None:
    rows = (("Loop", "Rate"), ("Motor",), ("Arm", "1 kHz"))
    assert texts_of(ReplyBlock("table", rows=rows, has_header=True)) == ["Loop   Rate", "Motor", "Arm    1 kHz"]


def test_a_table_that_is_too_wide_is_shown_row_by_row_with_the_names_of_its_columns() -> None:
    wide = "x" * MAX_GRID_CHARS
    rows = (("Loop", "Rate", "Use"), ("Motor", "10 kHz", wide), ("Arm", "", wide))
    assert texts_of(ReplyBlock("table", rows=rows, has_header=True), "[1]") == [
        "• Motor",
        "  Rate: 10 kHz",
        f"  Use: {wide}",
        "• Arm",
        f"  Use: {wide}",
        "[1]",
    ]
    assert texts_of(ReplyBlock("table", rows=rows[1:]))[:3] == ["• Motor", "  10 kHz", f"  {wide}"]


def test_a_table_of_the_greatest_width_is_a_grid() -> None:
    for spare, lines in ((0, 2), (1, 4)):
        rows = (("a", "b"), ("c" * 10, "d" * (MAX_GRID_CHARS - 12 + spare)))
        assert len(texts_of(ReplyBlock("table", rows=rows))) == lines


def test_code_is_indented_keeps_its_lines_and_has_its_citations_below() -> None:
    lines = lines_of(ReplyBlock("code", "if go:\n    walk()"), "[1]")
    assert [line.text for line in lines] == ["    if go:\n        walk()", "[1]"]
    assert lines[0].no_wrap
    assert texts_of(ReplyBlock("formula", "F = m a")) == ["    F = m a"]


def test_code_that_goes_on_in_the_book_has_marks() -> None:
    block = ReplyBlock("code", "walk()", cut_start=True, cut_end=True)
    assert texts_of(block) == ["    …\n    walk()\n    …"]


(CLOSEST,) = make_answer([("It walks.", make_passage("It walks\n  far."))]).citations


def test_what_is_not_verified_is_marked_and_only_its_closest_words_are_cited() -> None:
    block = ReplyBlock("paragraph", "It flies.", evidence=(CLOSEST,), is_verified=False)
    mark = "(not verified) The closest words of the book: “It walks far.” [1]"
    assert texts_of(block, "[1]") == ["It flies.", mark]
    code = ReplyBlock("code", "fly()", evidence=(CLOSEST,), is_verified=False)
    assert texts_of(code, "[1]")[-1] == mark
    assert texts_of(ReplyBlock("paragraph", "It flies.", is_verified=False)) == ["It flies.", "(not verified)"]


def test_an_unverified_item_is_marked_below_it_and_a_row_is_named() -> None:
    items = (ListItem("legs"), ListItem("wings", quote=CLOSEST, is_verified=False))
    says = "(not verified) The closest words of the book: “It walks far.”"
    assert texts_of(ReplyBlock("list", items=items)) == ["• legs", "• wings", f"  {says}"]
    table = ReplyBlock("table", rows=RATES, has_header=True, unverified_rows=(UnverifiedRow(1, CLOSEST),))
    assert texts_of(table)[-1] == f"Motor: {says}"
