"""Ask the book, or search it."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from bookbound import settings
from bookbound.ask import Pipeline
from bookbound.cli import show
from bookbound.cli.outcome import ANSWERED, REFUSED, leave, told
from bookbound.cli.parts import AsJson, IndexFolder, Parts, TopK
from bookbound.cli.screen import put, put_json
from bookbound.dialogue import Answer, Question, Reply, Retrieval, Scope
from bookbound.errors import InvalidInput
from bookbound.faces import canonical

STANDARD_INPUT = "-"
Words = Annotated[str, typer.Argument(metavar="QUESTION", help="The question; - reads it from standard input.")]
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
    float, typer.Option("--threshold", "-t", metavar="SCORE", help="Refuse where no passage is this similar, 0 to 1.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Add the judgement, the passages and the timings.")]
Sought = Annotated[str, typer.Argument(metavar="WORDS", help="What to look for; - reads it from standard input.")]


def ask(
    ctx: typer.Context,
    question: Words,
    index: IndexFolder = None,
    k: TopK = 5,
    selected_text: Selected = None,
    threshold: Threshold = 0.0,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Ask the book: an answer in its own words with citations, or the plain statement that it does not say.

    Exit codes: 0 answered, 1 refused, 2 bad use or configuration, 3 a service could not be reached, 4 invalid input.
    """
    if question == selected_text == STANDARD_INPUT:
        raise typer.BadParameter("Only one of question and selected text can be -.")
    with told(as_json):
        asked = Question(
            _given(question),
            _given(selected_text) if selected_text else None,
            Scope.SELECTION,
            k,
            threshold,
        )
        pipeline, reply = asyncio.run(_ask(ctx.obj, settings.load(index=index), asked))
        put_json(canonical.reply(reply)) if as_json else put(show.reply(reply, verbose))
    leave(ANSWERED if isinstance(reply, Answer) else REFUSED, pipeline)


def search(ctx: typer.Context, words: Sought, index: IndexFolder = None, k: TopK = 5, as_json: AsJson = False) -> None:
    """List the passages nearest to some words, without a judgement."""
    with told(as_json):
        sought = Question(_given(words), k=k)
        pipeline, found = asyncio.run(_search(ctx.obj, settings.load(index=index), sought))
        put_json({"passages": canonical.passages(found)}) if as_json else put(show.passages(found.passages))
    leave(ANSWERED, pipeline)


async def _ask(parts: Parts, chosen: settings.Settings, question: Question) -> tuple[Pipeline, Reply]:
    pipeline = await parts.pipeline(chosen)
    return pipeline, await pipeline.ask(question)


async def _search(parts: Parts, chosen: settings.Settings, question: Question) -> tuple[Pipeline, Retrieval]:
    pipeline = await parts.pipeline(chosen)
    return pipeline, await pipeline.search(question)


def _given(words: str) -> str:
    """The words of an argument, or of standard input where the argument is a dash."""
    if words != STANDARD_INPUT:
        return words
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig") if sys.stdin else ""
    except UnicodeDecodeError as trouble:
        raise InvalidInput("Standard input is not valid UTF-8 text.") from trouble
