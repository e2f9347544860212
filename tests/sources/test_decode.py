"""Bytes of any kind become text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bookbound.sources import parse_book
from bookbound.sources.decoding import decode_text, load_bytes, load_html_text, load_text, record_opened_paths


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
    assert decode_text(data) == (text, odd)


def test_a_notice_names_the_file_and_the_byte(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("fine")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "binary.md").write_bytes(b"PK\x03\x04\x00\x00")
    book = parse_book(tmp_path)
    assert [page.text for page in book.pages] == ["fine", "café"]
    notices = {notice.file: notice.message for notice in book.notices}
    assert "byte 3" in notices["latin.md"]
    assert "byte 4" in notices["binary.md"]


def test_what_is_asked_for_is_noted_whether_or_not_a_file_stands_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"words")
    with record_opened_paths() as noted:
        assert load_bytes(tmp_path / "a", "a") == (b"words", [])
        assert load_text(tmp_path / "b", "b")[0] is None
        assert load_html_text(tmp_path / "c", "c")[0] is None
        with record_opened_paths():
            load_text(tmp_path / "d", "d")
    assert noted == {tmp_path / name for name in "abc"}


def test_a_pipe_is_not_opened_and_what_is_too_large_is_not_kept(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(11))
    assert [load_bytes(tmp_path / name, name, 10)[0] for name in ("pipe", "large")] == [None, None]
    (tmp_path / "large").write_bytes(bytes(10))
    assert load_bytes(tmp_path / "large", "large", 10) == (bytes(10), [])


def test_a_file_that_cannot_be_read_becomes_a_notice(tmp_path: Path) -> None:
    text, notices = load_text(tmp_path, "folder.md")
    assert text is None
    assert notices[0].file == "folder.md"
    assert "could not be read" in notices[0].message
