"""The only place that builds things; what a command does not need is not imported."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bookbound.ask import Pipeline
from bookbound.errors import IndexTrouble, WrongEmbedder
from bookbound.library import Book, Worker
from bookbound.ports import Embedder, Store
from bookbound.settings import Settings, load

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bookbound.ingest import Indexed, Progress


def embedder(settings: Settings) -> Embedder:
    """The embedder that the settings name."""
    from bookbound.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(threads=settings.threads)


def store(settings: Settings) -> Store:
    """Where the settings say that the index lives: a folder, or a Qdrant server."""
    if settings.qdrant_url:
        from bookbound.store.qdrant import QdrantStore

        return QdrantStore(settings.qdrant_url, settings.qdrant_key, settings.qdrant_collection)
    from bookbound.store.edge import EdgeStore

    return EdgeStore(settings.index)


async def pipeline(settings: Settings) -> Pipeline:
    """The published index, open, with the parts that answer from it."""
    from bookbound.answer.quotes import Quotes
    from bookbound.judge.terms import TermExaminer, TermModel
    from bookbound.judge.verbatim import VerbatimVerifier

    model = TermModel.shipped()
    words = embedder(settings)
    index = await store(settings).open()
    if index.manifest.embedder != words.name:
        await index.close()
        raise WrongEmbedder(
            f"This index was made with {index.manifest.embedder}, but questions are embedded with {words.name}. "
            "Index the book again: bookbound index SOURCE"
        )
    return Pipeline(
        embedder=words,
        index=index,
        examiner=TermExaminer(model, index.manifest),
        writer=Quotes(),
        verifier=VerbatimVerifier(),
        point=model.point if settings.answered is None else replace(model.point, answered=settings.answered),
    )


def open_book(settings: Settings) -> Book:
    """The published index as a book to ask from plain code."""
    worker = Worker()
    try:
        return Book(worker.run(pipeline(settings)), worker)
    except BaseException:
        worker.close()
        raise


def index_book(source: Path, settings: Settings, progress: Progress = lambda *_: None) -> Indexed:
    """The book at `source`, read, embedded and published where the settings say."""
    from bookbound.ingest import ingest

    with closing(Worker()) as worker:
        return worker.run(ingest(source, embedder(settings), store(settings), progress))


def web() -> FastAPI:
    """The web application, as a process that answers builds it: with the settings it was handed."""
    from bookbound.serve.app import application
    from bookbound.serve.desk import BoundedDesk

    chosen = load()
    desk = BoundedDesk(chosen.at_once, chosen.queue)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            opened = await pipeline(chosen)
        except IndexTrouble as trouble:
            # A process that starts later than its siblings must not take them down with it: it says it is not ready.
            logging.getLogger("bookbound.serve").error("no book is open: %s", trouble)
            yield
            return
        async with desk.staffed(opened):
            yield

    return application(desk, chosen, lifespan)


def main() -> None:
    """The command line, with these parts."""
    from bookbound import cli, wire

    cli.run(wire)
