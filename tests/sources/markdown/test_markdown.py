"""Renders Markdown and MDX as a reader of the built site sees them."""

from __future__ import annotations

import pytest
from tests.sources.shapes import Shape, shape_of

from bookbound.domain.document import find_source_span
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import DOCUSAURUS_MARKDOWN, PLAIN_MARKDOWN, PLAIN_MDX


def visible(source: str, docusaurus: bool = False) -> str:
    return render_markdown(source, DOCUSAURUS_MARKDOWN if docusaurus else PLAIN_MARKDOWN)[0]


def shape(source: str, docusaurus: bool = False) -> Shape:
    return shape_of(render_markdown(source, DOCUSAURUS_MARKDOWN if docusaurus else PLAIN_MARKDOWN))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A **bold** and *quiet* ~~old~~ `code()` word.", "A bold and quiet old code() word."),
        ("See [the guide](https://x.y/guide 'Guide') now.", "See the guide now."),
        ("See [guide](/guide) guide.", "See guide guide."),
        ("See [a][1] and [b].\n\n[1]: /a\n[b]: /b", "See a and b."),
        ("![A robot](robot.png) walks", "A robot walks"),
        ("[![Build](badge.svg)](/ci) passes", "Build passes"),
        ("Open <https://x.y/z> or <me@x.y>.", "Open https://x.y/z or me@x.y."),
        ("R&amp;D &copy; \\*kept\\* &#35;", "R&D © *kept* #"),
        ("a < b and x<5 and 3 > 2", "a < b and x<5 and 3 > 2"),
        ("one\ntwo  \nthree\\\nfour", "one two\nthree\nfour"),
        ("`` a`b `` and ` c `", "a`b and c"),
        ("H<sub>2</sub>O and a<br/>b", "H2O and a b"),
        ("**<b>_x_</b>** y", "x y"),
        ("Costs $5 and $6, or $x^2$ of it", "Costs $5 and $6, or x^2 of it"),
        ("Note[^1].\n\n[^1]: The note.\n\nEnd", "Note.\n\nThe note.\n\nEnd"),
        ("snake_case_name and __init__.py", "snake_case_name and init.py"),
        ("- [x] done\n- [ ] open", "- done\n- open"),
        ("> [!NOTE]\n> Mind the gap", "NOTE\n\nMind the gap"),
    ],
)
def test_markup_is_hidden_and_words_are_visible(source: str, text: str) -> None:
    assert visible(source) == text


@pytest.mark.parametrize("docusaurus", [True, False])
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Before\n\n![A hand](a.png)\n\nAfter", "Before\n\nAfter"),
        ("[![A hand](a.png)](b) ![An arm](b.png)\n*Figure 1: both*", "Figure 1: both"),
        ('<img src="a.png" alt="A hand" />', ""),
        ('<p align="center">\n  <img src="a.png" alt="A hand" />\n</p>\n\nAfter', "After"),
        ("- ![A hand](a.png)\n- Words", "- Words"),
        ("# ![The Robot Book](logo.png)", "The Robot Book"),
    ],
)
def test_the_description_of_a_picture_is_no_sentence(source: str, text: str, docusaurus: bool) -> None:
    assert visible(source, docusaurus) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import A from 'a';\nimport {\n  B,\n} from 'b';\n\nText", "Text"),
        ("export const a = () => {\n  return (\n\n    <p>{x}</p>\n  );\n};\n\nText", "Text"),
        ("import the module and export it", "import the module and export it"),
        ("{/* a\n\ncomment */}\n\nText {1 + 1} ends{' '}here {'with words'}.", "Text ends here with words."),
        ("<!-- gone -->\nText<!-- gone --> stays", "Text stays"),
        ("<Tip style={{color: 'red', a: {b: 1}}}\n  wide\n>\n\nInside\n\n</Tip>", "Inside"),
        ('<TabItem value="py" label="Python">\n\nText\n\n</TabItem>', "Python\n\nText"),
        ('<TabItem value="Rust">\nText\n</TabItem>', "Rust\n\nText"),
        ("<details>\n<summary>More</summary>\nHidden\n</details>", "More\n\nHidden"),
        ('Press <img src="a.png" alt="the button" /> now', "Press the button now"),
        ('- item\n\n<Figure src="./a.png" caption="The arm" />', "- item\n\nThe arm"),
        ("<style>{`p {}`}</style>\n<script>var a;</script>\n\nText", "Text"),
        ("Use `<Tabs>` and `{x}`; $a_{i}$ too.", "Use <Tabs> and {x}; a_{i} too."),
        ("```jsx\n<Tabs>{x}</Tabs>\nimport a from 'b'\n```", "<Tabs>{x}</Tabs>\nimport a from 'b'"),
        ("```mdx-code-block\n<Box>\n\nText\n\n</Box>\n```", "Text"),
        ("        deep text is no code", "deep text is no code"),
        ("Vector\\<T> and \\{braces}", "Vector<T> and {braces}"),
    ],
)
def test_jsx_and_imports_are_hidden_and_their_words_are_visible(source: str, text: str) -> None:
    assert visible(source, docusaurus=True) == text


def test_outside_docusaurus_braces_are_text_and_mdx_has_imports() -> None:
    assert visible("Set {name} here") == "Set {name} here"
    assert visible("import os from 'x'") == "import os from 'x'"
    assert render_markdown("import os from 'x'\n\n{/* no */}Set {name}", PLAIN_MDX)[0] == "Set {name}"


def test_templates_and_attribute_lists_are_hidden() -> None:
    assert visible('{% hint style="info" %}\nMind\n{% endhint %}') == "Mind"
    assert visible("[a](b){: .button } and ![c](d){ width=30 }") == "a and c"
    assert visible("{{#include a.rs}}\n\nText") == "Text"


@pytest.mark.parametrize(
    ("source", "title", "body"),
    [
        (":::note\nBody\n:::", "note", "Body"),
        (":::tip[A **title**]\nBody\n:::", "A title", "Body"),
        (":::warning Two words\n\nBody\n\n:::", "Two words", "Body"),
        (":::note{#here .there}\nBody\n:::", "note", "Body"),
        ("/// tip | Piped\n\nBody\n\n///", "Piped", "Body"),
        ('!!! note "Quoted"\n\n    Body', "Quoted", "Body"),
        ("??? danger\n    Body", "danger", "Body"),
        ('=== "Tab"\n\n    Body', "Tab", "Body"),
    ],
)
def test_an_admonition_shows_its_title_or_name(source: str, title: str, body: str) -> None:
    assert shape(source) == [("admonition", [("paragraph", title), ("paragraph", body)])]


def test_admonitions_can_be_nested_and_in_lists() -> None:
    assert shape("::::note\nOuter\n:::tip\nInner\n:::\n::::", docusaurus=True) == [
        (
            "admonition",
            [
                ("paragraph", "note"),
                ("paragraph", "Outer"),
                ("admonition", [("paragraph", "tip"), ("paragraph", "Inner")]),
            ],
        )
    ]
    assert visible("- a\n\n  :::tip\n  b\n  :::\n\n- c", docusaurus=True) == "- a\ntip\nb\n- c"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("1. one\n1. two\n1. three", "1. one\n2. two\n3. three"),
        ("4) one\n4) two\n9) three", "4) one\n5) two\n6) three"),
        ("0. one\n0. two", "0. one\n1. two"),
        ("1. one\n   1. deep\n   1. deep too\n1. two", "1. one\n  1. deep\n  2. deep too\n2. two"),
        ("1. one\n   - deep\n1. two\n\nBetween\n\n1. new", "1. one\n  - deep\n2. two\n\nBetween\n\n1. new"),
    ],
)
def test_the_first_number_of_a_list_counts_and_the_others_follow(source: str, text: str) -> None:
    assert visible(source) == text


def test_list_items_begin_with_their_markers_and_nested_ones_are_indented() -> None:
    source = "1. one\n   ```sh\n   ls\n   ```\n2. two\n   - deep\n     * deeper\n"
    assert visible(source) == "1. one\nls\n2. two\n  - deep\n    * deeper"
    assert shape("- a\n- b") == [("list", [("item", [("paragraph", "a")]), ("item", [("paragraph", "b")])])]
    text, _, blocks, _ = render_markdown("* a\n\n10) b", PLAIN_MARKDOWN)
    assert [text[item.start : item.end] for block in blocks for item in block.children] == ["* a", "10) b"]
    assert visible("- - a") == "- - a"


def test_a_table_has_rows_with_bars_between_cells() -> None:
    source = "| A | `b|c` |\n|---|:-:|\n| x \\| y | **z** |\n| | only |\n"
    text, spans, blocks, _ = render_markdown("| A |  |\n|---|---|\n| x \\| y | **z** |\n| | only |\n", PLAIN_MARKDOWN)
    assert text == "A\nx | y | z\n | only"
    assert [row.kind for row in blocks[0].children] == ["row", "row", "row"]
    start, end = find_source_span(spans, text.index("x |"), text.index(" | z"))
    assert "| A |  |\n|---|---|\n| x \\| y | **z** |"[start:end] == "x \\| y"
    assert "only" in visible(source)


def test_code_keeps_its_lines_and_shows_its_title() -> None:
    source = '- step\n\n  ```py title="a.py"\n  def f():\n\n      return 1\n  ```\n'
    assert visible(source) == "- step\na.py\ndef f():\n\n    return 1"
    assert shape("```mermaid\na --> b\n```") == [("code", "a --> b")]
    assert shape("    <b>indented</b>\n    code") == [("code", "<b>indented</b>\ncode")]
    assert visible("```\nunclosed\n\nto the end") == "unclosed\n\nto the end"


def test_display_formulas_are_verbatim() -> None:
    assert shape("$$\na < b \\\\\n\\frac{1}{2}\n$$") == [("formula", "a < b \\\\\n\\frac{1}{2}")]


ONE_ROW = [("table", [("row", "Name | Ratio"), ("row", "Elbow | 120 to 1")])]
TWO_ITEMS = [("list", [("item", [("paragraph", "One")]), ("item", [("paragraph", "Two bold")])])]
CODE = [("code", "def f(a):\n    return a < 1\n\nf(2)")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<div>One</div><p>Two</p><p>Three</p>", [("paragraph", name) for name in ("One", "Two", "Three")]),
        ("<details><summary>Why?</summary>So.</details>", [("paragraph", "Why?"), ("paragraph", "So.")]),
        ("<blockquote><p>One</p><p>Two</p></blockquote>", [("paragraph", "One"), ("paragraph", "Two")]),
        ("<ul><li>One</li><li>Two <b>bold</b></li></ul>", TWO_ITEMS),
        ("<ul>\n  <li>One\n  <li>Two **bold**\n</ul>", TWO_ITEMS),
        ("<UL>\n<LI><p>One</p></LI>\n\n<LI>Two bold</LI>\n</UL>", TWO_ITEMS),
        (
            "<table><tr><th>Name</th><th>Ratio</th></tr><tr><td>Elbow</td><td>120<br>to <em>1</em></td></tr></table>",
            ONE_ROW,
        ),
        (
            "<table>\n<thead>\n<tr><th>Name<th>Ratio\n</thead>\n\n<tr>\n  <td><p>Elbow</p></td>\n  <td>120 to\n  1</td>"
            "\n</tr>\n</table>",
            ONE_ROW,
        ),
        ("<pre><code>\ndef f(a):\n    return a &lt; 1\n\nf(<b>2</b>)\n</code></pre>", CODE),
        ("<h2 id='x'>A <i>title</i></h2>\n<p>Words.</p>", [("heading", "A title"), ("paragraph", "Words.")]),
        (
            "Lead:\n<ul>\n<li>One</li>\n<li>Two bold</li>\n</ul>\nAfter",
            [("paragraph", "Lead:"), *TWO_ITEMS, ("paragraph", "After")],
        ),
        ("- Item\n\n  <pre>\n  code\n  </pre>\n", [("list", [("item", [("paragraph", "Item"), ("code", "  code")])])]),
    ],
)
def test_html_blocks_keep_their_boundaries_and_kinds(source: str, expected: Shape) -> None:
    assert shape(source) == expected


def test_html_lists_are_nested_and_numbered() -> None:
    source = "<ol start=3><li>One<ul><li>Inner</li></ul></li><li>Two</li></ol>"
    assert visible(source) == "3. One\n  - Inner\n4. Two"
    inner = ("list", [("item", [("paragraph", "Inner")])])
    assert shape(source) == [
        ("list", [("item", [("paragraph", "One"), inner]), ("item", [("paragraph", "Two")])]),
    ]


def test_markdown_inside_html_stays_markdown() -> None:
    source = "<table>\n<tr><td>\n\n```sh\nls\n```\n\n</td></tr>\n</table>"
    assert shape(source) == [("code", "ls")]
    assert shape("<ul>\n\n- one\n\n</ul>") == [("list", [("item", [("paragraph", "one")])])]
    assert visible("| a | b |\n|---|---|\n| <ul><li>x</li><li>y</li></ul> | z |") == "a | b\nx y | z"


def test_preformatted_text_without_visible_words_leaves_no_trace() -> None:
    assert visible("<pre><code>{% include 'a.py' %}</code></pre>\n\nAfter") == "After"


def test_the_anchor_of_an_html_heading_is_its_id() -> None:
    blocks = render_markdown("<h2 id='gears'>Gears</h2>\n\nWords.", PLAIN_MARKDOWN).blocks
    assert [(block.kind, block.level, block.anchor) for block in blocks[:1]] == [("heading", 2, "gears")]


def test_indented_html_is_not_code() -> None:
    assert shape("<table>\n    <tr><td>one</td><td>two &amp; three</td></tr>\n</table>") == [
        ("table", [("row", "one | two & three")])
    ]


def test_every_word_maps_to_its_position() -> None:
    source = "> A *b* &lt; [word](word) word\n> and `word`"
    text, spans, _, _ = render_markdown(source, PLAIN_MARKDOWN)
    assert text == "A b < word word and word"
    places = [find_source_span(spans, at, at + 4)[0] for at in (6, 11, 20)]
    assert places == [source.index("[word") + 1, source.index(" word\n") + 1, source.index("`word") + 1]
    assert find_source_span(spans, 4, 5) == (source.index("&lt;"), source.index("&lt;") + 4)


def test_words_after_an_image_or_link_are_not_found_in_its_target() -> None:
    for source in ("![pic](word)word", "[pic](word)word", "[![pic](word)](word)word", "[pic][word]word\n\n[word]: /u"):
        text, spans, _, _ = render_markdown(source, PLAIN_MARKDOWN)
        assert text == "picword"
        assert find_source_span(spans, 3, 7)[0] == source.split("\n")[0].rindex("word")


def test_colour_tags_in_a_terminal_are_hidden() -> None:
    code = "```console\n$ <font color=\"#4E9A06\">run</font> --on <u style='x'>a.py</u>\n\n  <b>done</b> <module>\n```"
    shown = "$ run --on a.py\n\n  done <module>"
    source = f'<div class="termy">\n\n{code}\n\n</div>\n\n{code}'
    rendered = render_markdown(source, PLAIN_MARKDOWN)
    assert [block.kind for block in rendered.blocks] == ["code", "code"]
    first, second = (rendered.text[block.start : block.end] for block in rendered.blocks)
    assert first == shown
    assert second == code.removeprefix("```console\n").removesuffix("\n```")


@pytest.mark.parametrize("marker", ["> ", "- ", "1. ", "> - "])
def test_words_below_the_deepest_level_are_kept(marker: str) -> None:
    assert render_markdown(marker * 500 + "deep", PLAIN_MARKDOWN).text.endswith("deep")
    nested = "\n".join(" " * len(marker) * depth + f"{marker}item" for depth in range(300))
    assert render_markdown(nested, PLAIN_MARKDOWN).text.count("item") == 300
