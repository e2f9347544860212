"""The encoding of a page of HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.decoding import decode_html, decode_xhtml, load_html_text


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("ü".encode(), "", "ü"),
        ("ü".encode("latin-1"), "", "ü"),
        ("ü".encode("latin-1"), "windows-1252", "ü"),
        ("<meta charset='euc-kr'>말".encode("euc-kr"), "", "<meta charset='euc-kr'>말"),
        ("<?xml version='1.0' encoding='gbk'?>书".encode("gbk"), "", "<?xml version='1.0' encoding='gbk'?>书"),
        ("<meta charset=koi8-r>ü".encode(), "utf-8", "<meta charset=koi8-r>ü"),
        (b"a\r\nb\rc", "iso-8859-2", "a\nb\nc"),
        ("ü".encode(), "base64", "ü"),
    ],
)
def test_what_was_sent_counts_before_what_the_page_says(data: bytes, charset: str, text: str) -> None:
    assert decode_html(data, charset) == text


@given(
    st.binary(),
    st.text(max_size=20) | st.sampled_from(["gbk", "shift_jis", "iso-2022-jp", "iso-8859-16", "iso-8859-99"]),
)
def test_any_bytes_become_text(data: bytes, charset: str) -> None:
    assert isinstance(decode_html(data, charset), str)
    assert isinstance(
        decode_xhtml(f"<?xml version='1.0' encoding='{charset}'?>".encode("utf-8", "replace") + data), str
    )


@pytest.mark.parametrize("said", ["utf-8", "UTF-16", "undefined", "punycode", "unicode_escape", "iso-8859-1", "gbk"])
def test_a_document_of_an_epub_is_what_its_bytes_are_whatever_it_says(said: str) -> None:
    text = f'<?xml version="1.0" encoding="{said}"?><p>W\u00f6rter</p>'
    assert decode_xhtml(text.encode()) == decode_xhtml(text.encode("utf-16")) == text


@pytest.mark.parametrize(("said", "word"), [("ISO-8859-2", "\u017eal"), ("shift_jis", "\u672c\u3067\u3059")])
def test_a_document_that_is_no_utf8_is_what_it_says(said: str, word: str) -> None:
    text = f"<?xml version='1.0' encoding='{said}'?><p>{word}</p>"
    assert decode_xhtml(text.encode(said)) == text


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    html, [notice] = load_html_text(tmp_path / "a.html", "a.html")
    assert (html, notice.lost) == (None, True)
