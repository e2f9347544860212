"""Tests that pages of every source format keep their code, formulas, pictures, links, lists, tables and notes."""

from __future__ import annotations

import asyncio
import re
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bookbound.domain.chunk import Place
from bookbound.domain.outline import Outline, outline_page
from bookbound.domain.ports import Index
from bookbound.indexing.split import split_page
from bookbound.server.page.book_page import render_page
from bookbound.server.page.page_blocks import MAX_DEPTH
from bookbound.server.page.page_content import BookLinks
from bookbound.server.page.pygments import LANGUAGES, MAX_CHARS, StyledCode, highlight_code
from bookbound.sources import parse_book

CODE = "<code>"
REQUEST = "GET /a HTTP/1.1\nHost: b"
SAMPLES = """# A
// a
-- a
$ ls "a" 1
> echo "b" 2
+ a
- b
"c": 'd'
% a
>>> a = "b"
set(A "b" 1)
REM a
<?php echo "b"; {{ a | b(1) }} ?>
`a` **b**
a: "b"
<b a='c'>"""
"""Comments, prompts, strings, numbers and changes of many languages."""
BUDGET = 30
"""A few tokens, so that lists, tables and code are cut into several chunks."""


def render(folder: Path, **sources: str) -> str:
    """The text of the first page of a book as the server shows it, in one line; `⏎` is a line break."""
    for name, source in sources.items():
        file = folder / name.replace("_", ".")
        file.write_text(source, encoding="utf-8")
    book = parse_book(folder)
    chunks = {page.file: split_page(page, lambda text: len(text.split()), BUDGET) for page in book.pages}
    outline = Outline(tuple(map(outline_page, chunks.values())), {})

    async def get_outline() -> Outline:
        return outline

    async def get_chunks(file: str) -> Any:
        return chunks[file]

    index = SimpleNamespace(manifest=SimpleNamespace(title="A"), outline=get_outline, chunks=get_chunks)
    page = asyncio.run(render_page(cast(Index, index), None))
    article = re.sub(r">\s*\n\s*<", "><", page.split("<article>")[1].split("</article>")[0])
    return " ".join(re.sub(r"(?<=\S)\n(?=\S)", "⏎", article).split())


def make_place(file: str, url: str) -> Place:
    return Place(file, url, chapter="", title="", headings=(), anchor="", start=0, end=0)


MARKDOWN = (
    "# A\n\nUse `ls -l`, *not* **dir**, or **`both`** and $x^2$. See [the manual](https://example.org/a?b=1#c).\n"
)
RST = """A
=

Use ``ls -l``, *not* **dir**, and :math:`x^2`. See `the manual <https://example.org/a?b=1#c>`_.
"""
HTML = """<main><h1>A</h1><p>Use <code>ls -l</code>, <em>not</em> <b>dir</b>.
See <a href="https://example.org/a?b=1#c">the manual</a>.</p></main>"""


@pytest.mark.parametrize("source", [{"a_md": MARKDOWN}, {"a_mdx": MARKDOWN}, {"index_rst": RST}, {"index_html": HTML}])
def test_inline_markup_of_every_format_is_shown(tmp_path: Path, source: dict[str, str]) -> None:
    shown = render(tmp_path, **source)
    assert 'Use <code dir="ltr">ls -l</code>, <em>not</em> <strong>dir</strong>' in shown
    assert '<a href="https://example.org/a?b=1#c" rel="noopener noreferrer">the manual</a>.' in shown
    if "html" not in next(iter(source)):
        assert '<code class="formula" dir="ltr">x^2</code>' in shown
    if "md" in next(iter(source)):
        assert '<strong><code dir="ltr">both</code></strong>' in shown


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//[",
    ],
)
def test_a_link_that_is_not_to_the_web_or_the_book_is_only_words(tmp_path: Path, target: str) -> None:
    shown = render(tmp_path, index_html=f'<main><h1>A</h1><p>Go <a href="{target}">there</a> now.</p></main>')
    assert '<p dir="auto">Go there now.</p>' in shown
    assert "href" not in shown


def test_links_to_files_and_pages_of_the_book_lead_to_its_pages(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.md").write_text("# C\n\nWords.\n")
    links = "[b](b.md#two) [c](./deep/c) [here](#a) [mail](mailto:a@b.org) [none](gone.md)"
    shown = render(tmp_path, a_md=f"# A\n\nSee {links}.\n", b_md="# B\n\n## Two\n\nWords.\n")
    assert '<a href="./read/b.md#two">b</a> <a href="./read/deep/c.md">c</a> <a href="#a">here</a>' in shown
    assert '<a href="mailto:a@b.org" rel="noopener noreferrer">mail</a> none.' in shown


@pytest.mark.parametrize(("file", "target"), [("guide/a.md", "../"), ("guide/a.md", "../index.md"), ("b.md", "./")])
@pytest.mark.parametrize("base", ["", "https://book.example/"])
def test_links_to_the_folder_of_the_book_lead_to_its_first_page(file: str, target: str, base: str) -> None:
    pages = [make_place(name, base and base + name) for name in ("other.md", file, "index.md")]
    assert BookLinks(pages, pages[1], ".").resolve(target) == "./read/index.md"


def test_pages_without_an_address_are_not_taken_for_the_root_of_a_site() -> None:
    pages = [make_place(name, "") for name in ("a.md", "b.md")]
    assert BookLinks(pages, pages[0], "").resolve("/") == ""


def test_references_of_rst_lead_to_their_places(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text("project = 'A'\n")
    index = "A\n=\n\nSee :doc:`b`, :ref:`two`, :doc:`this <b>`, home_ and :func:`os.walk`.\n\n.. _home: https://e.org\n"
    shown = render(
        tmp_path, index_rst=f"{index}\n.. toctree::\n\n   b\n", b_rst="B\n=\n\nText.\n\n.. _two:\n\nTwo\n---\n\nX.\n"
    )
    assert (
        'See <a href="./read/b.rst">B</a>, <a href="./read/b.rst#two">Two</a>, <a href="./read/b.rst">this</a>,'
        in shown
    )
    assert '<a href="https://e.org" rel="noopener noreferrer">home</a> and <code dir="ltr">os.walk()</code>.' in shown


def test_code_keeps_its_characters_and_its_language_colours_it(tmp_path: Path) -> None:
    lines = "\n".join(f"    value_{number} = {number}  # step" for number in range(40))
    shown = render(tmp_path, a_md=f'# A\n\n```python title="run.py"\ndef run():\n{lines}\n```\n')
    assert '<p class="caption" dir="auto">run.py</p>' in shown
    assert '<span class="k">def</span> <span class="f">run</span>' in shown
    assert shown.count('<span class="c"># step</span>') == 40
    assert shown.count("<pre") == 1


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_highlighting_changes_no_character(language: str) -> None:
    texts = ("$ ls -l\nfile", "\n  a = '<b>' # c\n\tx", "no newline", "{", "<a href='x'>", REQUEST, SAMPLES)
    pieces = [highlight_code(text, language) for text in texts]
    assert ["".join(piece.text for piece in each) for each in pieces] == [*texts]
    assert any(piece.style for each in pieces for piece in each)


@pytest.mark.parametrize("text", ["def x():\n    pass\n", "def x():\r\n    pass\r\n", "def x():\r    pass"])
def test_code_with_any_line_ends_is_highlighted(text: str) -> None:
    assert highlight_code(text, "python") == highlight_code("def x():\n    pass", "python")
    assert StyledCode("pass", "k") in highlight_code(text, "python")


def test_long_code_and_unknown_languages_are_not_highlighted() -> None:
    assert highlight_code("def x", "brainfuck") == (StyledCode("def x"),)
    assert len(highlight_code("def x\n" * MAX_CHARS, "python")) == 1


def test_lists_nest_and_keep_their_numbers(tmp_path: Path) -> None:
    items = "3. Third\n\n   More.\n\n   ```sh\n   ls\n   ```\n4. Fourth\n   - inner\n     - innermost\n"
    shown = render(tmp_path, a_md=f"# A\n\n{items}\n- a | b\n\na. x\n")
    assert '<ol><li dir="auto" value="3">Third<p dir="auto">More.</p><div class="code"><pre' in shown
    assert (
        '<li dir="auto" value="4">Fourth<ul><li dir="auto">inner<ul><li dir="auto">innermost</li></ul></li></ul>'
        in shown
    )
    assert '<ul><li dir="auto">a | b</li></ul>' in shown


def test_a_list_over_many_chunks_is_one_list(tmp_path: Path) -> None:
    items = "".join(f"- item {number} has some words of its own\n" for number in range(30))
    shown = render(tmp_path, a_md=f"# A\n\nAll:\n\n{items}")
    assert (shown.count("<ul>"), shown.count("<li")) == (1, 30)


def test_letters_and_terms_are_lists_of_their_kind(tmp_path: Path) -> None:
    shown = render(tmp_path, index_rst="A\n=\n\na. one\nb. two\n\nterm\n   Its meaning.\n")
    assert '<ol type="a"><li dir="auto" value="1">one</li><li dir="auto" value="2">two</li></ol>' in shown
    assert '<p class="term" dir="auto">term</p><p dir="auto">Its meaning.</p>' in shown


def test_a_list_that_starts_at_a_later_letter_keeps_it(tmp_path: Path) -> None:
    shown = render(tmp_path, index_rst="A\n=\n\nC. three\nD. four\n")
    assert '<ol type="A"><li dir="auto" value="3">three</li><li dir="auto" value="4">four</li></ol>' in shown


@pytest.mark.parametrize(
    "source",
    [
        {"a_md": "# A\n\n| N `a` | V |\n|---|---|\n| x | `a | b` |\n".replace("a | b", "a \\| b")},
        {"index_rst": "A\n=\n\n======= ========\nN ``a`` V\n======= ========\nx       ``a|b``\n======= ========\n"},
        {"index_html": f"<h1>A</h1><table><tr><th>N {CODE}a</code><th>V<tr><td>x<td>{CODE}a | b</code></table>"},
    ],
)
def test_tables_have_headers_and_a_bar_in_code_is_no_cell(tmp_path: Path, source: dict[str, str]) -> None:
    shown = render(tmp_path, **source)
    head, body = shown.split("<tbody>")
    assert '<th scope="col" dir="auto">N <code dir="ltr">a</code></th><th scope="col" dir="auto">V</th>' in head
    assert re.search(r'<tr><td dir="auto">x</td><td dir="auto"><code dir="ltr">a ?\| ?b</code></td></tr>', body)


@pytest.mark.parametrize(
    "source",
    [
        {"a_md": "# A\n\n:::warning\n\nTake *care*.\n\n:::\n"},
        {"a_md": "# A\n\n!!! warning\n    Take *care*.\n"},
        {"a_md": "# A\n\n> [!WARNING]\n> Take *care*.\n"},
        {"index_html": "<h1>A</h1><div class='admonition warning'><p>Warning</p><p>Take <i>care</i>.</div>"},
        {"index_rst": "A\n=\n\n.. warning::\n\n   Take *care*.\n"},
    ],
)
def test_admonitions_of_every_kind_have_title_and_tone(tmp_path: Path, source: dict[str, str]) -> None:
    shown = render(tmp_path, **source).lower()
    assert '<div class="note careful" role="note"><p class="title" dir="auto">warning</p>' in shown
    assert '<p dir="auto">take <em>care</em>.</p></div>' in shown


def test_an_admonition_with_only_a_title_does_not_take_the_quotation_after_it(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\n:::warning\n:::\n\n> Be brief.\n")
    assert '<p class="title" dir="auto">' in shown
    assert '<blockquote><p dir="auto">Be brief.</p></blockquote>' in shown


def test_an_empty_cell_is_not_a_header(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\n| | V |\n|---|---|\n| x | y |\n")
    assert '<thead><tr><td dir="auto"></td><th scope="col" dir="auto">V</th></tr></thead>' in shown


def test_a_quotation_of_the_name_of_an_alert_is_a_quotation(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\n> Note\n\n> Be brief.\n\n> [!NOTE]\n> Be kind.\n")
    assert (
        '<blockquote><p dir="auto">Note</p></blockquote><blockquote><p dir="auto">Be brief.</p></blockquote>' in shown
    )
    assert shown.endswith(
        '<div class="note" role="note"><p class="title" dir="auto">NOTE</p><p dir="auto">Be kind.</p></div>'
    )


def test_quotations_stay_quotations(tmp_path: Path) -> None:
    assert '<blockquote><p dir="auto">Be <em>brief</em>.</p></blockquote>' in render(
        tmp_path, a_md="# A\n\n> Be *brief*.\n"
    )


def test_lines_that_the_author_broke_stay_broken_and_others_do_not(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\nOne\nline.  \nAnother.\n")
    assert '<p dir="auto">One line.⏎Another.</p>' in shown


def test_very_deep_blocks_are_shown_on_the_last_level(tmp_path: Path) -> None:
    deep = "".join(f"{'  ' * level}- level {level}\n" for level in range(3 * MAX_DEPTH))
    shown = render(tmp_path, a_md=f"# A\n\n{deep}")
    assert all(f"level {level}" in shown for level in range(3 * MAX_DEPTH))
    assert shown.count("<ul>") <= MAX_DEPTH


def test_a_heading_without_text_appears_once(tmp_path: Path) -> None:
    assert render(tmp_path, a_md="# A\n\nX.\n\n## Alone\n\n## Next\n\nY.\n").count("Alone</h2>") <= 1


FORMULA = r"\sum_{i=1}^n a_i * b_i * c \\ < d"


@pytest.mark.parametrize("sign", ["$", "$$", "\\(", "\\\\("])
def test_a_formula_in_a_sentence_keeps_every_character(tmp_path: Path, sign: str) -> None:
    end = sign.replace("(", ")")
    shown = render(tmp_path, a_md=f"# A\n\nWe know {sign}{FORMULA}{end} well.\n")
    assert f'We know <code class="formula" dir="ltr">{escape(FORMULA)}</code> well.' in shown


@pytest.mark.parametrize(
    "source",
    [
        {"a_md": f"# A\n\nSo:\n\n$$\n{FORMULA}\n$$\n\nEnd.\n"},
        {"a_md": f"# A\n\nSo:\n\n```math\n{FORMULA}\n```\n\nEnd.\n"},
        {"index_rst": f"A\n=\n\nSo:\n\n.. math::\n\n   {FORMULA}\n\nEnd.\n"},
    ],
)
def test_a_formula_on_its_own_lines_keeps_every_character(tmp_path: Path, source: dict[str, str]) -> None:
    assert f'aria-label="Formula" dir="ltr">{escape(FORMULA)}</pre><p dir="auto">End.</p>' in render(tmp_path, **source)


def test_an_environment_of_tex_is_a_formula_and_an_open_one_is_text(tmp_path: Path) -> None:
    formula = "\\begin{align*}\na &= b \\\\\nc &= d\n\\end{align*}"
    shown = render(tmp_path, a_md=f"# A\n\nSo:\n{formula}\n\n\\begin{{align}} is open.\n")
    assert f'dir="ltr">{escape(formula)}</pre>'.replace("\n", "⏎") in shown
    assert "is open.</p>" in shown


@pytest.mark.parametrize("text", [r"a list\[my_index\] of \[x\]", r"do \(not\) stop", r"f\(x_1\) is"])
def test_escaped_brackets_are_not_a_formula(tmp_path: Path, text: str) -> None:
    assert f"We have {text.replace(chr(92), '')} here." in render(tmp_path, a_md=f"# A\n\nWe have {text} here.\n")


PICTURE = '<figure class="picture"><figcaption dir="auto"><span class="label">Picture</span>{}</figcaption>{}</figure>'


@pytest.mark.parametrize(
    "source",
    [
        {"a_md": "# A\n\nOne.\n\n![A *red* gear](img/gear.png)\n\nTwo.\n"},
        {"index_html": "<h1>A</h1><p>One.</p><img src=g.png alt='A *red* gear'><img src=i.png alt=''><p>Two."},
        {"index_rst": "A\n=\n\nOne.\n\n.. image:: g.png\n   :alt: A *red* gear\n\nTwo.\n"},
    ],
)
def test_a_picture_is_shown_by_its_description_where_it_is(tmp_path: Path, source: dict[str, str]) -> None:
    picture = PICTURE.format(" A *red* gear", "")
    assert f'<p dir="auto">One.</p>{picture}<p dir="auto">Two.</p>' in render(tmp_path, **source)


def test_a_picture_of_the_web_is_a_link_and_not_loaded(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\nOne.\n\n![](https://e.org/a.png)\n\n![B](ftp://e.org/b.png)\n\n![](c.png)\n")
    link = '<a href="https://e.org/a.png" rel="noopener noreferrer">Open the picture</a>'
    assert PICTURE.format("", link) + PICTURE.format(" B", "") in shown
    assert shown.count("<figure") == 2
    assert "<img" not in shown


def test_a_picture_stays_in_its_item_and_after_its_list(tmp_path: Path) -> None:
    shown = render(
        tmp_path, a_md="# A\n\n1. One\n\n   ![P](p.png)\n\n2. Two\n\n![Q](q.png)\n\n## B\n\n![R](r.png)\n\nEnd.\n"
    )
    one, two, three = (PICTURE.format(f" {name}", "") for name in "PQR")
    assert f'One{one}</li><li dir="auto" value="2">Two</li></ol>{two}<h2' in shown
    assert shown.endswith(f'</h2>{three}<p dir="auto">End.</p>')


def test_badges_and_pictures_inside_sentences_are_words_or_nothing(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\n[![build](https://e.org/b.svg)](https://e.org)\n\nPress ![OK](ok.png) now.\n")
    assert "<figure" not in shown
    assert "Press OK now." in shown


def test_each_neighbouring_section_with_the_same_heading_has_its_anchor(tmp_path: Path) -> None:
    shown = render(tmp_path, a_md="# A\n\n## Setup\n\nOne.\n\n## Setup\n\nTwo.\n\n## Setup\n\nThree.\n")
    assert re.findall(r'<h2[^>]*id="([^"]*)"', shown) == ["setup", "setup-1", "setup-2"]


def test_an_html_row_of_column_names_in_markdown_is_a_header(tmp_path: Path) -> None:
    rows = "<tr><th>N</th><th>V</th></tr>\n<tr><th>x</th><td>y</td></tr>"
    shown = render(tmp_path, a_md=f"# A\n\n<table>\n{rows}\n</table>\n")
    head, _, body = shown.partition("</thead>")
    assert '<th scope="col" dir="auto">N</th><th scope="col" dir="auto">V</th>' in head
    assert '<td dir="auto">x</td><td dir="auto">y</td>' in body
