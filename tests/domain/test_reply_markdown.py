"""What a reader sees of a reply that is Markdown; markdown-it reads it as CommonMark with tables."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.domain.test_reply_blocks import PROSE, make_chunk, markdown, quote, quote_all

from bookbound.domain.reply import AnswerSentence
from bookbound.domain.reply_blocks import ListItem, ReplyBlock
from bookbound.domain.reply_markdown import escape_markdown, render_markdown

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
LISTS = re.compile(r"</?[ou]l|<li>[^<\n]*|start=.\d+.")


def test_a_text_of_an_interface_keeps_its_markup() -> None:
    assert markdown("See *below*.") == "See *below*."
    assert markdown(quote(PROSE, 0), "[Legs](/a)") == "It walks. [Legs](/a)"


def read_list(*items: ListItem) -> list[str]:
    """Returns the lists and items that a reader of the Markdown sees."""
    rendered = MARKDOWN.render(render_markdown([ReplyBlock("list", items=items)]))
    tight = rendered.replace("<li>\n<p>", "<li>")
    return [each.removeprefix("<li>").strip() for each in LISTS.findall(tight)]


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


@pytest.mark.parametrize("above", ["", "1."])
def test_a_list_inside_an_item_is_seen_as_a_list_whatever_its_first_number_is(above: str) -> None:
    seen = read_list(ListItem("legs", above), ListItem("feet", "2.", 1), ListItem("toes", "3.", 1), ListItem("arms"))
    outer = "ol" if above else "ul"
    inner = ["<ol", 'start="2"', "feet", "toes", "</ol"]
    end = ["</ol", "<ul", "arms", "</ul"] if above else ["arms", "</ul"]
    assert seen == [f"<{outer}", "legs", *inner, *end]


def test_a_number_after_a_bullet_of_the_same_list_is_seen_as_an_item() -> None:
    seen = read_list(ListItem("legs"), ListItem("feet", "2."), ListItem("toes", "3."))
    assert seen == ["<ul", "legs", "</ul", "<ol", 'start="2"', "feet", "toes", "</ol"]


@pytest.mark.parametrize(("one", "two"), [("a.", "b."), ("a)", "b)"), ("(a)", "(b)"), ("(1)", "(2)")])
def test_items_with_letters_or_brackets_are_seen_one_below_the_other(one: str, two: str) -> None:
    rendered = MARKDOWN.render(
        render_markdown([ReplyBlock("list", items=(ListItem("Look.", one), ListItem("Go.", two)))])
    )
    first, second = re.split(r"</li>|</p>|<br />", rendered, maxsplit=1)
    assert f"{one} Look." in first
    assert f"{two} Go." in second


def read_cells(block: ReplyBlock) -> list[str]:
    """Returns the cells that a reader of the Markdown sees."""
    return [unescape(cell) for cell in re.findall(r"<t[hd]>(.*)</t[hd]>", MARKDOWN.render(render_markdown([block])))]


def test_cells_are_seen_as_they_are_and_short_rows_are_filled() -> None:
    block = ReplyBlock("table", rows=(("Name", "Type"), ("*args", "int|str"), ("__init__",)), has_header=True)
    assert read_cells(block) == ["Name", "Type", "*args", "int|str", "__init__", ""]


def test_a_fence_is_longer_than_the_backticks_in_the_code() -> None:
    code = "````\n```python\nwalk()\n```\n````"
    said = markdown(quote(make_chunk(("code", code)), 0))
    assert said == f"`````\n{code}\n`````"
    assert unescape(MARKDOWN.render(said)) == f"<pre><code>{code}\n</code></pre>\n"


def test_code_is_not_escaped() -> None:
    assert (
        markdown(quote(make_chunk(("code", "def __init__(*args): pass")), 0)) == "```\ndef __init__(*args): pass\n```"
    )


def test_a_heading_is_bold() -> None:
    chunk = make_chunk(("heading", "Using *args"), "\n\n", ("sentence", "They help."))
    assert markdown(quote(chunk, 0, 1)) == "**Using \\*args**\n\nThey help."


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


def test_a_formula_is_no_link_for_a_program_without_formulas() -> None:
    text = render_markdown([ReplyBlock("formula", "[a](javascript:alert(1)) + f[0](x)", ())])
    assert "](" not in text
    assert "f[0] (x)" in text
