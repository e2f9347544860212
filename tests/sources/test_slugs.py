"""Makes the same anchors as the generators."""

from __future__ import annotations

import pytest

from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import (
    DOCUSAURUS_MARKDOWN,
    HUGO_MARKDOWN,
    MDBOOK_MARKDOWN,
    MKDOCS_MARKDOWN,
    PLAIN_MARKDOWN,
    MarkdownDialect,
)
from bookbound.sources.slugs import (
    Slugger,
    SlugRule,
    docutils_id,
    find_explicit_id,
    github_slug,
    pymdown_slug,
    python_markdown_rule,
    python_markdown_slug,
)


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


def test_repeated_anchors_are_numbered() -> None:
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
def test_an_author_can_write_the_anchor(line: str, anchor: str) -> None:
    assert find_explicit_id(line) == anchor
    text, _, blocks, _ = render_markdown(line, PLAIN_MARKDOWN)
    assert blocks[0].anchor == (anchor or github_slug(text))
    assert text == ("Title" if anchor else line.removeprefix("## "))


def anchors(source: str, dialect: MarkdownDialect = DOCUSAURUS_MARKDOWN) -> list[str]:
    return [block.anchor for block in render_markdown(source, dialect).blocks if block.kind == "heading"]


def test_an_anchor_comes_from_the_text_without_markup() -> None:
    assert anchors("## The `read()` *way* to [go](/x)") == ["the-read-way-to-go"]
    assert anchors("## Beta <Badge/>\n\n## <b>Bold</b> word\n\nSetext &amp; co\n---") == [
        "beta-",
        "bold-word",
        "setext--co",
    ]


def test_docusaurus_gives_a_title_no_anchor_but_reserves_its_slug() -> None:
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
def test_an_id_follows_the_rule_of_docutils(title: str, expected: str) -> None:
    assert docutils_id(title) == expected


# Each line is a heading and its anchor; all lines of one list are on one page in this order.
WRITTEN: dict[str, tuple[MarkdownDialect, str]] = {
    "mkdocs": (
        MKDOCS_MARKDOWN,
        """
        # Writing your docs -> writing-your-docs
        ## Later -> later_1
        ## Own {#later} -> later
        ## File layout -> file-layout
        ## File layout -> file-layout_1
        ## File layout -> file-layout_2
        ## file-layout 1 -> file-layout-1
        ## What's new? -> whats-new
        ## C++ & C# -> c-c
        ## Über die Größe -> uber-die-groe
        ## 日本語 -> _1
        ## 中文 -> _2
        ## naïve café -> naive-cafe
        ## The `nav` setting -> the-nav-setting
        ## A [link](https://x.example) here -> a-link-here
        ## ![Picture](x.png) Shown -> shown
        ## **Bold** and *slanted* -> bold-and-slanted
        ## 1.2.3 Release -> 123-release
        ## snake_case_name -> snake_case_name
        ## a -- b - c -> a-b-c
        ## Own {#chosen} -> chosen
        ## Own { #chosen-too .wide } -> chosen-too
        ## Chosen -> chosen_1
        ## With class { .wide } -> with-class
        ## AT&amp;T -> att
        ## x² and ½ -> x2-and-12
        ## Trailing spaces   -> trailing-spaces
        """,
    ),
    "mdbook": (
        MDBOOK_MARKDOWN,
        """
        # Command-line tool -> command-line-tool
        ## The `init` command -> the-init-command
        ## Same -> same
        ## Same -> same-1
        ## Same -> same-2
        ## What's new? -> whats-new
        ## C++ & C# -> c--c
        ## Über Größe -> über-größe
        ## 中文標題 CJK title -> 中文標題-cjk-title
        ## `--passes`: add more -> --passes-add-more
        ## a  b -> a--b
        ## snake_case - dash -> snake_case---dash
        ## Method-call 🐙 expressions -> method-call--expressions
        ## 12345 -> 12345
        ## 1.2.3 Release -> 123-release
        ## [Link](x.md) text -> link-text
        ## ![Picture](x.png) Shown -> shown
        ## ... -> section
        ## !!! -> section-1
        ## Own {#chosen} -> chosen
        ## Chosen -> chosen-1
        ## Own { #too .wide } -> too
        ## x² and ½ -> x²-and-½
        ## **Bold** words -> bold-words
        """,
    ),
    "hugo": (
        HUGO_MARKDOWN,
        """
        # Quick start -> quick-start
        ## Same -> same
        ## Same -> same-1
        ## Same -> same-2
        ## What's new? -> whats-new
        ## C++ & C# -> c--c
        ## Über Größe -> über-größe
        ## 日本語 テスト -> 日本語-テスト
        ## The `hugo` command -> the-hugo-command
        ## [Link](/x/y) text -> link-text
        ## **Bold** words -> bold-words
        ## a  b -> a--b
        ## a -- b -> a----b
        ## 1.2.3 Release -> 123-release
        ## snake_case -> snake_case
        ## ... -> heading
        ## !!! -> heading-1
        ## Own {#chosen} -> chosen
        ## Chosen -> chosen-1
        ## x² -> x
        ## Closed ## -> closed
        ## AT&amp;T -> att
        ## <b>Tag</b> -> tag
        ## ![Picture](p.png) of it -> picture-of-it
        """,
    ),
    "docusaurus": (
        DOCUSAURUS_MARKDOWN,
        """
        ## Getting Started -> getting-started
        ## Same -> same
        ## Same -> same-1
        ## same 1 -> same-1-1
        ## Same -> same-2
        ## What's new? -> whats-new
        ## C++ & C# -> c--c
        ## Über Größe -> über-größe
        ## 日本語 テスト -> 日本語-テスト
        ## The `swizzle` command -> the-swizzle-command
        ## [Link](/x/y) text -> link-text
        ## **Bold** words -> bold-words
        ## a -- b -> a----b
        ## 1.2.3 Release -> 123-release
        ## snake_case -> snake_case
        ## 🚀 Launch -> -launch
        ## Own {#chosen} -> chosen
        ## Chosen -> chosen
        ## Own {/* #too */} -> too
        ## `docusaurus.config.js` -> docusaurusconfigjs
        ## Beta <Badge/> -> beta-
        """,
    ),
}


@pytest.mark.parametrize("generator", WRITTEN)
def test_anchors_match_the_generator(generator: str) -> None:
    dialect, written = WRITTEN[generator]
    pairs = [line.strip().split(" -> ") for line in written.strip().split("\n")]
    assert len(pairs) >= 20
    found = anchors("\n\n".join(heading for heading, _ in pairs), dialect)
    assert list(zip([heading for heading, _ in pairs], found, strict=True)) == [tuple(pair) for pair in pairs]


@pytest.mark.parametrize(
    ("rule", "heading", "anchor"),
    [
        (
            python_markdown_rule(lambda text: python_markdown_slug(text, ascii_only=False)),
            "Über Größe, ja",
            "über-größe-ja",
        ),
        (
            python_markdown_rule(lambda text: python_markdown_slug(text, separator="_")),
            "Two  words - x",
            "two_words_-_x",
        ),
        (python_markdown_rule(lambda text: pymdown_slug(text, case="lower")), "Two  Words (x)", "two--words-x"),
        (python_markdown_rule(lambda text: pymdown_slug(text)), "Two Words", "Two-Words"),
    ],
)
def test_an_mkdocs_site_can_choose_another_rule(rule: SlugRule, heading: str, anchor: str) -> None:
    assert Slugger(rule).anchor(heading) == anchor


def test_ten_thousand_equal_headings_get_unique_anchors_quickly() -> None:
    for dialect in (MKDOCS_MARKDOWN, MDBOOK_MARKDOWN, HUGO_MARKDOWN):
        slugger = Slugger(dialect.slug_rule)
        assert len({slugger.anchor("same") for _ in range(10_000)}) == 10_000
