"""Lines on a terminal and in a pipe."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from bookbound.cli.terminal import StyledLine, draw_lines, format_count, print_json, print_lines, print_warning, styled


def draw(line: StyledLine, width: int = 30) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    draw_lines([line], console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_count_of_one_is_singular() -> None:
    assert [format_count(number, "page") for number in (0, 1, 2)] == ["0 pages", "1 page", "2 pages"]


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_warning("a\nb\udce9.md: odd")
    assert capsys.readouterr().err == "Warning: a\\nb\\udce9.md: odd\n"


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert styled("red \x1b[31m alert \x07\x9b1m\r", "\tkept\n").text == "red [31m alert 1m\tkept\n"


def test_characters_that_reverse_a_line_do_not_reach_the_terminal(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert styled("run \u202egnp.exe\u202c and \u2067more\u2069 שלום").text == "run gnp.exe and more שלום"
    print_json({"text": "run \u202egnp.exe"})
    printed = capsysbinary.readouterr().out.decode()
    assert "\u202e" not in printed
    assert json.loads(printed) == {"text": "run \u202egnp.exe"}


def test_a_terminal_wraps_prose_between_words_inside_its_margin() -> None:
    lines = draw(styled("some words " * 8, indent=4)).splitlines()
    assert len(lines) > 2
    assert all(line.startswith(("    some", "    words")) for line in lines)


def test_a_terminal_does_not_wrap_links_and_code() -> None:
    link = "https://example.org/" + "very/" * 20 + "long"
    assert draw(styled(link, indent=4, no_wrap=True)) == f"    {link}\n"
    assert draw(styled("a [b]\n\n  c :smile:", indent=2, no_wrap=True)) == "  a [b]\n  \n    c :smile:\n"


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines([styled(("bold ", "bold red"), "and plain " * 20, indent=2)])
    assert capsys.readouterr().out == "  bold " + "and plain " * 20 + "\n"
