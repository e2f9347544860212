"""Renders HTML as visible text with its structure."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.shapes import Shape
from tests.sources.shapes import shape_of as shape

from bookbound.domain.document import Page
from bookbound.sources.html import MAX_BLOCK_DEPTH, render_html
from bookbound.sources.html.elements import HtmlElement, find_language


def anchors(html: str) -> list[tuple[str, str]]:
    rendered = render_html(html)
    return [(rendered.text[b.start : b.end], b.anchor) for b in rendered.blocks if b.kind == "heading"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one\n  two</p><p>three", "one two\n\nthree"),
        ("<p>H<sub>2</sub>O and <b>bo</b>ld <i> x </i>y", "H2O and bold x y"),
        ("<p>a &amp; b &lt;c&gt; &nbsp;d&#8212;e &copy;", "a & b <c> \u00a0d\u2014e \u00a9"),
        ("one<br>two<br/><br>three", "one\ntwo\nthree"),
        ("<div>loose <span>words</span><p>own</p>tail</div>", "loose words\n\nown\n\ntail"),
        ("<p>a<script>no()</script><style>p{}</style><!-- no --><template>no</template><noscript>no</noscript>b", "ab"),
        ("<p hidden>no<p aria-hidden=true>no<p style='color:red; display: none'>no<p class=sr-only>no<p>yes", "yes"),
        ("<button>Copy</button><select><option>no</select><textarea>no</textarea><input value=no>yes", "yes"),
        ("<details><summary>More</summary>inside</details>", "More\n\ninside"),
        ("<div role=tabpanel hidden>other tab</div>", "other tab"),
        ("<button role=tab>One</button><button role=tab>Two</button>", "One\n\nTwo"),
        ("<p>note<sup class=footnote-ref><a href='#fn'>1</a></sup> goes on<a role=doc-noteref>2</a>", "note goes on"),
        ("<svg><title>no</title><text>drawn</text></svg> yes", "drawn yes"),
        ("<dl><dt>Term<dd>Meaning<dd>Another</dl>", "Term\n\nMeaning\n\nAnother"),
        ("<figure><img alt=no><figcaption>Caption.</figcaption></figure>", "Caption."),
        ("<video>no</video><audio>no</audio><iframe>no</iframe><object>no</object><canvas>no</canvas>yes", "yes"),
        ("<p>unclosed <b>and <p>crossed <i>tags</b></i> </div>", "unclosed and\n\ncrossed tags"),
        ("", ""),
        ("<p>&nbsp;</p>\n<div> </div>", ""),
    ],
)
def test_only_visible_text_is_rendered(html: str, text: str) -> None:
    assert render_html(html).text == text


def test_list_items_have_markers_and_nested_ones_are_indented() -> None:
    rendered = render_html("<ol start=3><li>three<li value=7><p>seven</p><ul><li>in</ul><li></ol><ul><li>dot</ul>")
    assert rendered.text == "3. three\n7. seven\n  - in\n\n- dot"
    assert shape(rendered) == [
        (
            "list",
            [
                ("item", [("paragraph", "three")]),
                ("item", [("paragraph", "seven"), ("list", [("item", [("paragraph", "in")])])]),
            ],
        ),
        ("list", [("item", [("paragraph", "dot")])]),
    ]


def test_a_table_has_rows_with_bars_between_cells() -> None:
    rendered = render_html(
        "<table><caption>Prices</caption><thead><tr><th>A<th>B<th>C<tbody><tr><td><p>1</p><p>2</p><td><td><code>x|y</code>"
        "<tr><td><td>only<tr><td><td></table>"
    )
    assert rendered.text == "Prices\n\nA | B | C\n1 2 |  | x|y\n | only"
    [(kind, parts)] = shape(rendered)
    assert (kind, [part[0] for part in parts]) == ("table", ["paragraph", "row", "row", "row"])


@pytest.mark.parametrize(
    "html",
    [
        "<table role=presentation><tr><td><h2>Head</h2><p>words</table>",
        "<table><tr><td><h2>Head</h2><td><p>words</table>",
        "<table><tr><td>Head<table><tr><td>words</table></table>",
    ],
)
def test_a_layout_table_is_not_a_table(html: str) -> None:
    rendered = render_html(html)
    assert "|" not in rendered.text
    assert rendered.text.split() == ["Head", "words"]


@pytest.mark.parametrize(
    "html",
    [
        "<pre>\ndef f():\n    return 1\n\nf()\n</pre>",
        "<pre><code><span class=line>def f():</span>\n<span>    </span><span>return 1</span>\n\nf()</code></pre>",
        "<pre><code><span class=token-line>def f():<br></span><span>    return 1<br></span><span><br></span>f()</code>",
        "<pre><code><div>def f():</div><div>    return 1</div><div></div><div>f()</div></code></pre>",
        "<table class=highlighttable><tr><td class=linenos><pre>1\n2\n3\n4</pre><td class=code>"
        "<pre>def f():\n    return 1\n\nf()</pre></table>",
        "<table class=lntable><tr><td><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span></code></pre>"
        "<td><pre>def f():\n    return 1\n\nf()</pre></table>",
        "<pre><b class=linenos>1</b>def f():\n<b class=linenos>2</b>    return 1\n\nf()<button>Copy</button>",
    ],
)
def test_code_keeps_its_lines_without_line_numbers(html: str) -> None:
    assert shape(render_html(html)) == [("code", "def f():\n    return 1\n\nf()")]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<span class=katex><span class=katex-mathml><math><semantics><mrow><mi>x</mi></mrow><annotation"
         " encoding='application/x-tex'>x^2</annotation></semantics></math></span><span class=katex-html"
         " aria-hidden=true>x2</span></span>", [("paragraph", "Let x^2 be.")]),
        ("<span class='math notranslate'>\\(x^2\\)</span>", [("paragraph", "Let x^2 be.")]),
        ("<script type='math/tex'>x^2</script><span class=MathJax>x2</span>", [("paragraph", "Let x^2 be.")]),
        ("<mjx-container><mjx-math aria-hidden=true>x2</mjx-math><math alttext='x^2'><mi>x</mi></math></mjx-container>",
         [("paragraph", "Let x^2 be.")]),
        ("<img class=math alt='x^2'>", [("paragraph", "Let x^2 be.")]),
        ("<div class=math>\\[x^2\\]</div>", [("paragraph", "Let"), ("formula", "x^2"), ("paragraph", "be.")]),
        ("<div class=arithmatex><span class=eqno>(7)</span>\\[x^2\\]</div>",
         [("paragraph", "Let"), ("formula", "x^2 (7)"), ("paragraph", "be.")]),
        ("<math display=block><mi>x</mi><mn>2</mn></math>",
         [("paragraph", "Let"), ("formula", "x2"), ("paragraph", "be.")]),
    ],
)  # fmt: skip
def test_a_formula_appears_once_and_as_tex_if_the_page_has_it(html: str, found: Shape) -> None:
    assert shape(render_html(f"Let {html} be.")) == found


@pytest.mark.parametrize(
    "opening",
    [
        "<div class='admonition note'>",
        "<div class='theme-admonition theme-admonition-tip'>",
        "<details class=warning open>",
        "<div class='alert alert-info'>",
        "<div class='markdown-alert'>",
        "<aside role=note>",
        "<div class='custom-block tip'>",
        "<blockquote class=blockquote-tag>",
    ],
)
def test_an_admonition_of_any_generator_is_one_block(opening: str) -> None:
    assert shape(render_html(f"{opening}<p>Title</p><p>Words.</p>")) == [
        ("admonition", [("paragraph", "Title"), ("paragraph", "Words.")])
    ]


@pytest.mark.parametrize(
    ("html", "anchor"),
    [
        ("<h2 id=own>Head</h2>", "own"),
        ("<h2 id=own><a class=header href='#own'>Head</a></h2>", "own"),
        (
            "<section id=part><span id=label></span><h2>Head<a class=headerlink href='#part'>¶</a></h2></section>",
            "part",
        ),
        ("<section id=part><h2>Head</h2></section>", "part"),
        ("<h2>Head<a href='#linked'>#</a></h2>", "linked"),
        ("<h2><a name=named></a>Head</h2>", "named"),
        ("<a id=before></a><h2>Head</h2>", "before"),
        ("<a id=far></a><p>words</p><h2>Head</h2>", ""),
        ("<h2>Head<a href='#w%C3%B6rter' class=hash-link>\u200b</a></h2>", "wörter"),
        ("<h2>Head</h2>", ""),
    ],
)
def test_a_heading_has_the_anchor_that_opens_it(html: str, anchor: str) -> None:
    assert anchors(html) == [("Head", anchor)]


def test_a_link_with_words_is_not_a_permalink() -> None:
    assert (
        render_html("<h2>See <a href='#x'>C#</a></h2><p><a href='#top'>Top</a> <a href=/x>¶</a>").text
        == "See C#\n\nTop ¶"
    )


def test_a_long_link_is_not_a_permalink() -> None:
    drawn = "<svg>" + "<path/>" * 200 + "</svg>"
    html = f"<p>A <a href='#x'>{drawn} word</a> and <a href='#y'>{'. ' * 200}word</a>"
    assert render_html(html).text.count("word") == 2


def test_a_very_long_heading_is_a_paragraph() -> None:
    assert shape(render_html(f"<h1>{'name ' * 400}</h1>"))[0][0] == "paragraph"


def test_nesting_is_limited_and_no_word_is_lost() -> None:
    rendered = render_html("<ul><li>" * 500 + "deep")
    depth, blocks = 0, rendered.blocks
    while blocks:
        depth, blocks = depth + 1, blocks[0].children
    assert rendered.text.endswith("deep")
    assert depth <= MAX_BLOCK_DEPTH + 1


PIECES = st.sampled_from(
    "<p> </p> <div> </div> <ul> <ol> <li> </ul> <table> <tr> <td> <th> </td> </table> <pre> </pre> <h1> </h1> <br>"
    " <h2/id=x> <b> </b> <math> </math> <svg> </svg> <details> <summary> <span/hidden> <a/href=#x> </a> <code>"
    " <select> <dl> <dt> <dd> <script> </script> <!-- --> <div/class=math> &amp; &nbsp; &#0; \\[ word |".split()
)


@given(pieces=st.lists(PIECES | st.text(max_size=4), max_size=60))
def test_any_html_gives_exact_spans_and_blocks(pieces: list[str], faults: Callable[[Page], list[str]]) -> None:
    rendered = render_html(" ".join(pieces))
    assert faults(Page("a.html", "/a", "", "", 0, rendered.text, *rendered)) == []


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("language-python", "python"),
        ("lang-c++", "c++"),
        ("highlight-python3", "python3"),
        ("highlight-source-shell", "shell"),
        ("brush:python", "python"),
        ("language-none", ""),
        ("highlighted", ""),
    ],
)
def test_the_class_of_code_names_its_language(name: str, language: str) -> None:
    assert find_language(HtmlElement("pre", {"class": name})) == language
