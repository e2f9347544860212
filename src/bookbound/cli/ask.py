"""Ask the book, or search it."""

from __future__ import annotations

import asyncio
import shlex
import sys
from functools import partial
from typing import Annotated

import typer

from bookbound import settings
from bookbound.ask import Pipeline
from bookbound.cli import show
from bookbound.cli.contracts import Contract, Wish, asking, trouble
from bookbound.cli.outcome import ANSWERED, REFUSED, leave, told
from bookbound.cli.parts import AsFormat, AsJson, BookName, EditionName, Format, IndexFolder, Parts, TopK
from bookbound.cli.place import indexed
from bookbound.cli.screen import one_line, put, put_json
from bookbound.dialogue import LONGEST_QUESTION, Question, Retrieval
from bookbound.errors import InvalidInput
from bookbound.faces import canonical

STANDARD_INPUT = "-"
Words = Annotated[list[str], typer.Argument(metavar="QUESTION", help="The question; - reads it from standard input.")]
Selected = Annotated[
    str | None,
    typer.Option(
        "--selected-text",
        metavar="TEXT",
        help="Answer from these words alone, and say where they stand in the book; - reads them from standard input.",
        show_default=False,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        "-t",
        metavar="SCORE",
        help="Refuse where no passage is this similar, 0 to 1. Default: the contract's own.",
        show_default=False,
    ),
]
Spoken = Annotated[Contract, typer.Option("--contract", help="By whose rules and in whose words to answer.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Add the judgement, the passages and the timings.")]
Sought = Annotated[list[str], typer.Argument(metavar="WORDS", help="What to look for; - reads it from standard input.")]


def ask(
    ctx: typer.Context,
    question: Words,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    k: TopK = 5,
    selected_text: Selected = None,
    threshold: Threshold = None,
    contract: Spoken = Contract.CANONICAL,
    form: AsFormat = Format.TEXT,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Ask the book: an answer in its own words with citations, or the plain statement that it does not say.

    Exit codes: 0 answered, 1 refused, 2 bad use or configuration, 3 a service could not be reached, 4 invalid input.
    """
    words = _quoted("ask", question)
    if words == selected_text == STANDARD_INPUT:
        raise typer.BadParameter("Only one of question and selected text can be -.")
    if selected_text is not None and contract is not Contract.CANONICAL:
        raise typer.BadParameter(f"Selected text needs --contract canonical; {contract} answers from the book.")
    as_json = as_json or form is Format.JSON
    with told(as_json, partial(trouble, contract)):
        selection = _given(selected_text) if selected_text else None
        asked = asking(contract, Wish(_given(words), selection, k, threshold, verbose))
        chosen = settings.load(index=index, book=book, edition=edition)
        with indexed(chosen):
            opened = ctx.obj.open_book(chosen)
        with opened:
            said = asked(opened)
            put_json(said.plain) if as_json else put(said.lines)
            leave(ANSWERED if said.answered else REFUSED, opened.pipeline)


def search(
    ctx: typer.Context,
    words: Sought,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    k: TopK = 5,
    as_json: AsJson = False,
) -> None:
    """List the passages that were read as answering, best first, without a judgement.

    The similarity shown is that of meaning; the order is that of what was read in them.
    """
    given = _quoted("search", words)
    with told(as_json):
        sought = _given(given).strip()
        if not 1 <= len(sought) <= LONGEST_QUESTION:
            raise InvalidInput(f"The words to look for have 1 to {LONGEST_QUESTION} characters, not {len(sought)}.")
        question = Question(sought, k=k)
        chosen = settings.load(index=index, book=book, edition=edition)
        pipeline, found = asyncio.run(_search(ctx.obj, chosen, question))
        put_json({"passages": canonical.passages(found)}) if as_json else put(show.passages(found.passages))
    leave(ANSWERED, pipeline)


async def _search(parts: Parts, chosen: settings.Settings, question: Question) -> tuple[Pipeline, Retrieval]:
    with indexed(chosen):
        pipeline = await parts.pipeline(chosen)
    return pipeline, await pipeline.search(question)


def _quoted(command: str, words: list[str]) -> str:
    """The one argument; several are a sentence that the shell took apart."""
    if len(words) == 1:
        return words[0]
    whole = one_line(shlex.quote(" ".join(words)))
    raise typer.BadParameter(f"Put the words in quotes, as one argument: bookbound {command} {whole}")


def _given(words: str) -> str:
    """The words of an argument, or of standard input where the argument is a dash."""
    if words != STANDARD_INPUT:
        return words
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig") if sys.stdin else ""
    except UnicodeDecodeError as trouble:
        raise InvalidInput("Standard input is not valid UTF-8 text.") from trouble
