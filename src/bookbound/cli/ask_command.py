"""Implements the commands `ask` and `search`, and asks by the rules of the chosen contract."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bookbound.cli import exit_codes, options, reply_view, terminal
from bookbound.cli.book_access import open_book
from bookbound.cli.progress_view import show_progress
from bookbound.contracts import serialization
from bookbound.contracts.serialization import JsonObject
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import MAX_QUESTION_CHARS, AnswerScope, Question, Retrieval
from bookbound.domain.reply import Answer
from bookbound.library import Book
from bookbound.settings import load_settings

if TYPE_CHECKING:
    from bookbound.contracts.agent import AgentError

STANDARD_INPUT_MARK = "-"


class ContractName(StrEnum):
    """The contract whose rules and wording a reply follows."""

    CANONICAL = "canonical"
    AGENT = "agent"
    GROUNDED_AGENT = "grounded-agent"


class AskArguments(NamedTuple):
    """A question from the command line; without a threshold, the contract's own applies."""

    text: str
    selection: str | None = None
    k: int = 5
    threshold: float | None = None
    verbose: bool = False
    shows_progress: bool = False


class ContractReply(NamedTuple):
    """A reply as JSON for scripts and as lines for people."""

    is_answered: bool
    json: JsonObject
    lines: Iterable[terminal.StyledLine]


BookFactory = Callable[[], Book]


def ask_by_contract(contract: ContractName, arguments: AskArguments, opener: BookFactory) -> ContractReply:
    """Ask by the rules of a contract; arguments that break one raise `InvalidInputError` before the book is opened."""
    ask_agents = {ContractName.AGENT: _ask_agent, ContractName.GROUNDED_AGENT: _ask_grounded_agent}
    return ask_agents.get(contract, _ask_canonical)(arguments, opener)


def serialize_contract_error(contract: ContractName, error: Exception) -> JsonObject:
    """An error in the contract's own shape, if it has one."""
    if contract is not ContractName.AGENT:
        return serialization.serialize_error(error)
    from bookbound.contracts import agent

    return _serialize_agent_error(agent.error_from_exception(error))


def _ask_canonical(arguments: AskArguments, opener: BookFactory) -> ContractReply:
    k, threshold = arguments.k, arguments.threshold or 0.0
    question = Question(arguments.text, arguments.selection, AnswerScope.SELECTION, k, threshold)
    book = opener()
    with show_progress() if arguments.shows_progress else nullcontext() as on_event:
        reply = book.ask(question.text, selection=question.selection, k=k, threshold=threshold, on_event=on_event)
    lines = reply_view.format_reply(reply, arguments.verbose, threshold)
    return ContractReply(isinstance(reply, Answer), serialization.serialize_reply(reply), lines)


# Each contract is imported where it is used: a question in a fresh process should not wait for the others.
def _ask_agent(arguments: AskArguments, opener: BookFactory) -> ContractReply:
    from bookbound.contracts import agent

    threshold = agent.DEFAULT_RELEVANCE_THRESHOLD if arguments.threshold is None else arguments.threshold
    query = agent.AgentQuery(arguments.text, arguments.k, threshold)
    reply = agent.ask_or_raise(query, opener())
    if isinstance(reply, agent.AgentError):
        return ContractReply(False, _serialize_agent_error(reply), [terminal.styled((reply.message, "bold yellow"))])
    lines = reply_view.format_agent_reply(reply, arguments.verbose)
    return ContractReply(reply.has_relevant_context, asdict(reply), lines)


def _ask_grounded_agent(arguments: AskArguments, opener: BookFactory) -> ContractReply:
    from bookbound.contracts import grounded_agent

    threshold = grounded_agent.DEFAULT_SCORE_THRESHOLD if arguments.threshold is None else arguments.threshold
    config = grounded_agent.require_valid_config(grounded_agent.AgentConfig(k=arguments.k, score_threshold=threshold))
    # Only an open book knows its temperature, and a wrong question should not open it.
    query, book = Question(arguments.text).text, opener()
    reply = grounded_agent.ask(query, book, replace(config, temperature=grounded_agent.get_temperature(book)))
    lines = reply_view.format_grounded_agent_reply(reply, arguments.verbose)
    return ContractReply(not reply.refused, asdict(reply) | {"total_time_ms": reply.total_time_ms}, lines)


def _serialize_agent_error(error: AgentError) -> JsonObject:
    return asdict(replace(error, details=None))  # details are for logs


QuestionArgument = Annotated[
    list[str],
    typer.Argument(metavar="QUESTION", parser=options.parse_text, help="The question; - reads it from standard input."),
]
SelectedTextOption = Annotated[
    str | None,
    typer.Option(
        "--selected-text",
        metavar="PASSAGE",
        help="Answer from this text alone, and say where it is in the book; - reads it from standard input.",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        "-t",
        metavar="SCORE",
        help="Refuse if no passage is this similar, 0 to 1. Default: the contract's own.",
    ),
]
ContractOption = Annotated[
    ContractName, typer.Option("--contract", help="The contract whose rules and wording the reply follows.")
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print the judgement, the passages and the timings.")
]
SearchWordsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="WORDS", parser=options.parse_text, help="The words to search for; - reads them from standard input."
    ),
]


def ask(
    ctx: typer.Context,
    question: QuestionArgument,
    index: options.IndexOption = None,
    book: options.BookOption = None,
    edition: options.EditionOption = None,
    k: options.TopKOption = 5,
    selected_text: SelectedTextOption = None,
    threshold: ThresholdOption = None,
    contract: ContractOption = ContractName.CANONICAL,
    output_format: options.OutputFormatOption = options.OutputFormat.TEXT,
    as_json: options.JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Answer a question in the book's own words with citations, or say that the book does not answer it.

    If that is not sure, show the closest passages.

    Exit codes: 0 answered, 1 unsure or refused, 2 bad use or configuration, 3 a service could not be reached,
    4 invalid input.
    """
    text = _require_single_argument("ask", question, index)
    if text == selected_text == STANDARD_INPUT_MARK:
        raise typer.BadParameter("Standard input cannot be both the question and the selected text. Use - only once.")
    if selected_text is not None and contract is not ContractName.CANONICAL:
        raise typer.BadParameter(f"The contract {contract} has no selected text. Use --contract canonical.")
    as_json = as_json or output_format is options.OutputFormat.JSON
    with exit_codes.exit_on_error(as_json, partial(serialize_contract_error, contract)), ExitStack() as stack:
        selection = _read_argument(selected_text) if selected_text else None
        arguments = AskArguments(_read_argument(text), selection, k, threshold, verbose, not as_json)
        settings = load_settings(index=index, book=book, edition=edition)
        reply = ask_by_contract(contract, arguments, lambda: stack.enter_context(open_book(ctx.obj, settings)))
        terminal.print_result(reply.json, reply.lines, as_json)
        exit_codes.exit_without_cleanup(exit_codes.EXIT_ANSWERED if reply.is_answered else exit_codes.EXIT_REFUSED)


def search(
    ctx: typer.Context,
    words: SearchWordsArgument,
    index: options.IndexOption = None,
    book: options.BookOption = None,
    edition: options.EditionOption = None,
    k: options.TopKOption = 5,
    as_json: options.JsonOption = False,
) -> None:
    """List the passages that most probably answer, best first, without a judgement.

    The similarity compares the meaning of question and passage. The order comes from a network that reads both.
    """
    argument = _require_single_argument("search", words, index)
    with exit_codes.exit_on_error(as_json):
        text = _read_argument(argument).strip()
        if not 1 <= len(text) <= MAX_QUESTION_CHARS:
            raise InvalidInputError(f"A search needs 1 to {MAX_QUESTION_CHARS} characters, not {len(text)}.")
        Question(text, k=k)
        settings = load_settings(index=index, book=book, edition=edition)
        with open_book(ctx.obj, settings) as opened:
            passages = opened.search(text, k=k)
            found = {"passages": serialization.serialize_passages(Retrieval(passages))}
            terminal.print_result(found, reply_view.format_passages(passages), as_json)
            exit_codes.exit_without_cleanup(exit_codes.EXIT_ANSWERED)


def _require_single_argument(command: str, words: list[str], index: Path | None) -> str:
    if len(words) == 1:
        return words[0]
    quoted = terminal.escape_line_breaks(shlex.quote(" ".join(words)))
    suggestion = exit_codes.keep_index_option(
        f"Put the words in quotes, as one argument: bookbound {command} {quoted}", index
    )
    raise typer.BadParameter(suggestion)


def _read_argument(text: str) -> str:
    if text != STANDARD_INPUT_MARK:
        return text
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig") if sys.stdin else ""
    except UnicodeDecodeError as error:
        raise InvalidInputError("Standard input is not valid UTF-8 text.") from error
