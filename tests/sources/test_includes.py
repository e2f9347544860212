"""Inserts text of other files and maps it back to the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import find_source_span
from bookbound.sources.includes import Substitution, parse_line_range, substitute
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN


def test_own_words_keep_their_positions_and_included_words_map_to_their_include() -> None:
    source = "One [in] two.\n\n[block]\n\nThree."
    expanded = substitute(source, [Substitution(4, 8, "*here*"), Substitution(15, 22, "Alpha.\n\nBeta &amp; co.")])
    rendered = expanded.restore_positions(render_markdown(expanded.text, PLAIN_MARKDOWN))
    assert rendered.text == "One here two.\n\nAlpha.\n\nBeta & co.\n\nThree."

    def place(words: str) -> str:
        at = rendered.text.index(words)
        return source[slice(*find_source_span(rendered.spans, at, at + len(words)))]

    assert [place(words) for words in ("One", "here", "two", "Alpha", "co.", "Three.")] == [
        *("One", "[in]", "two", "[block]", "[block]", "Three.")
    ]


def test_a_text_without_substitutions_stays_the_same() -> None:
    rendered = render_markdown("A *b* c.", PLAIN_MARKDOWN)
    assert substitute("A *b* c.", []).restore_positions(rendered) == rendered


WORDS = st.text(alphabet="ab *\n[]&;#", max_size=12)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=5), WORDS)
def test_every_verbatim_span_of_own_words_is_a_copy(parts: list[tuple[str, str, str]], end: str) -> None:
    source, substitutions = "", []
    for own, include, text in parts:
        source += own
        substitutions.append(Substitution(len(source), len(source) + len(include), text))
        source += include
    source += end
    expanded = substitute(source, substitutions)
    rendered = expanded.restore_positions(render_markdown(expanded.text, PLAIN_MARKDOWN))
    last = 0
    replaced = [(start, stop) for start, stop, _ in substitutions]
    for at, length, start, stop in rendered.spans:
        assert 0 <= start <= stop <= len(source)
        assert last <= at
        last = at + length
        is_included = any(a <= start and stop <= b for a, b in replaced)
        if not is_included and stop - start == length:
            assert rendered.text[at : at + length] == source[start:stop]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("2", "b"), ("2:", "bcd"), (":2", "ab"), ("2:3", "bc"), ("", "abcd"), ("0", "a"), ("9:", ""), ("3:1", "")],
)
def test_line_ranges_count_from_one_and_include_their_end(text: str, lines: str) -> None:
    assert "abcd"[parse_line_range(text)] == lines
