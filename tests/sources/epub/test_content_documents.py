"""An EPUB document is rendered, and the offsets of its ids are kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.sources.epub_files import make_document

from bookbound.sources.epub.content_documents import parse_document, parse_epub_toc, xhtml_to_html

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
def test_every_document_is_parsed_and_all_offsets_are_inside_the_text(parts: list[str]) -> None:
    found = parse_document(xhtml_to_html(make_document("".join(parts)).encode()), {"a", "b", "c"})
    assert found is not None
    text = found.rendered.text
    assert not any(letter >= "\U00100000" for letter in text)
    assert all(0 <= at <= len(text) for at in found.offsets.values())
    assert all(0 <= at <= len(text) for at in found.breaks)
    assert all(text[block.start : block.end].strip() for block in found.rendered.blocks)


@given(st.text(max_size=200))
def test_any_text_is_parsed_as_a_table_of_contents(text: str) -> None:
    for html in (text, xhtml_to_html(text.encode("utf-8", "replace")), f"<navMap><navPoint>{text}", f"<nav>{text}"):
        parse_epub_toc(html, "nav.xhtml")


def test_the_offset_of_an_id_is_where_its_words_begin() -> None:
    body = "<p>one <a id='a'/>two</p><section id='b'><p> three</p></section><p id='c'>four<i id='d'/></p>"
    found = parse_document(xhtml_to_html(make_document(body).encode()), {"a", "b", "c", "d"})
    assert found is not None
    assert {name: found.rendered.text[at:][:5] for name, at in found.offsets.items()} == {
        "a": "two\n\n",
        "b": "three",
        "c": "four",
        "d": "",
    }


def test_a_namespace_prefix_in_an_ncx_is_ignored() -> None:
    points = "<n:navPoint><n:navLabel><n:text>{}</n:text></n:navLabel><n:content src='{}'/>{}</n:navPoint>"
    inner = points.format("Inner", "b.xhtml#x", "")
    data = f"<n:ncx xmlns:n='http://x'><n:navMap>{points.format('One', 'a.xhtml', inner)}{inner}</n:navMap></n:ncx>"
    toc = parse_epub_toc(xhtml_to_html(data.encode()), "OEBPS/toc.ncx")
    assert [(entry.depth, entry.label, entry.name, entry.fragment) for entry in toc.entries] == [
        (0, "One", "OEBPS/a.xhtml", ""),
        (1, "Inner", "OEBPS/b.xhtml", "x"),
        (0, "Inner", "OEBPS/b.xhtml", "x"),
    ]
