"""Replies as lines, and lines on a screen."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from bookbound.cli import reply_view, terminal
from bookbound.cli.terminal import StyledLine, draw_lines, print_lines
from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.question import Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, TokenUsage, Trace

PLACE = Place("a.md", "/a", "Part", "Page", ("Section",), "section", 10, 80)
TEXT = "First words. Second words.\n\nsudo make install\n    --all"


def passage(text: str = TEXT, name: str = "c1", place: Place = PLACE) -> Passage:
    return Passage(Chunk(name, text, place, 0, (SourceSpan(0, len(text), 10, 10 + len(text)),)), 0.5)


def evidence(words: str) -> Evidence:
    start = TEXT.index(words)
    return Evidence.of(passage(), start, start + len(words), 0.9)


def trace(*passages: Passage) -> Trace:
    return Trace(Retrieval(passages), "g", "e", "w", {"retrieve": 1.0})


def judgement(refusal: RefusalReason | None = None) -> Judgement:
    return Judgement(0.9, (), (), "Good", refusal)


def text_of(sentences: list[AnswerSentence]) -> str:
    answer = Answer(tuple(sentences), (passage(),), judgement(), trace(passage()))
    return "\n".join(line.text for line in reply_view.format_reply(answer))


def test_sentences_run_on_with_the_numbers_of_their_citations() -> None:
    first, second = evidence("First words."), evidence("Second words.")
    text = text_of([AnswerSentence(first.text, (first,)), AnswerSentence(second.text, (second, first))])
    assert text.startswith(
        "First words. [1] Second words. [2][1]\n\n[1] Part › Page › Section\n    /a#section\n    a.md:10-22"
    )


def test_a_place_in_a_file_of_pages_names_the_page() -> None:
    place = replace(evidence("First words.").place, file="book.pdf#page=164", page=168, label="154")
    (_, _, where) = reply_view._format_citation(1, replace(evidence("First words."), place=place), quoted=False)
    assert where.text == "    book.pdf:10-22, page 154"


def test_code_stands_alone_with_its_lines_as_they_are() -> None:
    words, code = evidence("First words."), evidence("sudo make install\n    --all")
    text = text_of([AnswerSentence(words.text, (words,)), AnswerSentence(code.text, (code,))])
    assert text.startswith("First words. [1]\n\nsudo make install\n    --all\n[2]\n\n[1]")


def test_what_is_no_prose_stands_alone_even_on_one_line() -> None:
    units = (QuotableUnit("code", 0, 12), QuotableUnit("sentence", 13, 26))
    chunk = replace(passage().chunk, units=units)
    first, second = (Evidence.of(Passage(chunk, 0.5), unit.start, unit.end, 0.9) for unit in units)
    text = text_of([AnswerSentence(first.text, (first,)), AnswerSentence(second.text, (second,))])
    assert text.startswith("First words.\n[1]\n\nSecond words. [2]\n\n")


def test_a_quote_is_shown_only_where_the_sentence_is_not_the_quote_itself() -> None:
    found = evidence("First words.")
    assert "“First words.”" not in text_of([AnswerSentence("First words.", (found,))])
    assert "“First words.”" in text_of([AnswerSentence("It says so first.", (found,))])


def test_a_refusal_names_at_most_three_sections_each_once() -> None:
    places = [replace(PLACE, anchor=name) for name in ("one", "one", "two", "three", "four")]
    found = [passage(name=f"c{i}", place=place) for i, place in enumerate(places)]
    refusal = Refusal(RefusalReason.LOW_RELEVANCE, judgement(RefusalReason.LOW_RELEVANCE), trace(*found))
    text = "\n".join(line.text for line in reply_view.format_reply(refusal))
    assert text.startswith("This information is not available in the book.\nNo passage of the book is about this.")
    assert [line.strip() for line in text.splitlines() if "#" in line] == ["/a#one", "/a#two", "/a#three"]


def why(*passages: Passage, threshold: float) -> str:
    refusal = Refusal(RefusalReason.LOW_RELEVANCE, judgement(RefusalReason.LOW_RELEVANCE), trace(*passages))
    return list(reply_view.format_reply(refusal, threshold=threshold))[1].text


def test_a_refusal_by_threshold_names_the_threshold_and_what_came_nearest_to_it() -> None:
    near = replace(passage(), score=0.5999)
    assert why(near, threshold=0.6) == "The highest similarity of a passage is 0.59, below the threshold 0.6."
    assert why(near, threshold=0.5) == "No passage of the book is about this."


def test_the_similarity_of_a_passage_is_called_so() -> None:
    assert next(reply_view.format_passages([passage()])).text == "1. Part › Page › Section  similarity 0.50"


def test_one_of_a_kind_is_not_called_many() -> None:
    assert [terminal.format_count(number, "page") for number in (0, 1, 2)] == ["0 pages", "1 page", "2 pages"]


def test_the_name_of_a_file_stays_on_its_line() -> None:
    assert terminal.format_warning("a\nb\udce9.md: odd").text == "Warning: a\\nb\\udce9.md: odd"
    lines = list(reply_view.format_passages([passage(place=replace(PLACE, file="a\nb.md"))]))
    assert lines[2].text == "   a\\nb.md:10-80"


def test_every_kind_of_refusal_has_its_reason() -> None:
    assert set(reply_view.REFUSAL_EXPLANATIONS) == set(RefusalReason)


def test_a_long_passage_is_cut_between_words() -> None:
    lines = list(reply_view.format_passages([passage("word " * 100)]))
    assert lines[3].text.endswith("word …")
    assert len(lines[3].text) < 260


def test_what_would_steer_a_terminal_is_not_passed_on() -> None:
    assert StyledLine.of("red \x1b[31m alert \x07\x9b1m\r", "\tkept\n").text == "red [31m alert 1m\tkept\n"


def drawn(line: StyledLine, width: int = 30) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    draw_lines([line], console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_wraps_prose_between_words_inside_its_margin() -> None:
    lines = drawn(StyledLine.of("some words " * 8, indent=4)).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("    some") or line.startswith("    words") for line in lines)


def test_a_number_stands_beside_the_words_wherever_they_are_broken() -> None:
    citation = [line for line in reply_view.format_reply(long_answer()) if line.text.startswith("[10] ")]
    first, *rest = drawn(citation[0]).splitlines()
    assert first.startswith("[10] Part › Page")
    assert rest
    assert all(line.startswith("     ") and line[5] != " " for line in rest)
    assert all(len(line) <= 30 and not line.endswith(" ") for line in (first, *rest))


def long_answer() -> Answer:
    """An answer of ten sentences, in a section with a long name."""
    place = replace(PLACE, headings=("A section whose name is too long for one line",))
    found = passage(place=place)
    quotes = [Evidence.of(found, at, at + 5, 0.9) for at in range(10)]
    return Answer(tuple(AnswerSentence(quote.text, (quote,)) for quote in quotes), (found,), judgement(), trace(found))


def test_a_terminal_never_breaks_a_link_or_code() -> None:
    link = "https://example.org/" + "very/" * 20 + "long"
    assert drawn(StyledLine.of(link, indent=4, whole=True)) == f"    {link}\n"
    assert drawn(StyledLine.of("a [b]\n\n  c :smile:", indent=2, whole=True)) == "  a [b]\n  \n    c :smile:\n"


def test_what_is_no_terminal_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines([StyledLine.of(("bold ", "bold red"), "and plain " * 20, indent=2)])
    assert capsys.readouterr().out == "  bold " + "and plain " * 20 + "\n"


def test_a_partial_answer_is_told_as_such_before_its_citations() -> None:
    words = evidence("First words.")
    found = replace(judgement(), partial=True)
    answer = Answer((AnswerSentence(words.text, (words,)),), (passage(),), found, trace(passage()))
    text = "\n".join(line.text for line in reply_view.format_reply(answer))
    assert text.startswith("First words. [1]\n\nOnly part of this is in the book.\n\n[1] Part")


def test_rows_stand_line_by_line_with_their_numbers() -> None:
    units = (QuotableUnit("row", 0, 12), QuotableUnit("row", 13, 26))
    chunk = replace(passage().chunk, units=units)
    first, second = (Evidence.of(Passage(chunk, 0.5), unit.start, unit.end, 0.9) for unit in units)
    text = text_of([AnswerSentence(first.text, (first,)), AnswerSentence(second.text, (second,))])
    assert text.startswith("First words. [1]\nSecond words. [2]\n\n[1] Part")


def test_an_answer_that_a_language_model_failed_to_write_says_so_in_one_line() -> None:
    words = evidence("First words.")
    quoted = Answer((AnswerSentence(words.text, (words,)),), (passage(),), judgement(), trace(passage()))
    told = "The language model gave no answer that can be used; this is the book's own wording."
    for degraded in (False, True):
        reply = replace(quoted, trace=replace(quoted.trace, degraded=degraded))
        assert [line.text for line in reply_view.format_reply(reply)].count(told) == degraded


def test_an_answer_that_a_language_model_failed_to_finish_is_not_called_the_book_s_wording() -> None:
    words = evidence("First words.")
    half = Answer((AnswerSentence("In other words.", (words,)),), (passage(),), judgement(), trace(passage()))
    lines = [line.text for line in reply_view.format_reply(replace(half, trace=replace(half.trace, degraded=True)))]
    assert "The language model broke off; the end of the answer may be missing." in lines
    assert not any("own wording" in line for line in lines)


def test_a_refusal_for_want_of_a_language_model_says_so() -> None:
    refused = Refusal(RefusalReason.INSUFFICIENT_GROUNDING, judgement(), replace(trace(passage()), degraded=True))
    _, why, *_ = reply_view.format_reply(refused)
    assert why.text == "The language model could not be reached; it might have found an answer."


def test_the_account_tells_what_a_language_model_took() -> None:
    words = evidence("First words.")
    reply = Answer((AnswerSentence(words.text, (words,)),), (passage(),), judgement(), trace(passage()))
    used = replace(reply, trace=replace(reply.trace, usage=TokenUsage(1, 700, 30)))
    rows = [[line.text for line in reply_view.format_reply(each, verbose=True)] for each in (reply, used)]
    assert [next(row for row in each if row.startswith("Writer")).split(maxsplit=1)[1] for each in rows] == [
        "w",
        "w (1 call, 700 tokens read, 30 written)",
    ]
