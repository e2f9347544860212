"""Decodes bytes of any kind to text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.decoding import decode_html, decode_text, decode_xhtml


@pytest.mark.parametrize(
    ("data", "text", "bad_byte"),
    [
        (b"plain \xc3\xa9", "plain é", None),
        (b"\xef\xbb\xbfmarked", "marked", None),
        (b"caf\xe9 \xc3\xa9 \x93q\x94", "café é “q”", 3),
        (b"\xef\xbb\xbfab\xe9", "abé", 5),
        (b"cut \xe2\x82", "cut â‚", 4),
        (b"a\r\nb\rc\n", "a\nb\nc\n", None),
        (b"\xff\xfeh\x00i\x00", "hi", 0),
        (b"\x81", "\ufffd", 0),
    ],
)
def test_bytes_that_are_not_utf8_are_decoded_as_cp1252(data: bytes, text: str, bad_byte: int | None) -> None:
    assert decode_text(data) == (text, bad_byte)


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
def test_the_charset_of_the_response_wins_over_the_one_in_the_page(data: bytes, charset: str, text: str) -> None:
    assert decode_html(data, charset) == text


@given(
    st.binary(),
    st.text(max_size=20) | st.sampled_from(["gbk", "shift_jis", "iso-2022-jp", "iso-8859-16", "iso-8859-99"]),
)
def test_any_bytes_can_be_decoded(data: bytes, charset: str) -> None:
    assert isinstance(decode_html(data, charset), str)
    assert isinstance(
        decode_xhtml(f"<?xml version='1.0' encoding='{charset}'?>".encode("utf-8", "replace") + data), str
    )


@pytest.mark.parametrize("declared", ["utf-8", "UTF-16", "undefined", "punycode", "iso-8859-1", "gbk"])
def test_an_epub_document_in_utf8_or_utf16_ignores_what_it_declares(declared: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?><p>W\u00f6rter</p>'
    assert decode_xhtml(text.encode()) == decode_xhtml(text.encode("utf-16")) == text


@pytest.mark.parametrize(("declared", "word"), [("ISO-8859-2", "\u017eal"), ("shift_jis", "\u672c\u3067\u3059")])
def test_an_epub_document_in_another_encoding_is_what_it_declares(declared: str, word: str) -> None:
    text = f"<?xml version='1.0' encoding='{declared}'?><p>{word}</p>"
    assert decode_xhtml(text.encode(declared)) == text
