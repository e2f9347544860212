"""Bytes of any kind become text."""

from __future__ import annotations

from pathlib import Path

import pytest

from bookbound.read import read
from bookbound.read.decode import decode, load


@pytest.mark.parametrize(
    ("data", "text", "odd"),
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
def test_what_is_utf8_stays_and_the_rest_is_read_as_windows_wrote_it(data: bytes, text: str, odd: int | None) -> None:
    assert decode(data) == (text, odd)


def test_a_notice_names_the_file_and_the_byte(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("fine")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "binary.md").write_bytes(b"PK\x03\x04\x00\x00")
    book = read(tmp_path)
    assert [page.text for page in book.pages] == ["fine", "café"]
    notices = {notice.file: notice.message for notice in book.notices}
    assert "byte 3" in notices["latin.md"]
    assert "byte 4" in notices["binary.md"]


def test_a_file_that_cannot_be_read_becomes_a_notice(tmp_path: Path) -> None:
    text, notices = load(tmp_path, "folder.md")
    assert text is None
    assert notices[0].file == "folder.md"
    assert "could not be read" in notices[0].message
