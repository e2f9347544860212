"""Reads files within limits and reports those that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

from bookbound.sources import parse_book
from bookbound.sources.file_loader import load_bytes, load_html_text, load_text, record_opened_paths


def test_a_notice_names_the_file_and_the_byte(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("fine")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    (tmp_path / "binary.md").write_bytes(b"PK\x03\x04\x00\x00")
    book = parse_book(tmp_path)
    assert [page.text for page in book.pages] == ["fine", "café"]
    notices = {notice.file: notice.message for notice in book.notices}
    assert "byte 3" in notices["latin.md"]
    assert "byte 4" in notices["binary.md"]


def test_opened_paths_are_recorded_even_if_they_do_not_exist(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"words")
    with record_opened_paths() as opened:
        assert load_bytes(tmp_path / "a", "a") == (b"words", [])
        assert load_text(tmp_path / "b", "b").value is None
        assert load_html_text(tmp_path / "c", "c").value is None
        with record_opened_paths():
            load_text(tmp_path / "d", "d")
    assert opened == {tmp_path / name for name in "abc"}


def test_pipes_and_files_that_are_too_large_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(bytes(11))
    assert [load_bytes(tmp_path / name, name, 10).value for name in ("pipe", "large")] == [None, None]
    (tmp_path / "large").write_bytes(bytes(10))
    assert load_bytes(tmp_path / "large", "large", 10) == (bytes(10), [])


def test_a_path_that_cannot_be_read_becomes_a_notice(tmp_path: Path) -> None:
    text, notices = load_text(tmp_path, "folder.md")
    assert text is None
    assert notices[0].file == "folder.md"
    assert "could not be read" in notices[0].message


def test_a_missing_file_becomes_a_notice(tmp_path: Path) -> None:
    html, [notice] = load_html_text(tmp_path / "a.html", "a.html")
    assert (html, notice.lost) == (None, True)
