"""Rules that reStructuredText and MyST share."""

from __future__ import annotations

import pytest
from tests.sources.rst.helpers import HERE, draft_rst_page, make_context

from bookbound.sources.myst import draft_myst
from bookbound.sources.rst.page_draft import UNRESOLVED, parse_toctree
from bookbound.sources.rst.shared_markup import select_lines

LINES = "one\n  two\nthree\nfour\nfive"


@pytest.mark.parametrize("name", ["topic", "details", "toggle", "collapse", "theorem", "code-block", "console", "plot"])
def test_a_directive_shows_the_same_in_both_languages(name: str) -> None:
    rst = draft_rst_page(f".. {name}:: Title\n\n   Body.\n\nAfter.").render(UNRESOLVED)
    source = f"```{{{name}}} Title\nBody.\n```\n\nAfter."
    myst = draft_myst(source, HERE / "page.md", "page.md", make_context()).render(UNRESOLVED)
    assert rst.text == myst.text


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ({"lines": "1, 3-4"}, "one\nthree\nfour"),
        ({"lines": "4-"}, "four\nfive"),
        ({"start-line": "1", "end-line": "2"}, "  two"),
        ({"start-at": "three", "end-before": "five"}, "three\nfour"),
        ({"start-after": "three", "end-at": "four"}, "four"),
        ({"lines": "2", "dedent": "1"}, " two"),
        ({"lines": "x", "start-line": "y"}, "one"),
        ({"pyobject": "missing"}, LINES),
    ],
)
def test_options_select_the_lines_of_an_included_file(options: dict[str, str], selected: str) -> None:
    assert select_lines(LINES, options) == selected


def test_toctree_entries_may_have_titles() -> None:
    toctree = parse_toctree(
        ["", " a/b ", "Back -> home <index>", "https://x.y"], {"numbered": "2", "caption": " Two  words"}
    )
    assert toctree.entries == (("", "a/b"), ("Back -> home", "index"), ("", "https://x.y"))
    assert (toctree.caption, toctree.numbered_levels) == ("Two words", 2)
    assert (
        parse_toctree([], {"numbered": ""}).numbered_levels
        == parse_toctree([], {"numbered": "12345"}).numbered_levels
        == 999
    )
