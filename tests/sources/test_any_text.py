"""Renders any Markdown and text without errors and with exact source spans."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.sources import markdown, plain_text
from bookbound.sources.markdown.dialect import DOCUSAURUS_MARKDOWN, PLAIN_MARKDOWN, PLAIN_MDX, MarkdownDialect
from bookbound.sources.page_builder import RenderedPage

MARKDOWN_PIECES = (
    "<Tabs>¦</Tabs>¦<a b='c'>¦<br/>¦<!--¦-->¦{/*¦*/}¦{¦}¦`¦```\n¦~~~\n¦$¦$$¦import a from 'b'\n¦export const x = {\n¦\n"
    "¦\n\n¦    ¦# ¦ {#id}\n¦[[x]]¦- ¦> ¦1. ¦word¦ word ¦**¦_¦*¦~~¦[¦](u)¦][r]¦![¦|¦\n|-|-|\n¦\n:::note\n¦\n:::\n"
    "¦\n!!! tip\n¦&amp;¦&nbsp;¦\\¦---\n¦[^1]¦\n[^1]: ¦\t¦\0¦é¦😀¦\u2e31¦\x0c¦<u:¦<TabItem label='x'>¦<img alt='y'>"
    "¦<http://a.b>¦===\n¦\n[r]: /u\n¦{'s'}¦\u2028¦\x85¦\x1c"
    "¦\n<ul>¦</ul>\n¦<li>¦</li>¦\n<table>¦</table>\n¦<tr>¦<td>¦</tr>¦\n<pre>¦</pre>\n¦<h2>¦</h2>\n¦<p>¦</p>¦<ol>¦</ol>\n"
).split("¦")
RST_PIECES = (
    "word¦ ¦\n¦\n\n¦   ¦\t¦====\n¦----\n¦*¦**¦`¦``¦`_¦::¦::\n\n¦.. ¦- ¦.. note:: ¦.. code-block:: x\n¦.. math:: "
    "¦.. list-table:: ¦.. |x| replace:: ¦|x|¦:ref:`¦<u>`¦+--+--+\n¦| a | b |\n¦=== ===\n¦1. ¦:field: ¦[1]_¦\\¦__ ¦* - "
    "¦é¦😀¦\x0c¦\0"
).split("¦")


def pieces(kinds: list[str]) -> st.SearchStrategy[str]:
    """Join pieces of markup; newlines are plain, as decoding leaves them."""
    some = st.lists(st.sampled_from(kinds) | st.text(max_size=3), max_size=40)
    return some.map(lambda parts: "".join(parts).replace("\r", "\n"))


def page(source: str, rendered: RenderedPage) -> Page:
    return Page("page", "/", "", "", 0, source, *rendered)


@pytest.mark.parametrize("dialect", [PLAIN_MARKDOWN, PLAIN_MDX, DOCUSAURUS_MARKDOWN])
@given(source=pieces(MARKDOWN_PIECES))
def test_any_markdown_gives_exact_spans(
    dialect: MarkdownDialect, source: str, faults: Callable[[Page], list[str]]
) -> None:
    assert faults(page(source, markdown.render_markdown(source, dialect))) == []


@given(source=pieces(RST_PIECES))
def test_any_text_gives_exact_spans(source: str, faults: Callable[[Page], list[str]]) -> None:
    assert faults(page(source, plain_text.render_plain_text(source))) == []


@given(
    source=st.lists(st.sampled_from(("word", "*", "_", "`", "[", "](u)", "\\", "&lt;", " ", "\n", "word![", "|")))
    .map("".join)
    .filter(lambda source: "```" not in source)
)
def test_no_word_of_a_paragraph_is_lost(source: str) -> None:
    text = markdown.render_markdown(source, PLAIN_MARKDOWN).text
    assert text.count("word") == source.count("word")


@pytest.mark.parametrize(
    "source",
    [
        "> " * 10_000 + "deep",
        "- " * 10_000 + "deep",
        "\n".join("  " * depth + "- item" for depth in range(300)),
        "\n".join("  " * depth + "text\n" for depth in range(300)),
        "```\n" + "line\n" * 20_000,
        "{" * 20_000,
        "<a " * 20_000,
        '<a b="' * 20_000,
        "<!--" * 20_000,
        "<ul><li>word" * 5_000 + "</ul>" * 5_000,
        "<table><tr><td>word" * 5_000 + "</table>" * 5_000,
        "<table>" * 20_000,
        "<pre>&lt;" * 5_000 + "</pre>" * 5_000,
        "`" * 20_000,
        "[" * 2_000,
        "*a **b " * 5_000,
        "$a " * 20_000,
        ":::note\n" * 2_000,
        "export const a = (\n\n" * 2_000,
        " " * 200_000,
        "\\" * 50_001,
        "The quick brown fox. " * 20_000,
    ],
    ids=lambda source: source[:12].strip() or "spaces",
)
def test_hostile_sources_are_rendered(source: str, faults: Callable[[Page], list[str]]) -> None:
    for rendered in (
        markdown.render_markdown(source, PLAIN_MARKDOWN),
        markdown.render_markdown(source, DOCUSAURUS_MARKDOWN),
        plain_text.render_plain_text(source),
    ):
        assert faults(page(source, rendered)) == []
