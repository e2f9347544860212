"""A language model writes, each sentence is verified, and what the book does not support is said again or not shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.answering.conftest import VerbatimVerifier

from bookbound.answering.draft import Draft
from bookbound.answering.drafting import Drafting
from bookbound.answering.engine import Engine
from bookbound.answering.judging import RunState
from bookbound.answering.reply_builder import Findings
from bookbound.answering.understanding import understand
from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.answering.writers.quotes.quote_writer import QuoteWriter
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceUnreachableError
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason, SentenceSupport, SupportLabel
from bookbound.domain.language_model import FinalReply, ModelEvent, Prompt, RequestOptions, SearchTool
from bookbound.domain.question import NO_DEADLINE, Question, Retrieval
from bookbound.domain.reply import AnswerSentence, Progress
from bookbound.domain.trace import SentenceCounts, StageClock, TokenUsage

QUOTE = "The brake holds."
BOOK = f"The arm is safe. The motor turns. The gear slips. The cable is not red. The hand opens.\n\n{QUOTE}"
QUESTION = "Is the arm safe?"
UNREACHABLE = ServiceUnreachableError("The language model could not be reached.", service="language model")
SURE = Judgement(0.9, ("c1",), (), "Good")
UNSURE = replace(SURE, refusal=RefusalReason.INSUFFICIENT_GROUNDING, is_unsure=True)
REFUSED = replace(UNSURE, is_unsure=False)


class ScriptedModel:
    """A provider without a network that says these replies, whole or until an error, and records its prompts."""

    name, temperature, timeout_seconds = "scripted", 0.0, 5.0

    def __init__(self, *replies: str | tuple[str, ServiceError]) -> None:
        self._replies = list(replies)
        self.prompts: list[Prompt] = []

    async def run(
        self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[ModelEvent]:
        self.prompts.append(prompt)
        reply = self._replies.pop(0)
        text, error = reply if isinstance(reply, tuple) else (reply, None)
        for word in text.split(" "):
            yield f"{word} "
        yield TokenUsage(1, 10, 5)
        if error:
            raise error
        yield FinalReply(text)

    async def close(self) -> None: ...


class DoubtingVerifier(VerbatimVerifier):
    """Finds plausible what says "probably"."""

    async def verify(self, sentence: AnswerSentence) -> SentenceSupport:
        if "probably" in sentence.text:
            return SentenceSupport(SupportLabel.UNVERIFIED, 0.3, sentence.evidence[:1])
        return await super().verify(sentence)


class Writing:
    """An answer to a question about one passage, and what was yielded for it."""

    def __init__(self, drafting: Drafting, model: ScriptedModel | None) -> None:
        self.draft, self.model, self.events = drafting.draft, model, list[Progress | AnswerSentence]()
        self.drafting = drafting

    def run(self) -> Writing:
        async def main() -> None:
            async for event in self.drafting.write():
                self.events.append(event)

        asyncio.run(main())
        return self

    @property
    def progress(self) -> list[Progress]:
        return [event for event in self.events if isinstance(event, Progress)]

    @property
    def streamed(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, AnswerSentence)]

    @property
    def shown(self) -> list[str]:
        return [sentence.text for sentence in self.draft.shown]


Write = Callable[..., Writing]


@pytest.fixture
def prepare(passage: Callable[..., Passage]) -> Write:
    def make(
        *replies: str | tuple[str, ServiceError],
        judgement: Judgement = SURE,
        reader_language: str = "",
        hides_unverified: bool = False,
        allow_fallback: bool = True,
        has_model: bool = True,
    ) -> Writing:
        model = ScriptedModel(*replies)
        found = passage(BOOK)
        evidence = (Evidence.from_chunk(found.chunk, BOOK.index(QUOTE), len(BOOK), 0.9),)
        judgement = replace(judgement, evidence=evidence)
        question = Question(QUESTION, allow_fallback=allow_fallback)
        understanding = replace(understand(question), reader_language=reader_language)
        findings = Findings(understanding, Retrieval((found,)), judgement, candidates=(found, passage("Else.", "c2")))
        engine = Engine(
            embedder=cast(Any, None),
            assessor=cast(Any, None),
            quotes=QuoteWriter(),
            verifier=DoubtingVerifier(),
            model=LanguageModelWriter(model) if has_model else None,
        )
        run = RunState(question, NO_DEADLINE, StageClock(), cast(Any, None))
        return Writing(Drafting(engine, Draft(hides_unverified=hides_unverified), findings, findings, run), model)

    return make


@pytest.fixture
def write(prepare: Write) -> Write:
    return lambda *replies, **given: prepare(*replies, **given).run()


def count_calls(writing: Writing) -> int:
    return len(writing.model.prompts) if writing.model else 0


def test_supported_sentences_are_shown_with_the_words_that_support_them(write: Write) -> None:
    writing = write("The arm is safe [1]. The brake holds.")
    assert writing.events[0] is Progress.WRITING
    assert writing.streamed == writing.shown == ["The arm is safe.", "The brake holds."]
    assert [[each.text for each in sentence.evidence] for sentence in writing.draft.shown] == [
        ["The arm is safe."],
        [QUOTE],
    ]
    assert writing.draft.counts == SentenceCounts(2, 0, 0)
    assert (count_calls(writing), writing.draft.usage) == (1, TokenUsage(1, 10, 5))


def test_a_sentence_is_yielded_while_the_model_still_writes(prepare: Write) -> None:
    writing = prepare("The arm is safe. The brake holds. The motor turns.")

    async def main() -> int:
        events = writing.drafting.write()
        while not isinstance(await anext(events), AnswerSentence):
            pass
        seen = len(writing.draft.sentences)
        await events.aclose()
        return seen

    assert asyncio.run(main()) == 1


FOUR = "The arm is safe. The brake holds. The motor turns. The gear slips."


@pytest.mark.parametrize(
    ("drafted", "said_again", "asked"),
    [
        ("It flies. The brake holds.", "1. The arm is safe.", "1. It flies."),
        ("The arm is safe. It flies.", "1. The motor turns.", "1. It flies."),
        (f"{FOUR} The cable is not blue.", "1. The cable is not red.", "1. The cable is not blue."),
        ("It is probably safe. The brake holds.", "1. The arm is safe.", "1. It is probably safe."),
    ],
    ids=["opening", "quarter", "negation", "unverified opening"],
)
def test_what_is_not_supported_is_said_again_once(write: Write, drafted: str, said_again: str, asked: str) -> None:
    writing = write(drafted, said_again)
    new = said_again.removeprefix("1. ")
    assert writing.shown == writing.streamed
    assert new in writing.shown
    assert writing.progress == [Progress.WRITING, Progress.REVISING]
    assert count_calls(writing) == 2
    assert writing.model is not None
    assert asked in writing.model.prompts[1].message
    assert (writing.draft.counts.dropped, writing.draft.is_withheld, writing.draft.usage.calls) == (0, False, 2)


def test_one_lost_sentence_of_many_is_left_out_and_counted(write: Write) -> None:
    writing = write(f"{FOUR} It flies.")
    assert (
        writing.shown
        == writing.streamed
        == ["The arm is safe.", "The brake holds.", "The motor turns.", "The gear slips."]
    )
    assert (writing.draft.counts, count_calls(writing)) == (SentenceCounts(4, 0, 1), 1)


@pytest.mark.parametrize("said_again", ["1. It sings.", "1. -", "Nothing.", "1. The book does not say it."])
def test_if_an_opening_stays_unsupported_the_book_is_quoted(write: Write, said_again: str) -> None:
    writing = write("It flies. The brake holds.", said_again)
    assert writing.shown == [QUOTE]
    assert (writing.draft.is_withheld, writing.draft.is_by_model, count_calls(writing)) == (True, False, 2)
    assert all(sentence.form is None for sentence in writing.draft.shown)
    assert writing.draft.counts.is_withheld
    assert writing.draft.counts.dropped == 2


def test_a_sentence_that_the_model_leaves_out_is_counted(write: Write) -> None:
    writing = write("The arm is safe. The brake holds. It flies.", "1. -")
    assert writing.shown == ["The arm is safe.", "The brake holds."]
    assert writing.draft.counts == SentenceCounts(2, 0, 1)


def test_new_words_that_are_less_sure_do_not_count(write: Write) -> None:
    writing = write("It is probably safe. The brake holds.", "1. It flies.")
    assert writing.shown == ["It is probably safe.", "The brake holds."]
    assert writing.draft.counts == SentenceCounts(1, 1, 0)


def test_an_unverified_sentence_is_marked_or_hidden(write: Write) -> None:
    drafted = f"{FOUR} It is probably cold."
    marked, hidden = write(drafted), write(drafted, hides_unverified=True)
    assert [sentence.is_verified for sentence in marked.draft.shown] == [True, True, True, True, False]
    assert marked.draft.shown[-1].evidence
    assert [sentence.is_verified for sentence in hidden.draft.shown] == [True] * 4
    assert (marked.draft.counts, hidden.draft.counts) == (SentenceCounts(4, 1, 0), SentenceCounts(4, 0, 1))
    assert hidden.streamed == hidden.shown


def test_nothing_that_follows_an_unproved_sentence_is_streamed_before_it_is_settled(prepare: Write) -> None:
    writing = prepare("The arm is safe. It is probably cold. The brake holds.", "1. The motor turns.").run()
    at = writing.events.index(Progress.REVISING)
    before = [event.text for event in writing.events[:at] if isinstance(event, AnswerSentence)]
    assert before == ["The arm is safe."]
    assert writing.streamed == ["The arm is safe.", "The motor turns.", "The brake holds."]


# Whether the model is asked


def test_a_model_reads_more_passages_if_the_local_reader_is_not_sure(write: Write) -> None:
    for judgement in (UNSURE, REFUSED):
        writing = write("The arm is safe.", judgement=judgement)
        assert (writing.shown, count_calls(writing)) == (["The arm is safe."], 1)
        assert writing.model is not None
        assert "Else." in writing.model.prompts[0].message
    sure = write("The arm is safe.")
    assert sure.model is not None
    assert "Else." not in sure.model.prompts[0].message


def test_a_model_is_not_asked_off_topic(write: Write) -> None:
    writing = write(judgement=replace(REFUSED, is_off_topic=True))
    assert (writing.events, count_calls(writing)) == ([], 0)


def test_without_a_model_the_book_is_quoted_if_it_answers(write: Write) -> None:
    assert write(has_model=False).events == write(has_model=False).draft.quotes
    assert write(has_model=False).shown == [QUOTE]
    assert write(has_model=False, judgement=UNSURE).events == []


def test_nothing_is_streamed_before_an_answer_that_may_be_withheld_is_complete(prepare: Write) -> None:
    writing = prepare("The arm is safe. The brake holds. It flies.", "1. -", judgement=UNSURE).run()
    assert writing.events[:2] == [Progress.WRITING, Progress.REVISING]
    assert writing.streamed == ["The arm is safe.", "The brake holds."]


def test_what_the_local_reader_does_not_find_must_open_with_proof(write: Write) -> None:
    drafted = "It is probably safe. The brake holds. The motor turns. The gear slips."
    assert write(drafted, "1. It is probably fine.").shown
    writing = write(drafted, "1. It is probably fine.", judgement=UNSURE)
    assert (writing.events, writing.shown) == ([Progress.WRITING, Progress.REVISING], [])
    assert writing.draft.is_withheld


@pytest.mark.parametrize("judgement", [SURE, UNSURE])
@pytest.mark.parametrize("drafted", ["NO ANSWER", "The passages do not mention it.", "I'm sorry, I can't."])
def test_a_model_that_finds_no_answer_is_believed(write: Write, judgement: Judgement, drafted: str) -> None:
    writing = write(drafted, judgement=judgement)
    assert (writing.events, writing.shown) == ([Progress.WRITING], [])
    assert (writing.draft.is_denied, writing.draft.is_withheld, count_calls(writing)) == (True, False, 1)


def test_what_a_model_takes_back_is_not_in_the_answer(write: Write) -> None:
    writing = write("The brake holds. Is it safe?\n</think>\n\nThe arm is safe. The brake holds.")
    assert writing.shown == ["The arm is safe.", "The brake holds."]
    assert writing.draft.counts == SentenceCounts(2, 0, 0)
    assert writing.streamed[-2:] == writing.shown


def test_a_yes_alone_is_no_answer(write: Write) -> None:
    assert write("Yes.").shown == [QUOTE]
    assert write("Yes.\n\n- The brake holds.").shown == ["Yes.", "The brake holds."]


def test_a_missing_part_leaves_the_sentences(write: Write) -> None:
    writing = write("The arm is safe.\nMISSING: its cost")
    assert (writing.shown, writing.draft.is_missing_part) == (["The arm is safe."], True)
    assert not writing.draft.is_denied


def test_if_a_model_says_nothing_the_book_is_quoted(write: Write) -> None:
    writing = write("<think>It flies.")
    assert (writing.shown, writing.draft.is_by_model, count_calls(writing)) == ([QUOTE], False, 1)
    assert (writing.draft.is_denied, writing.draft.is_degraded) == (False, False)


# Failure


def test_if_the_model_fails_at_once_the_book_is_quoted(write: Write) -> None:
    writing = write(("", UNREACHABLE), ("", UNREACHABLE), ("", UNREACHABLE))
    assert (writing.shown, writing.draft.is_degraded) == ([QUOTE], True)
    assert writing.draft.quotes


def test_if_the_model_fails_later_what_it_wrote_stays(write: Write) -> None:
    writing = write(("The arm is safe. The brake holds. The motor", UNREACHABLE))
    assert writing.shown == writing.streamed == ["The arm is safe.", "The brake holds."]
    assert (writing.draft.is_degraded, writing.draft.is_by_model) == (True, True)
    assert writing.draft.usage.calls == 1


def test_if_the_revision_fails_the_book_is_quoted(write: Write) -> None:
    writing = write("It flies. The brake holds.", *[("", UNREACHABLE)] * 3)
    assert (writing.shown, writing.draft.is_degraded, writing.draft.is_withheld) == ([QUOTE], True, True)
    assert writing.draft.quotes


def test_what_is_not_verified_before_the_deadline_is_not_called_verified(
    prepare: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = prepare("The arm is safe. The brake holds.", "Nothing.")

    async def verify(self: DoubtingVerifier, sentence: AnswerSentence) -> SentenceSupport:
        raise TimeoutError

    monkeypatch.setattr(DoubtingVerifier, "verify", verify)
    writing.run()
    assert writing.draft.counts == SentenceCounts(0, 2, 0)


def test_a_caller_who_wants_to_know_gets_the_error(prepare: Write) -> None:
    for replies in ([("", UNREACHABLE)] * 3, [("The arm is safe. The brake holds. The", UNREACHABLE)]):
        with pytest.raises(ServiceUnreachableError):
            prepare(*replies, allow_fallback=False).run()


# Translation


def test_an_answer_is_translated_as_a_whole(write: Write) -> None:
    writing = write(
        "The arm is safe. The brake holds.", "1. Der Arm ist sicher.\n2. Die Bremse hält.", reader_language="German"
    )
    assert writing.progress == [Progress.WRITING, Progress.TRANSLATING]
    assert writing.streamed == writing.shown == ["Der Arm ist sicher.", "Die Bremse hält."]
    assert [sentence.evidence[0].text for sentence in writing.draft.shown] == ["The arm is safe.", "The brake holds."]
    assert (count_calls(writing), writing.draft.usage.calls) == (2, 2)


def test_only_what_is_shown_is_translated_and_code_stays(write: Write) -> None:
    drafted = f"{FOUR} It flies.\n\n```\nThe hand opens.\n```"
    writing = write(drafted, "1. Der Arm ist sicher.", reader_language="German")
    assert writing.model is not None
    lines = writing.model.prompts[-1].message
    assert "It flies" not in lines
    assert "The hand opens" not in lines
    assert (writing.shown[0], writing.shown[-1]) == ("Der Arm ist sicher.", "The hand opens.")


def test_quotes_stay_in_the_language_of_the_book(write: Write) -> None:
    writing = write("It flies.", "1. -", reader_language="German")
    assert (writing.shown, writing.progress) == ([QUOTE], [Progress.WRITING, Progress.REVISING])


def test_if_the_translation_fails_the_answer_stays_in_the_language_of_the_book(write: Write) -> None:
    writing = write("The arm is safe.", *[("", UNREACHABLE)] * 3, reader_language="German")
    assert (writing.shown, writing.draft.is_degraded) == (["The arm is safe."], True)


def test_an_introduction_is_shown_with_what_follows_it(write: Write) -> None:
    steps = "1. The arm is safe.\n2. It flies.\n3. The brake holds.\n4. The motor turns.\n5. The gear slips."
    writing = write(f"Follow these steps:\n\n{steps}")
    assert writing.streamed == writing.shown
    assert writing.shown[:2] == ["Follow these steps:", "The arm is safe."]
    assert len(writing.shown) == 5
