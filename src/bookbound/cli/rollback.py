"""Withdraw the published index for the one before it."""

from __future__ import annotations

import asyncio

import typer

from bookbound import settings
from bookbound.cli.outcome import told
from bookbound.cli.parts import AsJson, BookName, EditionName, IndexFolder, Parts
from bookbound.cli.place import indexed
from bookbound.cli.screen import Line, put, put_json
from bookbound.faces import canonical
from bookbound.manifest import Manifest
from bookbound.ports import Store


def rollback(
    ctx: typer.Context,
    index: IndexFolder = None,
    book: BookName = None,
    edition: EditionName = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw the published index for the one before it; whoever reads it moves there by itself."""
    with told(as_json):
        chosen = settings.load(index=index, book=book, edition=edition)
        parts: Parts = ctx.obj
        with indexed(chosen):
            chosen = asyncio.run(parts.asked(chosen))
            withdrawn, now = asyncio.run(_rolled_back(parts.store(chosen)))
        if as_json:
            put_json({**canonical.manifest(now), "withdrawn": withdrawn})
            return
        put(
            [
                Line.of("Withdrawn: ", withdrawn),
                Line.of("Published: ", (now.generation, "bold"), (f"  {now.created}, {now.chunks} chunks", "dim")),
            ]
        )


async def _rolled_back(store: Store) -> tuple[str, Manifest]:
    """The name of what is withdrawn, which may well be all of it that can be read, and what is published then."""
    return await store.published(), await store.roll_back()
