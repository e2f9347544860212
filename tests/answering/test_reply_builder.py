"""A reply is an answer of the supported sentences, or says what is closest, or refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from bookbound.answering.draft import Draft
from bookbound.answering.reply_builder import Findings, build_reply, has_only_exercises
from bookbound.answering.understanding import understand
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Claim, Evidence, Judgement, RefusalReason, SupportLabel
from bookbound.domain.question import Question, QuestionKind, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, SentenceForm, Unsure
from bookbound.domain.trace import Trace

Make = Callable[..., Passage]
NOT_ANSWERED = Judgement(0.1, (), (), "Poor", RefusalReason.INSUFFICIENT_GROUNDING)


def build(passages: Sequence[Passage], question: str, judgement: Judgement, draft: Draft | None = None) -> Reply:
    found = Findings(understand(Question(question)), Retrieval(tuple(passages)), judgement)
    trace = Trace(found.retrieval, "g", "e", "quotes", {})
    return build_reply(found, found, draft or Draft(), trace)


def test_the_section_whose_heading_shares_words_with_the_question_is_the_closest(passage: Make) -> None:
    places = [
        replace(passage("x").chunk.place, headings=(name,), anchor=name) for name in ("Feet", "Gear ratios", "Arms")
    ]
    found = [Passage(replace(passage("x").chunk, id=place.anchor, place=place), 0.5) for place in places]
    reply = build(found, "How is a gear ratio written in Rust?", NOT_ANSWERED)
    assert isinstance(reply, Refusal)
    assert [place.section for place in reply.closest] == ["Gear ratios", "Feet", "Arms"]


def reply_with(
    passages: list[Passage],
    question: str,
    *cited: Passage,
    is_partial: bool = False,
    is_missing_part: bool = False,
    is_unsure: bool = False,
    is_by_model: bool = False,
    lost: str = "",
) -> Reply:
    """Returns the reply to a question whose parts are each answered by the passage of their number."""
    evidence = tuple(Evidence.from_chunk(each.chunk, 0, 4, 0.9, part) for part, each in enumerate(passages))
    refusal = RefusalReason.INSUFFICIENT_GROUNDING if is_unsure else None
    judgement = Judgement(0.9, (), evidence, "Good", refusal, is_partial, is_unsure)
    form = SentenceForm() if is_by_model else None
    sentences = [
        AnswerSentence(
            each.chunk.text,
            (Evidence.from_chunk(each.chunk, 0, len(each.chunk.text), 0.9),),
            form=form,
            claim=Claim(each.chunk.text) if is_by_model else None,
        )
        for each in cited
    ]
    draft = Draft(is_missing_part=is_missing_part)
    if lost:
        draft.add(AnswerSentence(lost, (), label=SupportLabel.UNSUPPORTED, form=SentenceForm(), claim=Claim(lost)))
    (draft.sentences if is_by_model else draft.quotes).extend(sentences)
    return build(passages, question, judgement, draft)


TWO_QUESTIONS = "What is a gait? What is a servo?"


def test_an_answer_names_the_parts_for_which_it_cites_nothing(passage: Make) -> None:
    pages = [passage("A gait is a pattern.", "a"), passage("Servos turn.", "b")]
    pages[1] = replace(pages[1], chunk=replace(pages[1].chunk, place=replace(pages[1].chunk.place, file="b.md")))
    both, first, second = (reply_with(pages, TWO_QUESTIONS, *cited) for cited in (pages, pages[:1], pages[1:]))
    assert isinstance(both, Answer)
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert (both.is_partial, both.judgement.missing_parts) == (False, ())
    assert (first.is_partial, first.judgement.missing_parts) == (True, ("What is a servo?",))
    assert (second.is_partial, second.judgement.missing_parts) == (True, ("What is a gait?",))


def test_a_part_without_evidence_is_missing(passage: Make) -> None:
    gait = passage("A gait is a pattern.")
    reply = reply_with([gait], TWO_QUESTIONS, gait, is_partial=True)
    assert reply.judgement.missing_parts == ("What is a servo?",)


def test_an_answer_to_one_question_has_no_missing_parts(passage: Make) -> None:
    gait = passage("A gait is a pattern.")
    assert reply_with([gait], "What is a gait?", gait).judgement.missing_parts == ()


def test_the_closest_sections_of_a_refusal_are_near_the_question(passage: Make) -> None:
    near, far = passage("Walk on.", "a", score=0.31), passage("Rest.", "b", score=0.29)
    near = replace(near, chunk=replace(near.chunk, place=replace(near.chunk.place, anchor="near")))
    refusal = build([near, far], "How?", NOT_ANSWERED)
    assert isinstance(refusal, Refusal)
    assert [place.anchor for place in refusal.closest] == ["near"]


def test_a_language_model_that_denies_makes_an_unsure_question_a_refusal(passage: Make) -> None:
    pages, asked = [passage("A gait is a pattern.")], "What is a gait?"
    assert isinstance(reply_with(pages, asked, is_missing_part=True, is_unsure=True), Refusal)
    assert isinstance(reply_with(pages, asked, is_unsure=True), Unsure)
    assert isinstance(reply_with(pages, asked, is_missing_part=True, is_unsure=True, lost="It flies."), Unsure)


def test_a_language_model_that_denies_makes_a_sure_question_unsure(passage: Make) -> None:
    page = passage("A gait is a pattern.")
    reply = reply_with([page], "What is a gait?", is_missing_part=True)
    assert isinstance(reply, Unsure)
    assert [quote.text for quote in reply.closest] == ["A gait is a pattern."]
    assert (reply.judgement.is_unsure, reply.judgement.answer_present) == (True, False)
    task = replace(page, chunk=replace(page.chunk, place=replace(page.chunk.place, headings=("Exercises",))))
    assert isinstance(reply_with([task], "What is a gait?", is_missing_part=True), Unsure)


@pytest.mark.parametrize("is_missing_part", [False, True])
def test_what_a_language_model_leaves_out_makes_the_answer_partial_and_is_not_named(
    passage: Make, is_missing_part: bool
) -> None:
    pages = [passage("A gait is a pattern.", "a"), passage("Servos turn.", "b")]
    pages[1] = replace(pages[1], chunk=replace(pages[1].chunk, place=replace(pages[1].chunk.place, file="b.md")))
    reply = reply_with(pages, TWO_QUESTIONS, pages[0], is_by_model=True, is_missing_part=is_missing_part)
    assert isinstance(reply, Answer)
    assert (reply.is_partial, reply.judgement.missing_parts) == (True, ())
    both = reply_with(pages, TWO_QUESTIONS, *pages, is_by_model=True, is_missing_part=is_missing_part)
    assert isinstance(both, Answer)
    assert both.is_partial == is_missing_part


def test_a_language_model_may_answer_from_passages_that_the_reader_was_not_sure_of(passage: Make) -> None:
    near, far = passage("Feet walk.", "a"), passage("A gait is a pattern.", "b")
    text = far.chunk.text
    evidence = (Evidence.from_chunk(far.chunk, 0, len(text), 0.9),)
    draft = Draft(sentences=[AnswerSentence(text, evidence, form=SentenceForm(), claim=Claim(text))])
    found = Findings(understand(Question("What is a gait?")), Retrieval((near,)), NOT_ANSWERED, candidates=(near, far))
    reply = build_reply(found, found, draft, Trace(found.retrieval, "g", "e", "model", {}))
    assert isinstance(reply, Answer)
    assert [each.chunk.id for each in reply.passages] == ["b"]
    assert (reply.judgement.relevant_chunk_ids, reply.judgement.quality) == (("b",), "Partial")
    assert reply.judgement.answer_present


def test_what_an_answer_cites_is_among_the_passages_of_its_trace(passage: Make) -> None:
    near, far = passage("A gait is a pattern.", "a"), passage("Servos turn.", "b")
    cited = (Evidence.from_chunk(far.chunk, 0, 12, 0.9),)
    draft = Draft(sentences=[AnswerSentence("Servos turn.", cited, form=SentenceForm(), claim=Claim("Servos turn."))])
    found = Findings(understand(Question("What turns?")), Retrieval((near,)), NOT_ANSWERED, candidates=(near, far))
    reply = build_reply(found, found, draft, Trace(found.retrieval, "g", "e", "m", {}))
    assert [each.chunk.id for each in reply.trace.retrieval.passages] == ["a", "b"]


def test_a_partial_answer_is_not_of_good_quality(passage: Make) -> None:
    gait = passage("A gait is a pattern.")
    for is_missing_part, quality in ((False, "Good"), (True, "Partial")):
        reply = reply_with([gait], "What is a gait?", gait, is_missing_part=is_missing_part, is_by_model=True)
        assert reply.judgement.quality == quality


def test_an_answer_that_only_an_exercise_has_is_unsure(passage: Make) -> None:
    task = passage("Show that the gait is a trot.", "a")
    task = replace(task, chunk=replace(task.chunk, place=replace(task.chunk.place, headings=("Exercises",))))
    reply = reply_with([task], "What is the gait?")
    assert isinstance(reply, Unsure)
    assert [quote.text for quote in reply.closest] == ["Show that the gait is a trot."]
    assert (reply.judgement.is_unsure, reply.judgement.refusal) == (True, RefusalReason.INSUFFICIENT_GROUNDING)
    other = reply_with([task, passage("A trot.", "b")], "What is the gait?")
    assert isinstance(other, Unsure)
    assert [quote.text for quote in other.closest] == ["A trot."]


def test_no_evidence_is_not_an_exercise(passage: Make) -> None:
    fact = passage("The gait is a trot.", "a").chunk
    task = replace(fact, place=replace(fact.place, headings=("Exercises",)))
    cited, asked = (Evidence.from_chunk(chunk, 0, 19, 0.9) for chunk in (fact, task))
    assert not has_only_exercises([])
    assert has_only_exercises([asked])
    assert not has_only_exercises([asked, cited])


def test_small_talk_has_no_closest_sections(passage: Make) -> None:
    assert understand(Question("Hello!")).kind is QuestionKind.SMALL_TALK
    refusal = build([passage("Walk on.", "a", score=0.9)], "Hello!", NOT_ANSWERED)
    assert isinstance(refusal, Refusal)
    assert refusal.closest == ()
