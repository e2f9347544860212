"""The contracts that `ask` speaks: each checks the question by its rules, asks the book, and words the reply.

A contract's face is imported when it is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from bookbound.cli import show
from bookbound.cli.screen import Line
from bookbound.dialogue import Answer, Question, Scope
from bookbound.faces import canonical
from bookbound.faces.canonical import Plain
from bookbound.library import Book

if TYPE_CHECKING:
    from bookbound.faces.agent import AgentError, AgentResponse
    from bookbound.faces.grounded_agent import AgentResponse as GroundedResponse


class Contract(StrEnum):
    """By whose rules and in whose words to answer."""

    CANONICAL = "canonical"
    AGENT = "agent"
    GROUNDED_AGENT = "grounded-agent"


class Wish(NamedTuple):
    """What was asked on the command line; without a threshold, the contract's own holds."""

    text: str
    selection: str | None = None
    k: int = 5
    threshold: float | None = None
    verbose: bool = False


class Said(NamedTuple):
    """A reply for scripts and for people."""

    answered: bool
    plain: Plain
    lines: Iterable[Line]


Asking = Callable[[Book], Said]


def asking(contract: Contract, wish: Wish) -> Asking:
    """How to ask the book; a wish that breaks a rule of the contract is `InvalidInput` at once."""
    return {Contract.CANONICAL: _canonical, Contract.AGENT: _agent, Contract.GROUNDED_AGENT: _grounded}[contract](wish)


def trouble(contract: Contract, error: Exception) -> Plain:
    """What went wrong, in the contract's words where it has any."""
    if contract is not Contract.AGENT:
        return canonical.error(error)
    from bookbound.faces import agent

    return _failed(agent.failure(error))


def _canonical(wish: Wish) -> Asking:
    asked = Question(wish.text, wish.selection, Scope.SELECTION, wish.k, wish.threshold or 0.0)

    def ask(book: Book) -> Said:
        reply = book.ask(asked.text, selection=asked.selection, k=asked.k, threshold=asked.threshold)
        return Said(isinstance(reply, Answer), canonical.reply(reply), show.reply(reply, wish.verbose, asked.threshold))

    return ask


def _agent(wish: Wish) -> Asking:
    from bookbound.faces import agent

    threshold = agent.DEFAULT_RELEVANCE_THRESHOLD if wish.threshold is None else wish.threshold
    query = agent.AgentQuery(wish.text, wish.k, threshold)

    def ask(book: Book) -> Said:
        reply = agent.respond(query, book)
        if isinstance(reply, agent.AgentError):
            return Said(False, _failed(reply), [Line.of((reply.message, "bold yellow"))])
        return Said(reply.has_relevant_context, asdict(reply), _sources(reply, wish.verbose))

    return ask


def _grounded(wish: Wish) -> Asking:
    from bookbound.faces import grounded_agent

    threshold = grounded_agent.DEFAULT_SCORE_THRESHOLD if wish.threshold is None else wish.threshold
    config = grounded_agent.checked(grounded_agent.AgentConfig(k=wish.k, score_threshold=threshold))
    query = Question(wish.text).text

    def ask(book: Book) -> Said:
        reply = grounded_agent.ask(query, book, replace(config, temperature=grounded_agent.temperature(book)))
        plain = asdict(reply) | {"total_time_ms": reply.total_time_ms}
        return Said(not reply.refused, plain, _citations(reply, wish.verbose))

    return ask


def _failed(error: AgentError) -> Plain:
    """An error as its reader may see it."""
    return asdict(replace(error, details=None))


def _sources(reply: AgentResponse, verbose: bool) -> Iterator[Line]:
    yield from _answer(reply.answer, reply.has_relevant_context)
    for number, source in enumerate(reply.sources, 1):
        names = " › ".join(dict.fromkeys(name for name in (source.chapter, source.section) if name))
        mark = f"[{number}] "
        yield Line.of((mark, "cyan"), (names, "bold"), show.similarity(source.relevance_score), hang=len(mark))
        yield Line.of((source.url, "dim"), indent=4, whole=True)
    if verbose:
        yield Line()
        yield from show.table(_times(reply))


def _citations(reply: GroundedResponse, verbose: bool) -> Iterator[Line]:
    yield from _answer(reply.answer, reply.grounded)
    for citation in reply.citations:
        yield Line.of((citation.format(), "dim"), whole=True)
    if verbose:
        yield Line()
        yield from show.table([*_times(reply), ("Tools", ", ".join(reply.tool_calls))])


def _answer(text: str, answered: bool) -> Iterator[Line]:
    yield Line.of((text, "" if answered else "bold yellow"), whole="\n" in text)
    if answered:
        yield Line()


def _times(reply: AgentResponse | GroundedResponse) -> list[tuple[str, str]]:
    return [
        ("Retrieval", f"{reply.retrieval_time_ms:.1f} ms"),
        ("Generation", f"{reply.generation_time_ms:.1f} ms"),
        ("Total", f"{reply.total_time_ms:.1f} ms"),
    ]
