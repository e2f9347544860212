"""Serve the book over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from bookbound import misspelt, settings
from bookbound.cli.index import make
from bookbound.cli.outcome import told
from bookbound.cli.parts import BookName, EditionName, IndexFolder, Parts
from bookbound.cli.place import indexed, named
from bookbound.cli.screen import Line, put
from bookbound.cli.streams import flush
from bookbound.volume import UNNAMED, Volume

NAMED = 10
"""How many of the books that are served are named."""

Source = Annotated[
    Path | None,
    typer.Option("--source", metavar="SOURCE", parser=named, help="Index this book first.", show_default=False),
]
Host = Annotated[str, typer.Option("--host", metavar="HOST", help="Address to listen on; 0.0.0.0 for every network.")]
Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
]
Workers = Annotated[int, typer.Option("--workers", metavar="N", min=1, max=64, help="How many processes answer.")]


def serve(
    ctx: typer.Context,
    source: Source = None,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Workers = 1,
) -> None:
    """Serve the book: every contract over HTTP, until Ctrl-C."""
    # Before it serves there is nothing to finish, and an exception may be lost wherever the signal finds us.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    from bookbound.serve import server, setup
    from bookbound.watch.lines import said, speak

    with told(), ExitStack() as held:
        chosen = settings.load(index=index, book=book, edition=edition)
        if chosen.logging == "json":
            speak("json")
        misspelt.warn()
        setup.check(chosen, host)
        taken = held.enter_context(server.bound(host, port))
        if source:
            make(ctx.obj, source, chosen)
        with indexed(chosen):
            title = asyncio.run(_title(ctx.obj, chosen))
            books = asyncio.run(ctx.obj.volumes(chosen))
        ctx.obj.ready(chosen, workers)
        hand_on(chosen)
        if chosen.logging == "json":
            sys.stdout.write(said("serving", book=title, address=server.address(taken)))
        else:
            put([*invitation(title, server.address(taken), key=chosen.access == "keys"), *paths(books)])
        flush()
        server.serve(taken, workers, chosen)


def invitation(title: str, address: str, question: str = "What is this book about?", key: bool = False) -> list[Line]:
    """Where it is served, and a question to try, with a `key` where one is needed."""
    body = f'{{"question": "{question}"}}'
    sent = " -H 'X-API-Key: KEY'" if key else ""
    command = f"curl -s {address}/ask{sent} -H 'Content-Type: application/json' -d '{body}'"
    return [
        Line.of("Serving ", (title, "bold"), " at ", (address, "bold cyan"), " (Ctrl-C ends)"),
        Line.of("Try: ", (command, "dim"), whole=True),
    ]


def paths(books: list[Volume]) -> list[Line]:
    """Where each book is asked that has a name."""
    named = [f"/books/{book}" for book in books if book != UNNAMED]
    more = [f"and {len(named) - NAMED} more"] if len(named) > NAMED else []
    return [Line.of("Books: ", (", ".join([*named[:NAMED], *more]), "dim"), whole=True)] if named else []


def hand_on(chosen: settings.Settings) -> None:
    """Leave the settings in the environment, where the processes that answer find them."""
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if value not in (None, ()):
            listed = ",".join(value) if isinstance(value, tuple) else str(value)
            os.environ[settings.PREFIX + field.name.upper()] = listed


async def _title(parts: Parts, chosen: settings.Settings) -> str:
    """The title of the book that will be served: what cannot be opened is told now, not by a worker."""
    pipeline = await parts.pipeline(chosen)
    await pipeline.close()
    return pipeline.index.manifest.title
