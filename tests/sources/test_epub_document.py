"""A document of an EPUB is set as it is shown, and the places in it are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.sources.epub_files import document

from bookbound.sources.epub.content_documents import parse_document, parse_nav, parse_ncx, xhtml_to_html

PARTS = st.lists(
    st.sampled_from(["<p id='a'>", "</p>", "<div/>", "<span epub:type='pagebreak' title='3'/>", "<h1 id='b'>", "</h1>"])
    | st.sampled_from(
        ["<pre>", "</pre>", "<table><tr><td>", "</table>", "<math>", "</math>", "<a id='c'/>", "<ol><li>"]
    )
    | st.sampled_from(["<nav epub:type='toc'>", "</nav>", "<aside epub:type='footnote'>", "</aside>", "<![CDATA[x]]>"])
    | st.text("ab <>&;'\"\n\U00100001", max_size=8),
    max_size=25,
)


@given(PARTS)
def test_no_document_stops_the_reader_and_every_place_lies_in_the_text(parts: list[str]) -> None:
    found = parse_document(xhtml_to_html(document("".join(parts)).encode()), {"a", "b", "c"})
    assert found is not None
    text = found.setting.text
    assert not any(letter >= "\U00100000" for letter in text)
    assert all(0 <= at <= len(text) for at in found.places.values())
    assert all(0 <= at <= len(text) for at, _ in found.breaks)
    assert all(text[block.start : block.end].strip() for block in found.setting.blocks)


@given(st.text(max_size=200))
def test_no_contents_stop_the_reader(text: str) -> None:
    parse_nav(text, "nav.xhtml")
    parse_ncx(text.encode("utf-8", "replace"), "toc.ncx")
    xhtml_to_html(text.encode("utf-8", "replace"))


def test_a_place_is_where_its_words_begin() -> None:
    body = "<p>one <a id='a'/>two</p><section id='b'><p> three</p></section><p id='c'>four<i id='d'/></p>"
    found = parse_document(xhtml_to_html(document(body).encode()), {"a", "b", "c", "d"})
    assert found is not None
    assert {name: found.setting.text[at:][:5] for name, at in found.places.items()} == {
        "a": "two\n\n",
        "b": "three",
        "c": "four",
        "d": "",
    }
