"""Replies as lines, and lines on a screen."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from bookbound.book import Chunk, Passage, Place, Run
from bookbound.cli import show
from bookbound.cli.screen import Line, draw, put
from bookbound.dialogue import Answer, Evidence, Judgement, Refusal, RefusalKind, Retrieval, Sentence, Trace

PLACE = Place("a.md", "/a", "Part", "Page", ("Section",), "section", 10, 80)
TEXT = "First words. Second words.\n\nsudo make install\n    --all"


def passage(text: str = TEXT, name: str = "c1", place: Place = PLACE) -> Passage:
    return Passage(Chunk(name, text, place, 0, (Run(0, len(text), 10, 10 + len(text)),)), 0.5)


def evidence(words: str) -> Evidence:
    start = TEXT.index(words)
    return Evidence.of(passage(), start, start + len(words), 0.9)


def trace(*passages: Passage) -> Trace:
    return Trace(Retrieval(passages), "g", "e", "w", {"retrieve": 1.0})


def judgement(refusal: RefusalKind | None = None) -> Judgement:
    return Judgement(0.9, refusal is None, (), (), "Good", refusal)


def text_of(sentences: list[Sentence]) -> str:
    answer = Answer(tuple(sentences), (passage(),), judgement(), trace(passage()))
    return "\n".join(line.text for line in show.reply(answer))


def test_sentences_run_on_with_the_numbers_of_their_citations() -> None:
    first, second = evidence("First words."), evidence("Second words.")
    text = text_of([Sentence(first.text, (first,)), Sentence(second.text, (second, first))])
    assert text.startswith(
        "First words. [1] Second words. [2][1]\n\n[1] Part › Page › Section\n    /a#section\n    a.md:10-22"
    )


def test_code_stands_alone_with_its_lines_as_they_are() -> None:
    words, code = evidence("First words."), evidence("sudo make install\n    --all")
    text = text_of([Sentence(words.text, (words,)), Sentence(code.text, (code,))])
    assert text.startswith("First words. [1]\n\nsudo make install\n    --all\n[2]\n\n[1]")


def test_a_quote_is_shown_only_where_the_sentence_is_not_the_quote_itself() -> None:
    found = evidence("First words.")
    assert "“First words.”" not in text_of([Sentence("First words.", (found,))])
    assert "“First words.”" in text_of([Sentence("It says so first.", (found,))])


def test_a_refusal_names_at_most_three_sections_each_once() -> None:
    places = [replace(PLACE, anchor=name) for name in ("one", "one", "two", "three", "four")]
    found = [passage(name=f"c{i}", place=place) for i, place in enumerate(places)]
    refusal = Refusal(RefusalKind.LOW_RELEVANCE, judgement(RefusalKind.LOW_RELEVANCE), trace(*found))
    text = "\n".join(line.text for line in show.reply(refusal))
    assert text.startswith("This information is not available in the book.\nNo passage of the book is about this.")
    assert [line.strip() for line in text.splitlines() if "#" in line] == ["/a#one", "/a#two", "/a#three"]


def test_every_kind_of_refusal_has_its_reason() -> None:
    assert set(show.WHY) == set(RefusalKind)


def test_a_long_passage_is_cut_between_words() -> None:
    lines = list(show.passages([passage("word " * 100)]))
    assert lines[3].text.endswith("word …")
    assert len(lines[3].text) < 260


def test_what_would_steer_a_terminal_is_not_passed_on() -> None:
    assert Line.of("red \x1b[31m alert \x07\x9b1m\r", "\tkept\n").text == "red [31m alert 1m\tkept\n"


def drawn(line: Line, width: int = 30) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    draw([line], console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_wraps_prose_between_words_inside_its_margin() -> None:
    lines = drawn(Line.of("some words " * 8, indent=4)).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("    some") or line.startswith("    words") for line in lines)


def test_a_terminal_never_breaks_a_link_or_code() -> None:
    link = "https://example.org/" + "very/" * 20 + "long"
    assert drawn(Line.of(link, indent=4, whole=True)) == f"    {link}\n"
    assert drawn(Line.of("a [b]\n\n  c :smile:", indent=2, whole=True)) == "  a [b]\n  \n    c :smile:\n"


def test_what_is_no_terminal_gets_plain_lines() -> None:
    stream = io.StringIO()
    put([Line.of(("bold ", "bold red"), "and plain " * 20, indent=2)], stream)
    assert stream.getvalue() == "  bold " + "and plain " * 20 + "\n"
