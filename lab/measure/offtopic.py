"""`python -m lab.measure.offtopic`: counts the off-topic messages that are answered from a book.

Small talk, commands and questions about other subjects are to be refused. The engine gets them for the book of each
question set. With `--contracts`, every published interface gets them too, for the example book.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bookbound import bootstrap
from bookbound.bootstrap.web_app import create_web_app
from bookbound.contracts import agent, grounded_agent
from bookbound.domain.reply import Answer
from bookbound.library import Book
from bookbound.settings import Settings
from lab.measure.question_sets import MEASURE, QuestionSet, index_question_set, list_question_sets

MESSAGES = MEASURE / "offtopic.jsonl"
MAX_ANSWERED_SHARE = 0.02
HTTP_INTERFACES: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "/v1/answers": ("question", lambda reply: bool(reply["status"] == "answered")),
    "/ask": ("question", lambda reply: bool(reply["sources"])),
    "/chat": ("question", lambda reply: bool(reply["citations"])),
    "/api/query": ("query", lambda reply: bool(reply["status"] == "success")),
}
"""For each path, the field of a request that has the message, and whether a reply is an answer in its own terms."""
AnswerCheck = Callable[[str], bool]
"""Sends a message and returns whether it is answered."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message that no book answers, and its kind."""

    id: str
    question: str
    kind: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The messages that a book or an interface got, and those that it answered."""

    name: str
    messages: tuple[Message, ...]
    answered: tuple[Message, ...]

    @property
    def share(self) -> float:
        return len(self.answered) / len(self.messages)

    @property
    def is_acceptable(self) -> bool:
        return self.share <= MAX_ANSWERED_SHARE

    def format_count(self, kind: str) -> str:
        """The number of messages of a kind that are answered."""
        answered, messages = (sum(each.kind == kind for each in some) for some in (self.answered, self.messages))
        return f"{answered} of {messages}"


def load_messages(file: Path) -> list[Message]:
    """Loads one message per line."""
    return [Message(**json.loads(line)) for line in file.read_text(encoding="utf-8").split("\n") if line]


def ask_book(question_set: QuestionSet, messages: Sequence[Message], progress: Progress) -> Tally:
    """Asks the engine about the book of a set; the book is indexed first if it has no index."""
    if not question_set.index.exists():
        index_question_set(question_set, progress)
    with bootstrap.open_book(Settings(index=question_set.index)) as book:
        return _ask_all(question_set.name, messages, lambda text: isinstance(book.ask(text), Answer), progress)


def ask_interfaces(index: Path, messages: Sequence[Message], progress: Progress) -> list[Tally]:
    """Asks every published interface about the book of an index."""
    settings = Settings(index=index, rate_limits="off", query_log="off")
    with TestClient(create_web_app(settings)) as client:
        tallies = [_ask_all(path, messages, make_http_check(client, path), progress) for path in HTTP_INTERFACES]
    with bootstrap.open_book(settings) as book:
        checks = make_agent_checks(book)
        return tallies + [_ask_all(name, messages, check, progress) for name, check in checks.items()]


def make_http_check(client: TestClient, path: str) -> AnswerCheck:
    """Checks the replies of a path; a reply with an error status raises, because it is not a refusal."""
    field, is_answer = HTTP_INTERFACES[path]

    def is_answered(text: str) -> bool:
        response = client.post(path, json={field: text})
        if response.status_code != 200:
            raise RuntimeError(f"{path} replies with status {response.status_code}: {response.text}")
        return is_answer(response.json())

    return is_answered


def make_agent_checks(book: Book) -> dict[str, AnswerCheck]:
    """Checks the replies of the two agents; a failure raises, because it is not a refusal."""

    def is_answered_by_agent(text: str) -> bool:
        reply = agent.ask_or_raise(agent.AgentQuery(text), book)
        return isinstance(reply, agent.AgentResponse) and reply.has_relevant_context

    def is_answered_by_grounded_agent(text: str) -> bool:
        return not grounded_agent.ask(text, book).refused

    return {"agent": is_answered_by_agent, "grounded_agent": is_answered_by_grounded_agent}


def _ask_all(name: str, messages: Sequence[Message], is_answered: AnswerCheck, progress: Progress) -> Tally:
    bar = progress.add_task(f"{name}: ask", total=len(messages))
    answered = []
    for message in messages:
        if is_answered(message.question):
            answered.append(message)
        progress.advance(bar)
    return Tally(name, tuple(messages), tuple(answered))


def build_table(title: str, tallies: Sequence[Tally]) -> Table:
    """The number of answered messages, with a row for each kind and a column for each book or interface."""
    table = Table("kind", title=title)
    for tally in tallies:
        table.add_column(tally.name, justify="right")
    for kind in dict.fromkeys(message.kind for tally in tallies for message in tally.messages):
        table.add_row(kind, *(tally.format_count(kind) for tally in tallies))
    table.add_section()
    table.add_row("all", *(f"{len(tally.answered)} of {len(tally.messages)}" for tally in tallies))
    table.add_row("share", *(f"{tally.share:.1%}" for tally in tallies))
    return table


def format_answered(tallies: Sequence[Tally]) -> Iterator[str]:
    """The messages that are answered, and who answers more than the limit."""
    for tally in tallies:
        if tally.answered:
            yield f"{tally.name} answers:"
            yield from (f"  {message.id} {message.kind}: {message.question}" for message in tally.answered)
    names = [tally.name for tally in tallies if not tally.is_acceptable]
    verdict = f"more are answered by: {', '.join(names)}" if names else "this holds everywhere"
    yield f"At most {MAX_ANSWERED_SHARE:.0%} may be answered; {verdict}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the counts; returns 1 if too many messages are answered anywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    sets = list_question_sets()
    parser.add_argument("--only", choices=[each.name for each in sets], help="ask only about the book of this set")
    parser.add_argument("--contracts", action="store_true", help="ask every interface about the example book, too")
    options = parser.parse_args(arguments)
    messages = load_messages(MESSAGES)
    interfaces: list[Tally] = []
    with Progress(console=Console(stderr=True)) as progress:
        books = [ask_book(each, messages, progress) for each in sets if options.only in (None, each.name)]
        if options.contracts:
            example = sets[0]
            if not example.index.exists():
                index_question_set(example, progress)
            interfaces = ask_interfaces(example.index, messages, progress)
    console = Console(width=110)
    console.print(build_table("Answered messages, by book", books))
    if interfaces:
        console.print(build_table("Answered messages, by interface", interfaces))
    for line in format_answered([*books, *interfaces]):
        console.out(line, highlight=False)
    return int(not all(tally.is_acceptable for tally in [*books, *interfaces]))


if __name__ == "__main__":
    sys.exit(main())
