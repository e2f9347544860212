"""The only place that builds things; what a command does not need is not imported."""

from __future__ import annotations

import logging
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from bookbound.ask import Pipeline
from bookbound.calibration import InForce, Shipped, again, in_force
from bookbound.errors import IndexTrouble, WrongEmbedder
from bookbound.library import Book, Worker
from bookbound.manifest import Manifest
from bookbound.ports import Agent, Embedder, Examiner, Store, Writer
from bookbound.recording import journal
from bookbound.recording import keep as keep
from bookbound.recording import log as log
from bookbound.recording import ready as ready
from bookbound.settings import Settings, load

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bookbound.ingest import Indexed, Progress
    from bookbound.models.onnx import Models


def embedder(settings: Settings, models: Models | None = None, dimension: int | None = None) -> Embedder:
    """The embedder that the settings name."""
    from bookbound.models.onnx import Models

    models = models or Models(threads=settings.threads)
    if settings.embedder != "local":
        from bookbound import remote

        return remote.embedder(settings, models, dimension)
    from bookbound.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(models)


def store(settings: Settings) -> Store:
    """Where the settings say that the index lives: a folder, or a Qdrant server."""
    if settings.qdrant_url:
        from bookbound.store.qdrant import QdrantStore

        return QdrantStore(
            settings.qdrant_url,
            settings.qdrant_key,
            settings.qdrant_collection,
            shards=settings.qdrant_shards,
            replicas=settings.qdrant_replicas,
            confirmed=settings.qdrant_confirmed,
            timeout=settings.qdrant_timeout,
        )
    from bookbound.store.edge import EdgeStore

    return EdgeStore(settings.index)


def point(settings: Settings, book: Manifest) -> InForce:
    """The operating point that questions to a book are answered with, and where it comes from."""
    from bookbound.models import MODELS

    return in_force(settings, Shipped.of(MODELS), book)


def writer_name(settings: Settings) -> str:
    """What writes the answers, without a look at it."""
    return settings.model or "quotes"


async def pipeline(settings: Settings) -> Pipeline:
    """The published index, open, with the parts that answer from it."""
    from bookbound.models import EMBEDDER, READER
    from bookbound.models.onnx import Models

    needed = (EMBEDDER, READER) if settings.embedder == "local" else (READER,)
    models = Models(threads=settings.threads, ahead=needed)  # they open while the rest is imported

    from bookbound.judge.examiner import ReadingExaminer
    from bookbound.judge.reader import Reader
    from bookbound.judge.verifier import ReadingVerifier

    async with AsyncExitStack() as opened:  # what is open already is let go of when a later part fails
        opened.callback(models.close)
        writer, spare, agent = _writers(settings, opened)
        index = await store(settings).open()
        opened.push_async_callback(index.close)
        words = embedder(settings, models, index.manifest.dimension)
        opened.push_async_callback(words.close)
        if index.manifest.embedder != words.name:
            raise _made_with_another(index.manifest.embedder, words.name, settings)
        reader, held = Reader(models), _held(settings, index.manifest)
        return Pipeline(
            embedder=words,
            index=index,
            examiner=_examiner(settings, ReadingExaminer(reader), opened),
            writer=writer,
            verifier=ReadingVerifier(reader),
            point=held.point,
            spare=spare,
            agent=agent,
            deadline=settings.deadline,
            held=opened.pop_all(),
        )
    raise AssertionError("what is opened is handed on")


def _writers(settings: Settings, opened: AsyncExitStack) -> tuple[Writer, Writer | None, Agent | None]:
    """What writes, what stands in where that fails, and what searches by itself."""
    from bookbound.answer.quotes import Quotes

    if not settings.model:
        return Quotes(), None, None
    from bookbound import remote

    writer, agent, close = remote.language_model(settings)
    opened.push_async_callback(close)
    return writer, Quotes() if settings.on_model_failure == "quotes" else None, agent


def _examiner(settings: Settings, reader: Examiner, opened: AsyncExitStack) -> Examiner:
    if settings.examiner == "local":
        return reader
    from bookbound import remote

    examiner = remote.examiner(settings, reader)
    opened.push_async_callback(examiner.close)
    return examiner


def _held(settings: Settings, book: Manifest) -> InForce:
    held = point(settings, book)
    if held.outdated:
        told = f"The operating point beside this index is for {held.outdated}. {again(settings.index)}"
        warnings.warn(told, stacklevel=3)
    return held


def _made_with_another(made: str, asked: str, settings: Settings) -> WrongEmbedder:
    elsewhere = settings.index != Settings().index and not settings.qdrant_url
    return WrongEmbedder(
        f"This index was made with {made}, but questions are embedded with {asked}. Set `embedder` and `embed_model` "
        "as they were, or index the book again: bookbound index SOURCE"
        + (f" --index {quote(str(settings.index))}" if elsewhere else "")
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

    async def make() -> Indexed:
        words = embedder(settings)
        try:
            return await ingest(source, words, store(settings), progress)
        finally:
            await words.close()

    with closing(Worker()) as worker:
        return worker.run(make())


def web() -> FastAPI:
    """The web application, as a process that answers builds it: with the settings it was handed."""
    from bookbound.serve.app import application
    from bookbound.serve.desk import BoundedDesk

    chosen = load()
    desk = BoundedDesk(chosen.at_once, chosen.queue, chosen.deadline)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            await held.enter_async_context(desk.noted(journal(chosen)))  # the last to close
            try:
                await held.enter_async_context(desk.staffed(await pipeline(chosen)))
            except IndexTrouble as trouble:
                # A process that starts later than its siblings must not take them down: it says it is not ready.
                logging.getLogger("bookbound.serve").error("no book is open: %s", trouble)
            yield

    return application(desk, chosen, lifespan)


def main() -> None:
    """The command line, with these parts."""
    from bookbound import cli, wire

    cli.run(wire)
