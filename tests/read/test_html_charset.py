"""The encoding of a page of HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.read.html.charset import html_text, load_html


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
    assert html_text(data, charset) == text


@given(
    st.binary(),
    st.text(max_size=20) | st.sampled_from(["gbk", "shift_jis", "iso-2022-jp", "iso-8859-16", "iso-8859-99"]),
)
def test_any_bytes_become_text(data: bytes, charset: str) -> None:
    assert isinstance(html_text(data, charset), str)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    html, [notice] = load_html(tmp_path / "a.html", "a.html")
    assert (html, notice.lost) == (None, True)
