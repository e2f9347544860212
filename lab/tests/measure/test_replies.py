"""Replies are judged by rules, each of which a made-up reply can break, and rendered as one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

import lab.measure.replies.__main__ as replies_command
from bookbound.domain.chunk import Chunk, Place, QuotableUnit
from bookbound.domain.judgement import Evidence
from bookbound.domain.reply import Reply
from bookbound.sources import parse_book
from bookbound.testing import make_answer, make_passage, make_refusal, make_unsure
from lab.measure.replies.reply_page import render_reply_page
from lab.measure.replies.reply_questions import (
    BLOCKS,
    KINDS,
    REPLIES,
    SOURCES,
    Expectation,
    ReplyQuestion,
    load_reply_questions,
)
from lab.measure.replies.reply_rules import Failure, JudgedReply, judge
from lab.measure.replies.shown_reply import ShownBlock, ShownCitation, ShownReply, show_reply
from lab.measure.replies.source_blocks import SourceBlocks

PLACE = ShownCitation(1, "Chapter 1 › Gears", "https://book.example/chapter-1#gears", "chapter-1.md")
PAGE_SOURCE = """\
![A gearbox, opened](gearbox.png)

```python title="gears.py"
import gears

gears.turn()
```

- Spur gears. They are cheap.
- Worm gears.
- Bevel gears.

| Gear | Ratio |
|---|---|
| spur | 3 |
| worm | 20 |

1. Push the rim.
2. | is a bar.
"""


def ask_for(kind: str = "fact", **expect: Sequence[str]) -> ReplyQuestion:
    expectation = replace(Expectation(("answer",)), **{name: tuple(words) for name, words in expect.items()})
    return ReplyQuestion("q1", "example", kind, "How do gears turn?", expectation, ())


def reply_with(*blocks: ShownBlock, citations: Sequence[ShownCitation] = (PLACE,), **more: str) -> ShownReply:
    shown = ShownReply("answer", "", blocks, tuple(citations))
    return replace(shown, **more)  # type: ignore[arg-type]


def prose(*sentences: str) -> ShownBlock:
    return ShownBlock("paragraph", sentences, (1,))


GOOD = reply_with(
    prose("A gear turns.", "It has two parts:"),
    ShownBlock("list", ("a rim", "a hub"), (1,)),
    completed="Do gears turn?",
)


@pytest.fixture
def source(tmp_path: Path) -> SourceBlocks:
    (tmp_path / "chapter-1.md").write_text(PAGE_SOURCE, encoding="utf-8")
    return SourceBlocks(tmp_path)


def broken_rules(shown: ShownReply, question: ReplyQuestion, source: SourceBlocks) -> list[str]:
    return [failure.rule for failure in judge(shown, question, source)]


def test_there_are_120_questions_with_at_least_eight_of_each_kind() -> None:
    questions = load_reply_questions()
    kinds = Counter(question.kind for question in questions)
    assert len(questions) == 120
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 8
    assert len({question.source for question in questions}) >= 6


def test_no_id_and_no_question_about_a_source_occurs_twice() -> None:
    questions = load_reply_questions()
    assert len({question.id for question in questions}) == len(questions)
    assert len({(each.source, each.question, each.selection) for each in questions}) == len(questions)


@pytest.mark.parametrize("question", load_reply_questions(), ids=lambda question: question.id)
def test_an_expectation_names_known_replies_and_blocks_and_quotes_the_book(question: ReplyQuestion) -> None:
    expect = question.expect
    assert question.source in SOURCES
    assert set(expect.reply) <= set(REPLIES)
    assert set(expect.blocks) <= set(BLOCKS)
    assert bool(question.words) == (expect.reply == ("answer",)), "an answer quotes the book"
    assert bool(question.conversation) == (question.kind == "follow_up") == bool(expect.completed)
    assert bool(question.selection) == (question.kind == "selection")
    assert expect.first or expect.contains or "answer" not in expect.reply, "an answer is compared with words"


@pytest.mark.parametrize(
    "name", [name if name == "example" else pytest.param(name, marks=pytest.mark.slow) for name in SOURCES]
)
def test_the_words_of_an_expectation_are_verbatim_in_the_source(name: str) -> None:
    if not SOURCES[name].exists():
        pytest.skip(f"{SOURCES[name]} is absent")
    pages = parse_book(SOURCES[name]).pages
    text = " ".join(" ".join(f"{page.chapter} {page.title} {page.text}" for page in pages).split())
    for question in load_reply_questions():
        if question.source == name:
            missing = [each for each in (*question.words, question.selection or "") if each not in text]
            assert not missing, question.id


def test_a_good_reply_breaks_no_rule(source: SourceBlocks) -> None:
    question = ask_for(
        first=["a gear"],
        contains=("RIM", "hub"),
        lacks=["wheel"],
        blocks=["list"],
        cites=("Pulleys", "gears"),
        completed=["gears"],
    )
    assert judge(GOOD, question, source) == []


@pytest.mark.parametrize(
    ("rule", "expect"),
    [
        ("reply", {"reply": ("refusal", "unsure")}),
        ("first", {"first": ["hub"]}),
        ("contains", {"contains": ("rim", "axle")}),
        ("lacks", {"lacks": ["hub"]}),
        ("blocks", {"blocks": ("list", "table")}),
        ("cites", {"cites": ("Pulleys",)}),
        ("completed", {"completed": ["pulleys"]}),
    ],
)
def test_a_reply_that_misses_one_expectation_breaks_that_rule_only(
    rule: str, expect: dict[str, Sequence[str]], source: SourceBlocks
) -> None:
    assert broken_rules(GOOD, ask_for(kind="fact", **expect), source) == [rule]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("fragment", reply_with(prose("true."))),
        ("fragment", reply_with(prose("Every gear turns the other"))),
        ("fragment", reply_with(prose("Example (save as gears.py):"))),
        ("fragment", reply_with(prose("Output:", "Gears turn."))),
        ("fragment", reply_with(prose("Gears turn."), ShownBlock("list", ("", " ")))),
        ("alt_text", reply_with(prose("A gearbox, opened."))),
        ("joined_cells", reply_with(prose("Gear | Ratio | Place."))),
        ("code_lines", reply_with(ShownBlock("code", ("", "  ")))),
        ("code_lines", reply_with(ShownBlock("code", ("import gears",)))),
        ("code_lines", reply_with(ShownBlock("code", ("gears.py", "import gears", "", "gears.turn()")))),
        ("whole_list", reply_with(ShownBlock("list", ("Spur gears. They are cheap.", "Worm gears.")))),
        ("whole_list", reply_with(ShownBlock("list", ("Spur gears.",)))),
        ("whole_table", reply_with(ShownBlock("table", ("worm | 20",)))),
        ("not_a_fact", reply_with(prose("Gears turn."), citations=(replace(PLACE, path="Gears › Exercises"),))),
        ("not_a_fact", reply_with(prose("Figure 1.1. A gear."))),
        ("not_a_fact", reply_with(ShownBlock("code", ("flowchart LR", "  A --> B")))),
        ("one_citation", reply_with(prose("Gears turn."), citations=(PLACE, replace(PLACE, number=2)))),
        ("link", reply_with(prose("Gears turn."), citations=(replace(PLACE, link=""),))),
        ("link", reply_with(prose("Gears turn."), citations=(replace(PLACE, link="#gears"),))),
        ("link", reply_with(prose("Gears turn."), citations=(replace(PLACE, file="book.pdf", link="book.pdf"),))),
        ("length", reply_with(prose(*(f"Gear {number} turns all day long." for number in range(30))))),
        ("repetition", reply_with(prose("Gears turn.", "They do.", "Gears turn."))),
    ],
)
def test_a_reply_with_one_fault_breaks_one_general_rule(rule: str, shown: ShownReply, source: SourceBlocks) -> None:
    assert broken_rules(shown, ask_for(), source) == [rule]


@pytest.mark.parametrize(
    "shown",
    [
        reply_with(prose("Pass `end` to print.", "Does it end? (It does.)", "It costs 5 €")),
        reply_with(prose("The type is str | None here.")),
        reply_with(ShownBlock("code", ("import gears", "gears.turn()"))),
        reply_with(ShownBlock("code", ("import gears", "…"))),
        reply_with(prose("Write:"), ShownBlock("code", ("turn()",)), prose("which turns the gear.")),
        reply_with(ShownBlock("table", ("Gear | Ratio", "spur | 3", "worm | 20"))),
        reply_with(ShownBlock("table", ("Gear | Ratio", "spur | 3", "…"))),
        reply_with(ShownBlock("table", ("Gear | Ratio", "| spur |  | 3", "worm | 20"))),
        reply_with(ShownBlock("list", ("Spur gears. They are cheap.", "Worm gears.", "Bevel gears."))),
        reply_with(ShownBlock("list", ("Worm gears.",))),
        reply_with(ShownBlock("list", ("1. Push the rim.", "2. | is a bar."))),
        reply_with(ShownBlock("list", ("Spur gears.",), has_titles=True)),
        reply_with(prose("Gears turn."), citations=(replace(PLACE, file="book.pdf", link="book.pdf#page=8"),)),
        reply_with(prose("Gears turn."), citations=(replace(PLACE, link="/gears"),)),
    ],
)
def test_a_reply_in_good_form_breaks_no_general_rule(shown: ShownReply, source: SourceBlocks) -> None:
    assert broken_rules(shown, ask_for(), source) == []


def test_a_sentence_that_introduces_a_list_counts_with_the_list(source: SourceBlocks) -> None:
    shown = reply_with(prose("It has two parts:"), ShownBlock("list", ("a rim", "a hub")))
    assert broken_rules(shown, ask_for(first=["hub"]), source) == []


def test_a_reply_of_the_wrong_kind_is_still_judged_by_its_form(source: SourceBlocks) -> None:
    shown = reply_with(prose("true."), kind="unsure")
    assert broken_rules(shown, ask_for(first=["hub"]), source) == ["reply", "fragment"]


def make_evidence() -> Evidence:
    pieces = [("sentence", "Gears turn."), ("item", "- a rim"), ("item", "a hub"), ("code", "turn()\n  again()")]
    text = "\n".join(words for _, words in pieces)
    units = [QuotableUnit(kind, text.index(words), text.index(words) + len(words)) for kind, words in pieces]  # type: ignore[arg-type]
    place = Place("chapter-1.md", "/gears", "Chapter 1", "Chapter 1", ("Gears",), "turn", 0, len(text))
    return Evidence.from_chunk(Chunk("c1", text, place, 0, units=tuple(units)), 0, len(text), 0.9)


def test_a_quote_is_shown_as_the_blocks_that_it_has_in_the_book() -> None:
    evidence = make_evidence()
    answer = make_answer([("ignored", make_passage("ignored"))])
    sentence = replace(answer.sentences[0], text=evidence.text, evidence=(evidence,))
    unsure = replace(make_unsure([make_passage("ignored")]), closest=(evidence,))
    for reply in (replace(answer, sentences=(sentence,)), unsure):
        shown = show_reply(reply)
        assert [(block.kind, block.lines) for block in shown.blocks] == [
            ("paragraph", ("Gears turn.",)),
            ("list", ("a rim", "a hub")),
            ("code", ("turn()", "  again()")),
        ]
        assert [(each.path, each.link) for each in shown.citations] == [("Chapter 1 › Gears", "/gears#turn")]


def test_a_refusal_shows_its_sentence_and_the_closest_sections() -> None:
    shown = show_reply(make_refusal(retrieved=[make_passage("Gears turn.")]))
    assert shown.kind == "refusal"
    assert "not available in the book" in shown.text
    assert [each.path for each in shown.citations] == ["Chapter 1 › Section 1"]


class TalkingBook:
    def ask(
        self, question: str, *, selection: str | None = None, conversation: Sequence[tuple[str, str]] = ()
    ) -> Reply:
        earlier = " ".join(f"{asked} {replied}" for asked, replied in conversation)
        return make_answer([(f"{earlier} {question}".strip(), make_passage("Gears turn."))])


def test_a_follow_up_comes_with_the_earlier_replies(source: SourceBlocks) -> None:
    question = replace(ask_for("follow_up"), conversation=("What is a gear?",))
    asked = replies_command.ask(TalkingBook(), question, source)  # type: ignore[arg-type]
    assert asked.shown
    assert asked.shown.text.strip() == "What is a gear? What is a gear? How do gears turn?"


def test_the_questions_about_an_absent_source_are_skipped_with_a_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(SOURCES, "example", tmp_path / "absent")
    with Progress(disable=True) as progress:
        (reply,) = replies_command.ask_source("example", [ask_for()], progress)
    assert not reply.was_asked
    assert "absent" in reply.skipped


def test_the_tables_count_passed_asked_and_broken_rules() -> None:
    replies = [
        JudgedReply(ask_for(), GOOD),
        JudgedReply(ask_for(), GOOD, (Failure("first", "x"), Failure("first", "y"), Failure("link", "z"))),
        JudgedReply(ask_for("follow_up"), skipped="not asked"),
    ]
    console = Console(width=120)
    with console.capture() as printed:
        console.print(replies_command.build_table("Replies", replies, KINDS, "kind"))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.get().splitlines() if "│" in line]
    assert rows == [
        ["follow_up", "0", "0", "1", ""],
        ["fact", "1", "2", "0", "first 1, link 1"],
        ["all", "1", "2", "1", "first 1, link 1"],
    ]


def test_the_page_shows_blocks_in_their_form_and_escapes_every_text() -> None:
    evil = "<script>alert(1)</script>"
    shown = reply_with(
        prose(f"{evil}."),
        ShownBlock("table", ("Gear | Ratio", f"{evil} | 3")),
        ShownBlock("list", (evil,)),
        ShownBlock("code", (evil,)),
        citations=(replace(PLACE, path=evil), replace(PLACE, number=2, link=f"javascript:{evil}")),
        message=evil,
        completed=evil,
    )
    question = replace(ask_for(first=[evil]), question=evil, selection=evil, conversation=(evil,), words=(evil,))
    page = render_reply_page([JudgedReply(question, shown, (Failure("first", evil),))])
    assert "<script" not in page
    assert 'href="javascript' not in page
    assert "<td>Ratio</td>" in page
    assert "<li>&lt;script&gt;" in page
    assert "<pre>&lt;script&gt;" in page
    assert f'<a href="{PLACE.link}"' in page


def test_the_page_has_an_anchor_for_each_kind_and_needs_nothing_from_elsewhere() -> None:
    replies = [JudgedReply(ask_for(kind), GOOD) for kind in KINDS[:3]]
    page = render_reply_page([*replies, JudgedReply(ask_for("fact"), skipped="not asked: no book")])
    for kind in (*KINDS[:3], "fact"):
        assert f'<a href="#{kind}">' in page
        assert f'<section id="{kind}">' in page
    assert 'href="#off_topic"' not in page
    assert "not asked: no book" in page
    assert "src=" not in page
    assert "prefers-color-scheme: dark" in page


@pytest.mark.integration
def test_the_command_asks_the_chosen_questions_and_writes_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(replies_command, "FOLDER", tmp_path / "replies")
    monkeypatch.setattr(replies_command, "PAGE", tmp_path / "replies" / "replies.html")
    replies_command.main(["--only", "example", "--kind", "off_topic", "--limit", "1"])
    assert "1 of the 1 replies pass all rules" in (tmp_path / "replies" / "replies.html").read_text(encoding="utf-8")
    assert "off_topic" in capsys.readouterr().out
