"""The text, the marks and the sources of an answer, and the words of an unsure reply."""

from __future__ import annotations

from dataclasses import replace

from bookbound.domain.chunk import Chunk, Passage, Place, QuotableUnit
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Claim, Evidence, Judgement, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, Retrieval
from bookbound.domain.reply import (
    UNSURE_MESSAGE,
    UNSURE_SELECTION_MESSAGE,
    Answer,
    AnswerSentence,
    Refusal,
    SentenceForm,
    Source,
    Unsure,
    count_sentences,
    group_by_section,
    join_sentences,
)
from bookbound.domain.trace import Trace

TEXT = "It walks. It stops.\n\nstop()\n\n- legs\n- feet"
UNITS = (
    QuotableUnit("sentence", 0, 9),
    QuotableUnit("sentence", 10, 19),
    QuotableUnit("code", 21, 27),
    QuotableUnit("item", 29, 35),
    QuotableUnit("item", 36, 42),
)
PLACE = Place("a.md", "/a", "Motion", "Walking", (), "", 0, len(TEXT))
PASSAGE = Passage(Chunk("a", TEXT, PLACE, 0, (SourceSpan(0, len(TEXT), 0, len(TEXT)),), UNITS), 0.6)


def quote(unit: QuotableUnit) -> AnswerSentence:
    evidence = Evidence.from_chunk(PASSAGE.chunk, unit.start, unit.end, 0.9)
    return AnswerSentence(evidence.text, (evidence,))


def test_evidence_has_the_kind_of_its_unit() -> None:
    assert [quote(unit).kind for unit in UNITS] == [unit.kind for unit in UNITS]
    assert Evidence.from_chunk(PASSAGE.chunk, 21, 25, 0.9).kind == "sentence"


def test_a_paraphrase_is_prose_whatever_it_cites() -> None:
    assert AnswerSentence("Call stop.", (Evidence.from_chunk(PASSAGE.chunk, 21, 27, 0.9),)).kind == "sentence"


def test_quotes_are_joined_as_markdown() -> None:
    assert join_sentences(map(quote, UNITS)) == "It walks. It stops.\n\n```\nstop()\n```\n\n- legs\n- feet"
    assert join_sentences([quote(UNITS[2]), "(page 1)", quote(UNITS[0])]) == "```\nstop()\n```\n\n(page 1)\n\nIt walks."


def test_several_items_keep_their_kind_and_code_makes_code() -> None:
    assert Evidence.from_chunk(PASSAGE.chunk, 29, 42, 0.9).kind == "item"
    assert Evidence.from_chunk(PASSAGE.chunk, 10, 42, 0.9).kind == "code"


def test_items_of_two_places_are_separated() -> None:
    other = Passage(replace(PASSAGE.chunk, id="b"), 0.5)
    item = Evidence.from_chunk(other.chunk, 36, 42, 0.9)
    assert join_sentences([quote(UNITS[3]), AnswerSentence(item.text, (item,))]) == "- legs\n\n- feet"


def make_unsure(kind: RefusalReason) -> Unsure:
    closest = tuple(quote(unit).evidence[0] for unit in UNITS[:2])
    judgement = Judgement(0.3, ("a",), closest, "Partial", kind, is_unsure=True)
    return Unsure(kind, judgement, Trace(Retrieval((PASSAGE,)), "g1", "embedder", "quotes", {}), closest)


def test_an_unsure_reply_says_what_it_is_not_sure_of() -> None:
    assert make_unsure(RefusalReason.INSUFFICIENT_GROUNDING).text == UNSURE_MESSAGE
    assert make_unsure(RefusalReason.SELECTED_TEXT_MISSING).text == UNSURE_SELECTION_MESSAGE


def test_an_unsure_reply_becomes_a_refusal_with_each_closest_section_once() -> None:
    unsure = make_unsure(RefusalReason.INSUFFICIENT_GROUNDING)
    refusal = unsure.to_refusal()
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.judgement.is_unsure, refusal.trace) == (unsure.kind, False, unsure.trace)
    assert [place.link for place in refusal.closest] == [PLACE.link]


def make_answer(
    *sentences: AnswerSentence,
    evidence: tuple[Evidence, ...] = (),
    is_partial: bool = False,
    missing_parts: tuple[str, ...] = (),
) -> Answer:
    judgement = Judgement(0.9, ("a",), evidence, "Good", is_partial=is_partial, missing_parts=missing_parts)
    return Answer(sentences, (PASSAGE,), judgement, Trace(Retrieval((PASSAGE,)), "g1", "embedder", "quotes", {}))


def test_the_text_of_an_answer_is_markdown_and_its_words_are_not() -> None:
    answer = make_answer(*map(quote, UNITS))
    assert answer.text == "It walks. It stops.\n\n```\nstop()\n```\n\n- legs\n- feet"
    assert answer.words == "It walks. It stops. stop() - legs - feet"
    assert [block.kind for block in answer.blocks] == ["paragraph", "code", "list"]


def test_a_partial_answer_names_the_parts_that_are_missing() -> None:
    answer = make_answer(quote(UNITS[0]), is_partial=True, missing_parts=("How far?", "How fast?"))
    reservation = "Only part of this is in the book. I found no sure answer to this: How far? How fast?"
    assert (answer.reservation, answer.full_text) == (reservation, f"It walks. {reservation}")
    assert make_answer(quote(UNITS[0]), is_partial=True).reservation == "Only part of this is in the book."
    assert make_answer(quote(UNITS[0])).reservation == ""


def test_a_list_counts_as_one_sentence_so_that_its_answer_can_say_that_it_is_partial() -> None:
    form = SentenceForm("item")
    listed = [AnswerSentence(f"Part {number}.", (), form=form, claim=Claim("Part.")) for number in range(7)]
    answer = make_answer(AnswerSentence("These are the parts:", (), form=SentenceForm()), *listed, is_partial=True)
    assert count_sentences(answer.sentences) == 1
    assert answer.full_text.endswith("Only part of this is in the book.")
    titled = [AnswerSentence("Parts", (), form=SentenceForm("heading")), *listed[:1], quote(UNITS[0])]
    assert [count_sentences(titled[:most]) for most in range(4)] == [0, 0, 0, 1]


def test_a_partial_answer_from_a_selection_speaks_of_the_selection() -> None:
    selected = Passage(replace(PASSAGE.chunk, id=SELECTION_CHUNK_ID), 1.0)
    answer = make_answer(quote(UNITS[0]), is_partial=True, missing_parts=("How far?",))
    answer = replace(answer, trace=replace(answer.trace, retrieval=Retrieval((selected,))))
    assert answer.reservation.startswith("Only part of this is in the selected text. I found no sure answer to this:")


def cite(file: str, anchor: str, start: int) -> Evidence:
    place = replace(PLACE, file=file, url=f"/{file}", anchor=anchor, start=start, end=start + 5)
    return Evidence(file + anchor, f"Words {start}.", place, start, start + 5, 0.9)


def test_quotes_of_one_section_are_one_source_that_reaches_from_the_first_to_the_last() -> None:
    one, two, three = cite("a", "legs", 0), cite("a", "legs", 9), cite("a", "arms", 20)
    assert group_by_section([two, one, three]) == (
        Source(1, replace(one.place, end=14), (two, one)),
        Source(2, three.place, (three,)),
    )


def test_sources_are_numbered_in_the_order_of_the_quotes() -> None:
    far, near = cite("b", "legs", 0), cite("a", "legs", 0)
    found = group_by_section([far, near, cite("b", "legs", 9)])
    assert [(source.number, source.place.file) for source in found] == [(1, "b"), (2, "a")]


def test_a_repeated_quote_is_cited_once() -> None:
    one = cite("a", "legs", 0)
    assert group_by_section([one, one]) == (Source(1, one.place, (one,)),)
    assert group_by_section([]) == ()


def test_printed_pages_are_sources_of_their_own() -> None:
    first, second = (replace(cite(f"book.pdf#page={page}", "", 0), text=f"{page}") for page in (3, 4))
    assert [source.number for source in group_by_section([first, second])] == [1, 2]


def test_sections_of_two_books_are_two_sources() -> None:
    one = cite("a", "legs", 0)
    other = replace(one, place=replace(one.place, book="other"))
    assert len(group_by_section([one, other])) == 2


def test_an_answer_has_the_sources_of_its_citations() -> None:
    answer = make_answer(*map(quote, UNITS))
    assert [(source.number, source.quotes) for source in answer.sources] == [(1, answer.citations)]


def find_marked(answer: Answer) -> list[list[str]]:
    """Returns the words that are marked in each block."""
    return [[block.text[start:end] for start, end in answer.find_marks(block)] for block in answer.blocks]


def make_prose(text: str, *answering: tuple[int, int, int]) -> Answer:
    """Makes an answer that is one sentence, with the spans and the parts that answer, best first."""
    units = (QuotableUnit("sentence", 0, len(text)),)
    chunk = Chunk("p", text, PLACE, 0, (SourceSpan(0, len(text), 0, len(text)),), units)
    evidence = tuple(Evidence.from_chunk(chunk, start, end, 0.9, part) for start, end, part in answering)
    whole = Evidence.from_chunk(chunk, 0, len(text), 0.9)
    return make_answer(AnswerSentence(text, (whole,)), evidence=evidence)


def spans(text: str, *words: str) -> list[tuple[int, int, int]]:
    return [(text.index(each), text.index(each) + len(each), part) for part, each in enumerate(words)]


def test_the_words_that_answer_are_marked() -> None:
    text = "The arm of the robot\nlifts 5 kg at most."
    assert find_marked(make_prose(text, *spans(text, "5 kg"))) == [["5 kg"]]
    assert find_marked(make_prose(text, *spans(text, "robot\nlifts 5 kg"))) == [["robot lifts 5 kg"]]
    assert find_marked(make_prose(text, *spans(text, "at most."))) == [["at most"]]


def test_the_best_words_for_each_part_are_marked() -> None:
    text = "The arm lifts 5 kg and the leg lifts 9 kg at most."
    assert find_marked(make_prose(text, *spans(text, "9 kg", "5 kg"))) == [["5 kg", "9 kg"]]
    second = (text.index("leg"), text.index("leg") + 3, 0)
    assert find_marked(make_prose(text, *spans(text, "9 kg"), second)) == [["9 kg"]]


def test_words_are_marked_where_they_answer_and_not_where_they_are_repeated() -> None:
    text = "The 15 arms lift 5 kg each."
    start = text.index("5 kg")
    answer = make_prose(text, (start, start + 1, 0))
    assert answer.find_marks(answer.blocks[0]) == ((start, start + 1),)


def test_words_that_are_most_of_a_paragraph_are_not_marked() -> None:
    text = "The arm lifts 5 kg."
    assert find_marked(make_prose(text, *spans(text, "arm lifts 5 kg"))) == [[]]
    assert find_marked(make_prose(text, *spans(text, "lifts 5 kg"))) == [["lifts 5 kg"]]


def test_words_that_are_not_quoted_are_not_marked() -> None:
    walks = Evidence.from_chunk(PASSAGE.chunk, 3, 8, 0.9)
    assert find_marked(make_answer(quote(UNITS[0]), quote(UNITS[1]), evidence=(walks,))) == [["walks"]]
    assert find_marked(make_answer(quote(UNITS[1]), evidence=(walks,))) == [[]]


def test_only_paragraphs_have_marks() -> None:
    words = tuple(Evidence.from_chunk(PASSAGE.chunk, *span, 0.9) for span in ((21, 23), (31, 33)))
    for unit, piece in zip((UNITS[2], UNITS[3]), words, strict=True):
        assert find_marked(make_answer(quote(unit), evidence=(piece,))) == [[]]
