"""The rules by which replies are judged: those of a question, and those that hold for every reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lab.measure.replies.form_rules import FORM_RULES, fold, shorten, split_block
from lab.measure.replies.reply_questions import Expectation, ReplyQuestion
from lab.measure.replies.shown_reply import ShownReply
from lab.measure.replies.source_blocks import SourceBlocks


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule that a reply breaks, and how."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A question, its reply and the rules that the reply breaks, or the reason why it was not asked."""

    question: ReplyQuestion
    shown: ShownReply | None = None
    failures: tuple[Failure, ...] = ()
    skipped: str = ""

    @property
    def was_asked(self) -> bool:
        return self.shown is not None

    @property
    def has_passed(self) -> bool:
        return self.was_asked and not self.failures


def judge(shown: ShownReply, question: ReplyQuestion, source: SourceBlocks) -> list[Failure]:
    """The rules that a reply breaks; a reply of the wrong kind is not compared with the expected words."""
    expect = question.expect
    failures = [Failure(rule, detail) for rule, check in FORM_RULES.items() for detail in check(shown, source)]
    if shown.kind not in expect.reply:
        return [Failure("reply", f"is {shown.kind}, not {' or '.join(expect.reply)}"), *failures]
    return [
        Failure(rule, detail) for rule, check in QUESTION_RULES.items() for detail in check(shown, expect)
    ] + failures


def first_words(shown: ShownReply) -> str:
    """The first sentence or block; a sentence that introduces the next block counts with that block."""
    if not shown.blocks:
        return shown.message
    block, *rest = shown.blocks
    if block.kind not in ("paragraph", "heading"):
        return block.text
    first = next(iter(split_block(block)), "")
    is_lead = first.endswith(":") and len(split_block(block)) == 1 and rest
    return f"{first}\n{rest[0].text}" if is_lead else first


def _check_first(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    words = fold(first_words(shown))
    if expect.first and not any(fold(each) in words for each in expect.first):
        yield f"begins with “{shorten(first_words(shown))}”, without {' or '.join(map(repr, expect.first))}"


def _check_contains(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    if missing := [each for each in expect.contains if fold(each) not in fold(shown.text)]:
        yield f"lacks {', '.join(map(repr, missing))}"


def _check_lacks(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    if found := [each for each in expect.lacks if fold(each) in fold(shown.text)]:
        yield f"has {', '.join(map(repr, found))}"


def _check_blocks(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    kinds = [block.kind for block in shown.blocks]
    if missing := [kind for kind in expect.blocks if kind not in kinds]:
        yield f"shows {', '.join(dict.fromkeys(kinds)) or 'nothing'}, no {' and no '.join(missing)}"


def _check_cites(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    places = [fold(f"{each.path} {each.file}") for each in shown.citations]
    if expect.cites and not any(fold(each) in place for each in expect.cites for place in places):
        cited = "; ".join(dict.fromkeys(each.path for each in shown.citations)) or "nothing"
        yield f"cites {cited}, not {' or '.join(expect.cites)}"


def _check_completed(shown: ShownReply, expect: Expectation) -> Iterator[str]:
    if missing := [each for each in expect.completed if fold(each) not in fold(shown.completed)]:
        yield f"the completed question is “{shown.completed}”, without {', '.join(map(repr, missing))}"


QUESTION_RULES: dict[str, Callable[[ShownReply, Expectation], Iterator[str]]] = {
    "first": _check_first,
    "contains": _check_contains,
    "lacks": _check_lacks,
    "blocks": _check_blocks,
    "cites": _check_cites,
    "completed": _check_completed,
}
