"""A draft shows what the book supports, and nothing if that would say something else than the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from bookbound.answering.draft import Draft
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Claim, Evidence, SupportLabel
from bookbound.domain.reply import AnswerSentence, MissingPart, SentenceForm
from bookbound.domain.trace import SentenceCounts, TokenUsage

SUPPORTED, UNVERIFIED, UNSUPPORTED = SupportLabel.SUPPORTED, SupportLabel.UNVERIFIED, SupportLabel.UNSUPPORTED
LABELS = {"s": SUPPORTED, "?": UNVERIFIED, "x": UNSUPPORTED}


def claim(text: str, label: SupportLabel = SUPPORTED, form: SentenceForm | None = None) -> AnswerSentence:
    return AnswerSentence(text, (), label=label, form=form or SentenceForm(), claim=Claim(text))


def introduce(text: str, form: SentenceForm | None = None) -> AnswerSentence:
    """A sentence that claims nothing."""
    return AnswerSentence(text, (), form=form or SentenceForm())


def draft_of(labels: str, **options: bool) -> Draft:
    """A draft with one claim for each label: supported, unverified (?) or unsupported (x)."""
    draft = Draft(**options)  # type: ignore[arg-type]
    for number, label in enumerate(labels, 1):
        draft.add(claim(f"Fact {number}.", LABELS[label]))
    return draft


def list_numbers(sentences: Sequence[AnswerSentence]) -> str:
    return "".join(sentence.text[5] for sentence in sentences)


@pytest.mark.parametrize(
    ("labels", "shown", "hidden_shown"),
    [("sss", "123", "123"), ("s?s", "123", "13"), ("s?x", "12", "1"), ("x?s", "23", "3"), ("xx", "", "")],
)
def test_a_reader_sees_what_is_supported_or_unverified(labels: str, shown: str, hidden_shown: str) -> None:
    assert list_numbers(draft_of(labels).shown) == shown
    assert list_numbers(draft_of(labels, hides_unverified=True).shown) == hidden_shown


def test_every_sentence_is_counted() -> None:
    assert draft_of("ss?xs").counts == SentenceCounts(3, 1, 1)
    assert draft_of("ss?xs", hides_unverified=True).counts == SentenceCounts(3, 0, 2)
    draft = draft_of("sxss")
    draft.revise(draft.claims[1:2], [None])
    assert draft.counts == SentenceCounts(3, 0, 1)


@pytest.mark.parametrize(
    ("labels", "misleads"),
    [
        *(("s", False), ("sss", False), ("x", True), ("xsss", True), ("ssxs", False), ("sssx", False)),
        *(("ssx", True), ("ssxx", True), ("ssssxsxs", False), ("s???", False)),
    ],
)
def test_a_draft_misleads_without_its_opening_or_more_than_a_quarter(labels: str, misleads: bool) -> None:
    draft = draft_of(labels)
    assert draft.misleads is misleads
    draft.settle(may_open_unverified=True)
    assert (draft.is_withheld, bool(draft.shown)) == (misleads, not misleads)


@pytest.mark.parametrize("text", ["It is not safe.", "It never stops.", "It doesn't stop.", "It has no brake."])
def test_a_draft_misleads_without_a_negation(text: str) -> None:
    draft = draft_of("sssss")
    draft.add(claim(text, UNSUPPORTED))
    assert draft.misleads
    assert [sentence.text for sentence in draft.unproved] == [text]


@pytest.mark.parametrize(
    ("labels", "unproved"), [("s?ss", ""), ("?sss", "1"), ("s??s", "23"), ("sxss", ""), ("sx?s", "23")]
)
def test_what_is_not_proved_is_said_again_if_it_matters(labels: str, unproved: str) -> None:
    assert list_numbers(draft_of(labels).unproved) == unproved


def test_hidden_sentences_count_as_lost() -> None:
    draft = draft_of("s??s", hides_unverified=True)
    draft.settle(may_open_unverified=True)
    assert draft.is_withheld
    shown = draft_of("s??s")
    shown.settle(may_open_unverified=True)
    assert not shown.is_withheld


def test_an_opening_must_be_verified_if_the_book_may_not_answer() -> None:
    for may_open, is_withheld in ((True, False), (False, True)):
        draft = draft_of("?sss")
        draft.settle(may_open_unverified=may_open)
        assert draft.is_withheld is is_withheld


def test_what_was_said_again_takes_its_place() -> None:
    draft = draft_of("sxxs")
    old = draft.unproved
    draft.revise(old, [claim("Fact 7."), old[1]])
    assert [sentence.text for sentence in draft.sentences] == ["Fact 1.", "Fact 7.", "Fact 3.", "Fact 4."]
    assert not draft.is_withheld


def test_a_draft_without_its_opening_is_withheld() -> None:
    draft = draft_of("xsss")
    draft.revise(draft.unproved, [None])
    draft.settle(may_open_unverified=True)
    assert (draft.is_withheld, draft.shown) == (True, [])


def test_a_model_may_leave_out_what_is_not_supported_but_not_what_it_denied() -> None:
    draft = draft_of("sxxs")
    draft.revise(draft.unproved, [None, None])
    draft.settle(may_open_unverified=True)
    assert (draft.is_withheld, list_numbers(draft.shown), draft.counts) == (False, "14", SentenceCounts(2, 0, 2))
    negated = Draft(sentences=[claim("Fact 1."), claim("It must not get wet.", UNSUPPORTED), *map(claim, "abcdef")])
    negated.revise([negated.claims[1]], [None])
    negated.settle(may_open_unverified=True)
    assert negated.is_withheld


def test_what_is_said_already_is_not_said_again() -> None:
    draft = draft_of("sxss")
    draft.revise([draft.claims[1]], [claim("Fact 3.")])
    draft.settle(may_open_unverified=True)
    assert (list_numbers(draft.shown), draft.counts) == ("134", SentenceCounts(3, 0, 0))


def test_what_a_limit_cuts_counts_as_lost_and_makes_the_answer_partial() -> None:
    draft = Draft(4, sentences=draft_of("sssss").sentences)
    draft.settle(may_open_unverified=True)
    assert (list_numbers(draft.shown), draft.is_missing_part, draft.is_withheld) == ("1234", True, False)
    for last in ("It must not get wet.", "Fact 6."):
        cut = Draft(3 if last == "Fact 6." else 5, sentences=[*draft_of("sssss").sentences, claim(last)])
        cut.settle(may_open_unverified=True)
        assert (cut.is_withheld, cut.is_missing_part) == (True, False)


def test_a_withheld_draft_shows_its_quotes() -> None:
    draft = draft_of("xs")
    draft.settle(may_open_unverified=True)
    assert (draft.shown, draft.is_by_model, draft.counts.is_withheld) == ([], False, True)
    draft.quotes.append(AnswerSentence("A quote.", ()))
    assert [sentence.text for sentence in draft.shown] == ["A quote."]


def test_an_introduction_is_shown_with_what_it_introduces(passage: Callable[..., Passage]) -> None:
    found = passage("Press stop.")
    evidence = (Evidence.from_chunk(found.chunk, 0, 11, 1.0),)
    item = SentenceForm("item", "1.")
    for label, shown in ((SUPPORTED, ["Steps", "Do this:", "Press stop."]), (UNSUPPORTED, [])):
        draft = Draft()
        draft.add(introduce("Steps", SentenceForm("heading")))
        draft.add(introduce("Do this:"))
        draft.add(AnswerSentence("Press stop.", evidence, label=label, form=item, claim=Claim("Press stop.")))
        draft.add(introduce("And then:"))
        assert [sentence.text for sentence in draft.shown] == shown
        assert all(sentence.evidence == evidence for sentence in draft.shown)


@pytest.mark.parametrize(
    ("first", "second", "is_shown"),
    [
        (introduce("Why"), claim("It is."), False),
        (introduce("Do:"), claim("a", form=SentenceForm("code")), True),
        (introduce("A | B", SentenceForm("row", is_header=True)), claim("c | d", form=SentenceForm("row")), True),
        (introduce("A | B", SentenceForm("row", is_header=True)), claim("It is."), False),
        (introduce("Why", SentenceForm("heading")), claim("It is."), True),
        (introduce("Why", SentenceForm("heading")), introduce("How", SentenceForm("heading")), False),
    ],
)
def test_a_form_introduces_what_belongs_to_it(first: AnswerSentence, second: AnswerSentence, is_shown: bool) -> None:
    draft = Draft(sentences=[first, second])
    assert (first.text in [sentence.text for sentence in draft.shown]) is is_shown


def test_a_list_counts_as_one_with_its_introduction() -> None:
    item, heading = SentenceForm("item"), SentenceForm("heading")
    sentences = [claim("One."), claim("a", form=item), claim("b", form=item), claim("Two."), introduce("T", heading)]
    sentences += [claim("Three."), claim("Four.")]
    for most, texts in ((0, 7), (1, 3), (2, 5), (3, 6), (9, 7)):
        assert len(Draft(most, sentences=sentences).shown) == texts


def test_certain_are_the_shown_sentences_before_one_that_is_not_proved() -> None:
    assert [list_numbers(draft_of(labels).certain) for labels in ("", "ss", "ss?s", "sxs", "xs")] == [
        "",
        "12",
        "12",
        "1",
        "",
    ]
    draft = draft_of("s")
    draft.add(introduce("Do this:"))
    assert list_numbers(draft.certain) == "1"


def test_a_model_that_only_says_that_something_is_missing_denies() -> None:
    draft = Draft()
    draft.add(TokenUsage(1, 2, 3))
    draft.add(TokenUsage(1, 2, 3))
    assert (draft.is_denied, draft.usage) == (False, TokenUsage(2, 4, 6))
    draft.add(MissingPart())
    draft.add(introduce("Here:"))
    assert draft.is_denied
    draft.add(claim("Fact 1.", UNSUPPORTED))
    assert (draft.is_denied, draft.is_missing_part) == (False, True)


def test_a_translation_keeps_forms_and_what_has_none() -> None:
    row = SentenceForm("row", cells=("arm", "3 kg"))
    sentences = [claim("It is."), claim("arm | 3 kg", form=row), claim("x = 1", form=SentenceForm("code"))]
    draft = Draft(sentences=sentences)
    draft.translate({"It is.": "Es ist.", "arm | 3 kg": "| Arm | 3 kg |"})
    one, two, three = draft.sentences
    assert (one.text, one.claim, three) == ("Es ist.", Claim("It is."), sentences[2])
    assert two.form is not None
    assert (two.form.kind, two.form.cells) == ("row", ("Arm", "3 kg"))
    draft.translate({"| Arm | 3 kg |": "nur eine"})
    assert draft.sentences[1] == two
