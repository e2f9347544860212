"""Anchors are those that the generators make."""

from __future__ import annotations

import pytest

from bookbound.domain.document import Block
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import DOCUSAURUS_MARKDOWN, PLAIN_MARKDOWN
from bookbound.sources.slugs import Slugger, docutils_id, find_explicit_id, github_slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Getting Started", "getting-started"),
        ("What's new?", "whats-new"),
        ("C++ & Python: a/b", "c--python-ab"),
        ("1.2. The `ros2` CLI", "12-the-ros2-cli"),
        ("snake_case - and -- dashes", "snake_case---and----dashes"),
        ("Über Größe", "über-größe"),
        ("日本語 テスト", "日本語-テスト"),
        ("🚀 Launch", "-launch"),
        ("x² and ½", "x-and-"),
        ("naïve café", "naïve-café"),
        ("a  b", "a--b"),
        ("Ⓐ circled", "ⓐ-circled"),
        ("em—dash", "emdash"),
    ],
)
def test_a_slug_follows_the_rule_of_github_slugger(text: str, expected: str) -> None:
    assert github_slug(text) == expected


def test_anchors_that_repeat_are_numbered() -> None:
    slugger = Slugger()
    assert [slugger.anchor(text) for text in ("Foo", "Foo", "foo 1", "Foo")] == ["foo", "foo-1", "foo-1-1", "foo-2"]


@pytest.mark.parametrize(
    ("line", "anchor"),
    [
        ("## Title {#my-id}", "my-id"),
        ("## Title {/* #my-id */}", "my-id"),
        ("## Title { #my-id .wide }", "my-id"),
        ("## Title {: #my-id }", "my-id"),
        ("## Title [[my-id]]", "my-id"),
        ("## Title {#my-id} ##", "my-id"),
        ("## Title {#my-id} more", ""),
        ("## Title", ""),
    ],
)
def test_an_author_may_write_the_anchor(line: str, anchor: str) -> None:
    assert find_explicit_id(line) == anchor
    text, _, blocks = render_markdown(line, PLAIN_MARKDOWN)
    assert blocks[0].anchor == (anchor or github_slug(text))
    assert text == ("Title" if anchor else line.removeprefix("## "))


def anchors(source: str) -> list[str]:
    blocks: tuple[Block, ...] = render_markdown(source, DOCUSAURUS_MARKDOWN)[2]
    return [block.anchor for block in blocks if block.kind == "heading"]


def test_a_heading_is_named_by_its_text_without_markup() -> None:
    assert anchors("## The `read()` *way* to [go](/x)") == ["the-read-way-to-go"]
    assert anchors("## Beta <Badge/>\n\n## <b>Bold</b> word\n\nSetext &amp; co\n---") == [
        "beta-",
        "bold-word",
        "setext--co",
    ]


def test_docusaurus_gives_a_title_no_anchor_but_takes_its_name() -> None:
    assert anchors("# Same\n\n## Same\n\n## Same {#own}\n\n## Same") == ["", "same-1", "own", "same-2"]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Writing a simple publisher (C++)", "writing-a-simple-publisher-c"),
        ("2.1 Examine the code", "examine-the-code"),
        ("Über alles", "uber-alles"),
        ("Straße nach Ærø", "strasze-nach-aero"),
        ("---", ""),
    ],
)
def test_an_identifier_follows_the_rule_of_docutils(title: str, expected: str) -> None:
    assert docutils_id(title) == expected
