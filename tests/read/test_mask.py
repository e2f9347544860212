"""Blanking keeps every character in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.read.dialect import DOCUSAURUS, MARKDOWN, MDX, Dialect
from bookbound.read.mask import mask

PIECES = (
    "<Tabs>¦</Tabs>¦<a b='c'>¦<br/>¦<!--¦-->¦{/*¦*/}¦{¦}¦`¦```\n¦~~~¦$¦$$¦import a from 'b'\n¦export const x = {\n¦\n"
    "¦\n\n¦    ¦# ¦{#id}¦[[x]]¦- ¦> ¦1. ¦word¦[¦](u)¦|¦:::note\n¦!!! tip\n¦\\¦---\n¦<script>¦[^1]: ¦\t¦\0¦é¦😀¦\u2e31"
    "¦'¦=¦{% a %}¦[ ] ¦<TabItem label='x'>¦<img alt='y'>¦{'s'}"
).split("¦")
sources = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)


@pytest.mark.parametrize("dialect", [MARKDOWN, MDX, DOCUSAURUS])
@given(source=sources)
def test_a_mask_has_the_length_and_the_newlines_of_its_source(dialect: Dialect, source: str) -> None:
    masked = mask(source, dialect)
    assert len(masked) == len(source)
    assert all(masked[at] == "\n" for at, character in enumerate(source) if character == "\n")


def test_what_is_seen_stays_where_it_is() -> None:
    source = 'import A from "a";\n\n<Tip kind="x">Mind *this*</Tip> `<b>` {"and"} $x<y$'
    masked = mask(source, DOCUSAURUS)
    for words in ("Mind *this*", "`<b>`", "and", "$x<y$"):
        assert masked.index(words) == source.index(words)
    for words in ("import", "Tip", "kind"):
        assert words not in masked


def test_what_stands_before_the_start_is_blank() -> None:
    assert mask("---\na: b\n---\nText", MARKDOWN, 13) == "   \n    \n   \nText"


def test_a_statement_ends_where_its_brackets_do_or_with_its_paragraph() -> None:
    opened = "export const a = {\n\n"
    masked = mask(f"{opened}x: (1),\n\n}}\n\nSeen. (\n\n{opened}Open.\n\n{opened}Words.", DOCUSAURUS)
    assert masked.split() == ["Seen.", "(", "Open.", "Words."]


def test_a_formula_that_is_never_closed_hides_no_tag() -> None:
    assert "Tag" not in mask("$$5 <Tag/> b$", MDX)
    assert "Tag" in mask("$$5 <Tag/> b$$", MDX)
