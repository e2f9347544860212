"""Hides markup and keeps every other character in its position."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.markdown.dialect import DOCUSAURUS_MARKDOWN, PLAIN_MARKDOWN, PLAIN_MDX, MarkdownDialect
from bookbound.sources.markdown.markup import strip_markup

PIECES = (
    "<Tabs>¦</Tabs>¦<a b='c'>¦<br/>¦<!--¦-->¦{/*¦*/}¦{¦}¦`¦```\n¦~~~¦$¦$$¦import a from 'b'\n¦export const x = {\n¦\n"
    "¦\n\n¦    ¦# ¦{#id}¦[[x]]¦- ¦> ¦1. ¦word¦[¦](u)¦|¦:::note\n¦!!! tip\n¦\\¦---\n¦<script>¦[^1]: ¦\t¦\0¦é¦😀¦\u2e31"
    "¦'¦=¦{% a %}¦[ ] ¦<TabItem label='x'>¦<img alt='y'>¦{'s'}"
    "¦<ul>¦</ul>¦<li>¦<table>¦</table>¦<tr>¦<td>¦<pre>¦</pre>¦<h2>¦</h2>¦<p>"
).split("¦")
sources = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)


@pytest.mark.parametrize("dialect", [PLAIN_MARKDOWN, PLAIN_MDX, DOCUSAURUS_MARKDOWN])
@given(source=sources)
def test_the_length_and_the_newlines_stay(dialect: MarkdownDialect, source: str) -> None:
    masked = strip_markup(source, dialect).text
    assert len(masked) == len(source)
    assert all(masked[at] == "\n" for at, character in enumerate(source) if character == "\n")


def test_visible_text_keeps_its_position() -> None:
    source = 'import A from "a";\n\n<Tip kind="x">Mind *this*</Tip> `<b>` {"and"} $x<y$'
    masked = strip_markup(source, DOCUSAURUS_MARKDOWN).text
    for words in ("Mind *this*", "`<b>`", "and", "$x<y$"):
        assert masked.index(words) == source.index(words)
    for words in ("import", "Tip", "kind"):
        assert words not in masked


def test_everything_before_the_start_is_blank() -> None:
    assert strip_markup("---\na: b\n---\nText", PLAIN_MARKDOWN, 13).text == "   \n    \n   \nText"


def test_a_statement_ends_with_its_brackets_or_its_paragraph() -> None:
    opened = "export const a = {\n\n"
    masked = strip_markup(
        f"{opened}x: (1),\n\n}}\n\nSeen. (\n\n{opened}Open.\n\n{opened}Words.", DOCUSAURUS_MARKDOWN
    ).text
    assert masked.split() == ["Seen.", "(", "Open.", "Words."]


def test_an_unclosed_formula_hides_no_tag() -> None:
    assert "Tag" not in strip_markup("$$5 <Tag/> b$", PLAIN_MDX).text
    assert "Tag" in strip_markup("$$5 <Tag/> b$$", PLAIN_MDX).text
