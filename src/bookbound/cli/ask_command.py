"""Implements the commands `ask` and `search`, and asks by the rules of the chosen contract."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bookbound import settings
from bookbound.answering.pipeline import Pipeline
from bookbound.cli import reply_view
from bookbound.cli.common import (
    EXIT_ANSWERED,
    EXIT_REFUSED,
    BookOption,
    Bootstrap,
    EditionOption,
    IndexOption,
    JsonOption,
    OutputFormat,
    OutputFormatOption,
    TopKOption,
    exit_on_error,
    exit_without_cleanup,
    explain_missing_index,
)
from bookbound.cli.reply_view import format_agent_reply, format_grounded_agent_reply
from bookbound.cli.terminal import StyledLine, escape_line_breaks, print_json, print_lines
from bookbound.contracts import serialization
from bookbound.contracts.serialization import JsonObject
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import MAX_QUESTION_CHARS, AnswerScope, Question, Retrieval
from bookbound.domain.reply import Answer
from bookbound.library import Book

if TYPE_CHECKING:
    from bookbound.contracts.agent import AgentError


class ContractName(StrEnum):
    """By whose rules and in whose words to answer."""

    CANONICAL = "canonical"
    AGENT = "agent"
    GROUNDED_AGENT = "grounded-agent"


class AskArguments(NamedTuple):
    """What was asked on the command line; without a threshold, the contract's own holds."""

    text: str
    selection: str | None = None
    k: int = 5
    threshold: float | None = None
    verbose: bool = False


class ContractReply(NamedTuple):
    """A reply for scripts and for people."""

    answered: bool
    plain: JsonObject
    lines: Iterable[StyledLine]


AskFunction = Callable[[Book], ContractReply]


def prepare_ask(contract: ContractName, wish: AskArguments) -> AskFunction:
    """How to ask the book; a wish that breaks a rule of the contract is `InvalidInput` at once."""
    return {
        ContractName.CANONICAL: _prepare_canonical,
        ContractName.AGENT: _prepare_agent,
        ContractName.GROUNDED_AGENT: _prepare_grounded_agent,
    }[contract](wish)


def serialize_contract_error(contract: ContractName, error: Exception) -> JsonObject:
    """What went wrong, in the contract's words where it has any."""
    if contract is not ContractName.AGENT:
        return serialization.serialize_error(error)
    from bookbound.contracts import agent

    return _serialize_agent_error(agent.error_from_exception(error))


def _prepare_canonical(wish: AskArguments) -> AskFunction:
    asked = Question(wish.text, wish.selection, AnswerScope.SELECTION, wish.k, wish.threshold or 0.0)

    def ask(book: Book) -> ContractReply:
        reply = book.ask(asked.text, selection=asked.selection, k=asked.k, threshold=asked.threshold)
        return ContractReply(
            isinstance(reply, Answer),
            serialization.serialize_reply(reply),
            reply_view.format_reply(reply, wish.verbose, asked.threshold),
        )

    return ask


def _prepare_agent(wish: AskArguments) -> AskFunction:
    from bookbound.contracts import agent

    threshold = agent.DEFAULT_RELEVANCE_THRESHOLD if wish.threshold is None else wish.threshold
    query = agent.AgentQuery(wish.text, wish.k, threshold)

    def ask(book: Book) -> ContractReply:
        reply = agent.ask_or_raise(query, book)
        if isinstance(reply, agent.AgentError):
            return ContractReply(False, _serialize_agent_error(reply), [StyledLine.of((reply.message, "bold yellow"))])
        return ContractReply(reply.has_relevant_context, asdict(reply), format_agent_reply(reply, wish.verbose))

    return ask


def _prepare_grounded_agent(wish: AskArguments) -> AskFunction:
    from bookbound.contracts import grounded_agent

    threshold = grounded_agent.DEFAULT_SCORE_THRESHOLD if wish.threshold is None else wish.threshold
    config = grounded_agent.require_valid_config(grounded_agent.AgentConfig(k=wish.k, score_threshold=threshold))
    query = Question(wish.text).text

    def ask(book: Book) -> ContractReply:
        reply = grounded_agent.ask(query, book, replace(config, temperature=grounded_agent.get_temperature(book)))
        plain = asdict(reply) | {"total_time_ms": reply.total_time_ms}
        return ContractReply(not reply.refused, plain, format_grounded_agent_reply(reply, wish.verbose))

    return ask


def _serialize_agent_error(error: AgentError) -> JsonObject:
    """An error as its reader may see it."""
    return asdict(replace(error, details=None))


STANDARD_INPUT_MARK = "-"
QuestionArgument = Annotated[
    list[str], typer.Argument(metavar="QUESTION", help="The question; - reads it from standard input.")
]
SelectedTextOption = Annotated[
    str | None,
    typer.Option(
        "--selected-text",
        metavar="TEXT",
        help="Answer from these words alone, and say where they stand in the book; - reads them from standard input.",
        show_default=False,
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        "-t",
        metavar="SCORE",
        help="Refuse where no passage is this similar, 0 to 1. Default: the contract's own.",
        show_default=False,
    ),
]
ContractOption = Annotated[
    ContractName, typer.Option("--contract", help="By whose rules and in whose words to answer.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Add the judgement, the passages and the timings.")
]
SearchWordsArgument = Annotated[
    list[str], typer.Argument(metavar="WORDS", help="What to look for; - reads it from standard input.")
]


def ask(
    ctx: typer.Context,
    question: QuestionArgument,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    k: TopKOption = 5,
    selected_text: SelectedTextOption = None,
    threshold: ThresholdOption = None,
    contract: ContractOption = ContractName.CANONICAL,
    form: OutputFormatOption = OutputFormat.TEXT,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Ask the book: an answer in its own words with citations, or the plain statement that it does not say.

    Exit codes: 0 answered, 1 refused, 2 bad use or configuration, 3 a service could not be reached, 4 invalid input.
    """
    words = _require_single_argument("ask", question)
    if words == selected_text == STANDARD_INPUT_MARK:
        raise typer.BadParameter("Only one of question and selected text can be -.")
    if selected_text is not None and contract is not ContractName.CANONICAL:
        raise typer.BadParameter(f"Selected text needs --contract canonical; {contract} answers from the book.")
    as_json = as_json or form is OutputFormat.JSON
    with exit_on_error(as_json, partial(serialize_contract_error, contract)):
        selection = _read_argument(selected_text) if selected_text else None
        asked = prepare_ask(contract, AskArguments(_read_argument(words), selection, k, threshold, verbose))
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        with explain_missing_index(chosen):
            opened = ctx.obj.open_book(chosen)
        with opened:
            said = asked(opened)
            print_json(said.plain) if as_json else print_lines(said.lines)
            exit_without_cleanup(EXIT_ANSWERED if said.answered else EXIT_REFUSED, opened.pipeline)


def search(
    ctx: typer.Context,
    words: SearchWordsArgument,
    index: IndexOption = None,
    book: BookOption = None,
    edition: EditionOption = None,
    k: TopKOption = 5,
    as_json: JsonOption = False,
) -> None:
    """List the passages that were read as answering, best first, without a judgement.

    The similarity shown is that of meaning; the order is that of what was read in them.
    """
    given = _require_single_argument("search", words)
    with exit_on_error(as_json):
        sought = _read_argument(given).strip()
        if not 1 <= len(sought) <= MAX_QUESTION_CHARS:
            raise InvalidInputError(
                f"The words to look for have 1 to {MAX_QUESTION_CHARS} characters, not {len(sought)}."
            )
        question = Question(sought, k=k)
        chosen = settings.load_settings(index=index, book=book, edition=edition)
        pipeline, found = asyncio.run(_run_search(ctx.obj, chosen, question))
        print_json({"passages": serialization.serialize_passages(found)}) if as_json else print_lines(
            reply_view.format_passages(found.passages)
        )
    exit_without_cleanup(EXIT_ANSWERED, pipeline)


async def _run_search(parts: Bootstrap, chosen: settings.Settings, question: Question) -> tuple[Pipeline, Retrieval]:
    with explain_missing_index(chosen):
        pipeline = await parts.pipeline(chosen)
    return pipeline, await pipeline.search(question)


def _require_single_argument(command: str, words: list[str]) -> str:
    """The one argument; several are a sentence that the shell took apart."""
    if len(words) == 1:
        return words[0]
    whole = escape_line_breaks(shlex.quote(" ".join(words)))
    raise typer.BadParameter(f"Put the words in quotes, as one argument: bookbound {command} {whole}")


def _read_argument(words: str) -> str:
    """The words of an argument, or of standard input where the argument is a dash."""
    if words != STANDARD_INPUT_MARK:
        return words
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig") if sys.stdin else ""
    except UnicodeDecodeError as trouble:
        raise InvalidInputError("Standard input is not valid UTF-8 text.") from trouble
