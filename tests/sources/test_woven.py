"""Words of several files on one page, each with its way back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.document import find_source_span
from bookbound.sources.includes import Substitution, substitute
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN


def test_own_words_keep_their_places_and_others_stand_for_what_calls_for_them() -> None:
    source = "One [in] two.\n\n[block]\n\nThree."
    woven = substitute(source, [Substitution(4, 8, "*here*"), Substitution(15, 22, "Alpha.\n\nBeta &amp; co.")])
    setting = woven.unwoven(render_markdown(woven.text, PLAIN_MARKDOWN))
    assert setting.text == "One here two.\n\nAlpha.\n\nBeta & co.\n\nThree."

    def place(words: str) -> str:
        at = setting.text.index(words)
        return source[slice(*find_source_span(setting.runs, at, at + len(words)))]

    assert [place(words) for words in ("One", "here", "two", "Alpha", "co.", "Three.")] == [
        *("One", "[in]", "two", "[block]", "[block]", "Three.")
    ]


def test_a_text_without_swaps_is_itself() -> None:
    setting = render_markdown("A *b* c.", PLAIN_MARKDOWN)
    assert substitute("A *b* c.", []).unwoven(setting) == setting


WORDS = st.text(alphabet="ab *\n[]&;#", max_size=12)


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=5), WORDS)
def test_every_run_of_own_words_is_a_copy(parts: list[tuple[str, str, str]], end: str) -> None:
    source, swaps = "", []
    for own, called, text in parts:
        source += own
        swaps.append(Substitution(len(source), len(source) + len(called), text))
        source += called
    source += end
    woven = substitute(source, swaps)
    setting = woven.unwoven(render_markdown(woven.text, PLAIN_MARKDOWN))
    last = 0
    swapped = [(start, stop) for start, stop, _ in swaps]
    for at, length, start, stop in setting.runs:
        assert 0 <= start <= stop <= len(source)
        assert last <= at
        last = at + length
        foreign = any(a <= start and stop <= b for a, b in swapped)
        if not foreign and stop - start == length:
            assert setting.text[at : at + length] == source[start:stop]
