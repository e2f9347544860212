"""Replies as lines of text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.cli.test_terminal import draw

from bookbound.cli import reply_view
from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason
from bookbound.domain.question import QuestionKind, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Unsure
from bookbound.domain.trace import StageTiming, TokenUsage, Trace

PLACE = Place("a.md", "/a", "Part", "Page", ("Section",), "section", 10, 80)
TEXT = "First words. Second words.\n\nsudo make install\n    --all"
UNITS = (QuotableUnit("sentence", 0, 12), QuotableUnit("sentence", 13, 26), QuotableUnit("code", 28, 55))


def passage(text: str = TEXT, name: str = "c1", place: Place = PLACE) -> Passage:
    units = UNITS if text == TEXT else ()
    return Passage(Chunk(name, text, place, 0, (SourceSpan(0, len(text), 10, 10 + len(text)),), units), 0.5)


def evidence(words: str, place: Place = PLACE) -> Evidence:
    start = TEXT.index(words)
    return Evidence.from_chunk(passage(name=place.anchor, place=place).chunk, start, start + len(words), 0.9)


def trace(*passages: Passage) -> Trace:
    return Trace(Retrieval(passages), "g", "e", "w", {"search": StageTiming(seconds=0.001)})


def judgement(refusal: RefusalReason | None = None) -> Judgement:
    return Judgement(0.9, (), (), "Good", refusal)


def text_of(sentences: list[AnswerSentence]) -> str:
    answer = Answer(tuple(sentences), (passage(),), judgement(), trace(passage()))
    return "\n".join(line.text for line in reply_view.format_reply(answer))


def test_sentences_run_on_with_the_number_of_their_section() -> None:
    first, second = evidence("First words."), evidence("Second words.")
    text = text_of([AnswerSentence(first.text, (first,)), AnswerSentence(second.text, (second, first))])
    assert (
        text
        == "First words. Second words. [1]\n\n[1] Part › Page › Section\n    /a#section\n    a.md, characters 10-36"
    )


def test_each_section_has_one_number_in_the_order_of_the_quotes() -> None:
    place = replace(PLACE, headings=("Other",), anchor="other")
    far, near = evidence("First words.", place), evidence("Second words.")
    again = evidence("sudo make install\n    --all", place)
    text = text_of([AnswerSentence(each.text, (each,)) for each in (far, near, again)])
    assert text == (
        "First words. [1]\n\nSecond words. [2]\n\n    sudo make install\n        --all\n[1]\n\n"
        "[1] Part › Page › Other\n    /a#other\n    a.md, characters 10-65\n"
        "[2] Part › Page › Section\n    /a#section\n    a.md, characters 23-36"
    )


def test_blocks_with_the_same_sources_have_their_number_after_the_last() -> None:
    words, code = evidence("First words."), evidence("sudo make install\n    --all")
    text = text_of([AnswerSentence(words.text, (words,)), AnswerSentence(code.text, (code,))])
    assert text.startswith("First words.\n\n    sudo make install\n        --all\n[1]\n\n[1] Part")


def test_a_written_sentence_has_the_numbers_of_all_its_sections() -> None:
    first, second = evidence("First words."), evidence("Second words.", replace(PLACE, anchor="other"))
    assert text_of([AnswerSentence("It says so.", (first, second))]).startswith("It says so. [1][2]\n\n[1]")


def test_the_words_that_answer_are_bold() -> None:
    words, found = evidence("First words."), evidence("First")
    answer = Answer((AnswerSentence(words.text, (words,)),), (passage(),), judgement(), trace(passage()))
    answer = replace(answer, judgement=replace(answer.judgement, evidence=(found,)))
    assert next(reply_view.format_reply(answer)).pieces == (("First", "bold"), (" words.", ""), (" [1]", "cyan"))


def test_the_address_of_a_source_opens_the_page_with_the_words_highlighted() -> None:
    words = evidence("First words.")
    for url, style in (("https://a.org/p", "dim link https://a.org/p#section:~:text=First%20words."), ("/p", "dim")):
        cited = replace(words, place=replace(words.place, url=url))
        answer = Answer((AnswerSentence(words.text, (cited,)),), (passage(),), judgement(), trace(passage()))
        (address,) = (line for line in reply_view.format_reply(answer) if line.text == f"    {url}#section")
        assert address.pieces == ((f"{url}#section", style),)


def test_a_citation_of_a_printed_page_has_its_number() -> None:
    place = replace(evidence("First words.").place, file="book.pdf#page=164", page=168, page_label="154")
    text = text_of([AnswerSentence("First words.", (replace(evidence("First words."), place=place),))])
    assert text.endswith("    book.pdf, characters 10-22, page 154")


def test_a_quote_is_shown_only_if_the_sentence_differs_from_it() -> None:
    found = evidence("First words.")
    assert "“First words.”" not in text_of([AnswerSentence("First words.", (found,))])
    assert "“First words.”" in text_of([AnswerSentence("It says so first.", (found,))])


def test_titles_get_a_line_each_below_the_note_that_says_where_they_are_from() -> None:
    places = {name: replace(PLACE, anchor=name) for name in ("c1", "c2")}
    titles = [Evidence(name, name.upper(), place, 0, 0, 1.0, "heading") for name, place in places.items()]
    sentences = tuple(AnswerSentence(title.text, (title,)) for title in titles)
    noted = replace(trace(), note="From the table of contents:", completed_question="List the chapters")
    lines = [line.text for line in reply_view.format_reply(Answer(sentences, (), judgement(), noted))]
    assert lines[:7] == [
        "Understood as: List the chapters",
        "",
        "From the table of contents:",
        "",
        "• C1 [1]",
        "• C2 [2]",
        "",
    ]


def test_small_talk_gets_its_note_alone() -> None:
    noted = replace(trace(passage()), note="Hello! Ask me anything.", question_kind=QuestionKind.SMALL_TALK)
    refusal = Refusal(RefusalReason.LOW_RELEVANCE, judgement(RefusalReason.LOW_RELEVANCE), noted)
    assert [line.text for line in reply_view.format_reply(refusal)] == ["Hello! Ask me anything.", ""]


def test_a_refusal_lists_the_closest_sections() -> None:
    places = tuple(replace(PLACE, anchor=name) for name in ("one", "two"))
    found = judgement(RefusalReason.LOW_RELEVANCE)
    refusal = Refusal(RefusalReason.LOW_RELEVANCE, found, trace(passage()), places)
    text = "\n".join(line.text for line in reply_view.format_reply(refusal))
    assert text.startswith(
        "This information is not available in the book.\nNo passage is close enough to the question."
    )
    assert [line.strip() for line in text.splitlines() if "#" in line] == ["/a#one", "/a#two"]
    without = replace(refusal, closest=())
    assert not any("sections" in line.text for line in reply_view.format_reply(without))


def test_a_refusal_names_the_closest_section_and_quotes_nothing_that_would_contradict_it() -> None:
    found = replace(judgement(RefusalReason.INSUFFICIENT_GROUNDING), evidence=(evidence("words."),))
    refusal = Refusal(RefusalReason.INSUFFICIENT_GROUNDING, found, trace(passage()), (PLACE,))
    lines = [line.text for line in reply_view.format_reply(refusal)]
    assert lines[-1].strip() == PLACE.link
    assert not any("First words" in line for line in lines)


def test_an_unsure_reply_shows_the_closest_quotes_by_section() -> None:
    found = replace(judgement(RefusalReason.INSUFFICIENT_GROUNDING), is_unsure=True)
    other = evidence("Second words.", replace(PLACE, headings=("Other",), anchor="other"))
    quotes = evidence("First words."), other, evidence("sudo make install\n    --all")
    unsure = Unsure(RefusalReason.INSUFFICIENT_GROUNDING, found, trace(passage()), quotes)
    assert [line.text for line in reply_view.format_reply(unsure)] == [
        "I am not sure the book answers this. The closest passages:",
        "",
        "First words.",
        "",
        "    sudo make install\n        --all",
        "[1] Part › Page › Section",
        "    /a#section",
        "    a.md, characters 10-65",
        "",
        "Second words.",
        "[2] Part › Page › Other",
        "    /a#other",
        "    a.md, characters 23-36",
    ]


def test_an_unsure_reply_without_its_language_model_says_so() -> None:
    degraded = replace(trace(passage()), degraded=True)
    unsure = Unsure(RefusalReason.SELECTED_TEXT_MISSING, judgement(), degraded, (evidence("First words."),))
    statement, why, *_ = reply_view.format_reply(unsure)
    assert statement.text == "I am not sure the selected text answers this. The closest sentences:"
    assert why.text == reply_view.MODEL_MISSED_MESSAGE


def refusal_reason(*passages: Passage, threshold: float) -> str:
    refusal = Refusal(RefusalReason.LOW_RELEVANCE, judgement(RefusalReason.LOW_RELEVANCE), trace(*passages))
    return list(reply_view.format_reply(refusal, threshold=threshold))[1].text


def test_a_refusal_by_threshold_shows_the_threshold_and_the_highest_similarity() -> None:
    near = replace(passage(), score=0.5999)
    assert (
        refusal_reason(near, threshold=0.6) == "The highest similarity of a passage is 0.59, below the threshold 0.6."
    )
    assert refusal_reason(near, threshold=0.5) == "No passage is close enough to the question."


def test_a_passage_shows_its_similarity() -> None:
    assert next(reply_view.format_passages([passage()])).text == "1. Part › Page › Section  similarity 0.50"


def test_a_file_name_with_a_line_break_is_one_line() -> None:
    lines = list(reply_view.format_passages([passage(place=replace(PLACE, file="a\nb.md"))]))
    assert lines[2].text == "   a\\nb.md, characters 10-80"


def test_every_refusal_has_an_explanation() -> None:
    assert set(reply_view.REFUSAL_EXPLANATIONS) == set(RefusalReason)


def test_a_long_passage_is_cut_between_words() -> None:
    lines = list(reply_view.format_passages([passage("word " * 100)]))
    assert lines[3].text.endswith("word …")
    assert len(lines[3].text) < 260


def test_a_wrapped_citation_is_indented_behind_its_number() -> None:
    citation = [line for line in reply_view.format_reply(long_answer()) if line.text.startswith("[10] ")]
    first, *rest = draw(citation[0]).splitlines()
    assert first.startswith("[10] Part › Page")
    assert rest
    assert all(line.startswith("     ") and line[5] != " " for line in rest)
    assert all(len(line) <= 30 and not line.endswith(" ") for line in (first, *rest))


def long_answer() -> Answer:
    """An answer of ten sentences, in sections with long names."""
    heading = "A section whose name is too long for one line"
    places = [replace(PLACE, headings=(heading,), anchor=f"section-{at}") for at in range(10)]
    found = passage()
    quotes = [replace(Evidence.from_chunk(found.chunk, 0, 5, 0.9), place=place) for place in places]
    return Answer(tuple(AnswerSentence(quote.text, (quote,)) for quote in quotes), (found,), judgement(), trace(found))


def test_a_partial_answer_says_so_before_its_citations() -> None:
    words = evidence("First words.")
    found = replace(judgement(), is_partial=True)
    answer = Answer((AnswerSentence(words.text, (words,)),), (passage(),), found, trace(passage()))
    text = "\n".join(line.text for line in reply_view.format_reply(answer))
    assert text.startswith("First words. [1]\n\nOnly part of this is in the book.\n\n[1] Part")


@pytest.mark.parametrize("is_unsure", [True, False])
def test_a_reply_that_is_no_answer_says_how_many_questions_were_left_out(is_unsure: bool) -> None:
    reason = RefusalReason.INSUFFICIENT_GROUNDING
    found = replace(judgement(), refusal=reason, is_unsure=is_unsure, unread_parts=3)
    closest = (evidence("First words."),)
    reply = Unsure(reason, found, trace(passage()), closest) if is_unsure else Refusal(reason, found, trace(passage()))
    lines = [line.text for line in reply_view.format_reply(reply)]
    assert lines.count("I left out the last 3 of your questions. Ask them in another message.") == 1
    whole = replace(reply, judgement=replace(found, unread_parts=0))
    assert not any("left out" in line.text for line in reply_view.format_reply(whole))


def test_an_answer_without_its_language_model_says_so() -> None:
    words = evidence("First words.")
    quoted = Answer((AnswerSentence(words.text, (words,)),), (passage(),), judgement(), trace(passage()))
    message = reply_view.MODEL_FAILED_MESSAGE
    for degraded in (False, True):
        reply = replace(quoted, trace=replace(quoted.trace, degraded=degraded, writer="quotes"))
        assert [line.text for line in reply_view.format_reply(reply)].count(message) == degraded


@pytest.mark.parametrize("text", ["In other words.", "First words."])
def test_an_answer_that_a_language_model_did_not_finish_is_not_called_a_quote(text: str) -> None:
    words = evidence("First words.")
    half = Answer((AnswerSentence(text, (words,)),), (passage(),), judgement(), trace(passage()))
    lines = [line.text for line in reply_view.format_reply(replace(half, trace=replace(half.trace, degraded=True)))]
    assert reply_view.MODEL_INTERRUPTED_MESSAGE in lines
    assert not any("own wording" in line for line in lines)


def test_a_refusal_without_its_language_model_says_so() -> None:
    refused = Refusal(RefusalReason.INSUFFICIENT_GROUNDING, judgement(), replace(trace(passage()), degraded=True))
    _, why, *_ = reply_view.format_reply(refused)
    assert why.text == reply_view.MODEL_MISSED_MESSAGE


def test_verbose_output_has_the_tokens_of_the_language_model() -> None:
    words = evidence("First words.")
    reply = Answer((AnswerSentence(words.text, (words,)),), (passage(),), judgement(), trace(passage()))
    used = replace(reply, trace=replace(reply.trace, usage=TokenUsage(1, 700, 30)))
    rows = [[line.text for line in reply_view.format_reply(each, verbose=True)] for each in (reply, used)]
    assert [next(row for row in each if row.startswith("Writer")).split(maxsplit=1)[1] for each in rows] == [
        "w",
        "w (1 call, 700 input tokens, 30 output tokens)",
    ]
