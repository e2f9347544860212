"""The only place that builds things; what a command does not need is not imported."""

from __future__ import annotations

import logging
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING

from bookbound.ask import Pipeline
from bookbound.book import Manifest
from bookbound.calibration import InForce, Shipped, again, in_force
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
    from bookbound.models.onnx import Models

    return OnnxEmbedder(Models(threads=settings.threads))


def store(settings: Settings) -> Store:
    """Where the settings say that the index lives: a folder, or a Qdrant server."""
    if settings.qdrant_url:
        from bookbound.store.qdrant import QdrantStore

        return QdrantStore(settings.qdrant_url, settings.qdrant_key, settings.qdrant_collection)
    from bookbound.store.edge import EdgeStore

    return EdgeStore(settings.index)


def point(settings: Settings, book: Manifest) -> InForce:
    """The operating point that questions to a book are answered with, and where it comes from."""
    from bookbound.models import MODELS

    return in_force(settings, Shipped.of(MODELS), book)


async def pipeline(settings: Settings) -> Pipeline:
    """The published index, open, with the parts that answer from it."""
    from bookbound.models import EMBEDDER, READER
    from bookbound.models.onnx import Models

    models = Models(threads=settings.threads, ahead=(EMBEDDER, READER))  # they open while the rest is imported

    from bookbound.answer.quotes import Quotes
    from bookbound.embed.onnx import OnnxEmbedder
    from bookbound.judge.examiner import ReadingExaminer
    from bookbound.judge.reader import Reader
    from bookbound.judge.verifier import ReadingVerifier

    async with AsyncExitStack() as opened:  # what is open already is let go of when a later part fails
        opened.callback(models.close)
        index = await store(settings).open()
        opened.push_async_callback(index.close)
        words, reader = OnnxEmbedder(models), Reader(models)
        if index.manifest.embedder != words.name:
            raise WrongEmbedder(
                f"This index was made with {index.manifest.embedder}, but questions are embedded with {words.name}. "
                "Index the book again: bookbound index SOURCE"
            )
        held = point(settings, index.manifest)
        if held.outdated:
            told = f"The operating point beside this index is for {held.outdated}. {again(settings.index)}"
            warnings.warn(told, stacklevel=2)
        opened.pop_all()
    return Pipeline(
        embedder=words,
        index=index,
        examiner=ReadingExaminer(reader),
        writer=Quotes(),
        verifier=ReadingVerifier(reader),
        point=held.point,
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
