"""`make replies`: asks the questions of readers, judges the replies by rules and renders them as one page."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bookbound import bootstrap
from bookbound.library import Book
from bookbound.settings import Settings
from lab.measure.question_sets import OUT
from lab.measure.replies.reply_page import render_reply_page
from lab.measure.replies.reply_questions import KINDS, SOURCES, ReplyQuestion, load_reply_questions
from lab.measure.replies.reply_rules import JudgedReply, judge
from lab.measure.replies.shown_reply import show_reply
from lab.measure.replies.source_blocks import SourceBlocks

FOLDER = OUT / "replies"
PAGE = FOLDER / "replies.html"


def index_source(name: str, progress: Progress) -> Path:
    """Indexes what changed in a source since the last run."""
    bar = progress.add_task(f"{name}: index", total=None)
    bootstrap.index_book(
        SOURCES[name],
        Settings(index=FOLDER / name),
        lambda stage, done, total: progress.update(bar, completed=done, total=total),
    )
    return FOLDER / name


def ask_source(name: str, questions: Sequence[ReplyQuestion], progress: Progress) -> Iterator[JudgedReply]:
    """Asks the questions about one source; all of them are skipped if the source is absent."""
    if not SOURCES[name].exists():
        yield from (JudgedReply(question, skipped=f"not asked: {SOURCES[name]} is absent") for question in questions)
        return
    index = index_source(name, progress)
    bar = progress.add_task(f"{name}: ask", total=len(questions))
    blocks = SourceBlocks(SOURCES[name])
    with bootstrap.open_book(Settings(index=index)) as book:
        for question in questions:
            yield ask(book, question, blocks)
            progress.advance(bar)


def ask(book: Book, question: ReplyQuestion, source: SourceBlocks) -> JudgedReply:
    """Asks one question and judges the reply."""
    conversation = list(talk_first(book, question.conversation))
    shown = show_reply(book.ask(question.question, selection=question.selection, conversation=conversation))
    return JudgedReply(question, shown, tuple(judge(shown, question, source)))


def talk_first(book: Book, questions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The earlier questions of a reader, each with the text of its reply."""
    return ((earlier, book.ask(earlier).text) for earlier in questions)


def build_table(title: str, replies: Sequence[JudgedReply], names: Sequence[str], field: str) -> Table:
    """The replies that pass, and the rules that the others break, for each kind or source."""
    table = Table(field, "passed", "asked", "not asked", "broken rules", title=title)
    for name in (*names, "all"):
        some = [each for each in replies if name in ("all", getattr(each.question, field))]
        if not some:
            continue
        rules = Counter(rule for each in some for rule in dict.fromkeys(failure.rule for failure in each.failures))
        broken = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
        asked = sum(each.was_asked for each in some)
        if name == "all":
            table.add_section()
        table.add_row(name, str(sum(each.has_passed for each in some)), str(asked), str(len(some) - asked), broken)
    return table


def choose(options: argparse.Namespace) -> list[ReplyQuestion]:
    """The questions that the options ask for."""
    questions = [
        each
        for each in load_reply_questions()
        if options.only in (None, each.source) and options.kind in (None, each.kind)
    ]
    return questions[: options.limit]


def main(arguments: Sequence[str] | None = None) -> None:
    """Asks, judges, prints two tables and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(SOURCES), metavar="SOURCE", help="ask only about this source")
    parser.add_argument("--kind", choices=KINDS, metavar="KIND", help="ask only questions of this kind")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions")
    questions = choose(parser.parse_args(arguments))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Progress(console=Console(stderr=True)) as progress:
        replies = [
            reply
            for name in SOURCES
            if (about := [each for each in questions if each.source == name])
            for reply in ask_source(name, about, progress)
        ]
    PAGE.write_text(render_reply_page(replies), encoding="utf-8")
    console = Console(width=130)
    console.print(build_table("Replies by kind", replies, KINDS, "kind"))
    console.print(build_table("Replies by source", replies, list(SOURCES), "source"))
    for reason, count in Counter(each.skipped for each in replies if each.skipped).items():
        console.print(f"{count} {reason}", markup=False)
    console.print(f"Read them: {PAGE}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
