"""The only place that builds things; what a command does not need is not imported."""

from __future__ import annotations

import logging
import warnings
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from bookbound import limiting, recording, watching
from bookbound.ask import Pipeline
from bookbound.calibration import InForce, Shipped, again, in_force
from bookbound.errors import IndexTrouble, WrongEmbedder
from bookbound.indexing import chosen, editions, naming
from bookbound.indexing import embedder as embedder
from bookbound.indexing import index_book as index_book
from bookbound.indexing import placed as placed
from bookbound.indexing import store as store
from bookbound.indexing import volumes as volumes
from bookbound.library import Book, Worker
from bookbound.manifest import Manifest
from bookbound.ports import Agent, Embedder, Examiner, Index, Writer
from bookbound.recording import journal
from bookbound.recording import keep as keep
from bookbound.recording import log as log
from bookbound.settings import Settings, load
from bookbound.volume import EVERY, Volume

if TYPE_CHECKING:
    from fastapi import FastAPI


def point(settings: Settings, book: Manifest) -> InForce:
    """The operating point that questions to a book are answered with, and where it comes from."""
    from bookbound.models import MODELS

    return in_force(placed(settings), Shipped.of(MODELS), book)


def writer_name(settings: Settings) -> str:
    """What writes the answers, without a look at it."""
    return settings.model or "quotes"


async def pipeline(settings: Settings) -> Pipeline:
    """The published index, open, with the parts that answer from it."""
    if settings.book == EVERY:
        from bookbound import shelving

        return await shelving.gathered(settings)
    from bookbound.models import EMBEDDER, READER
    from bookbound.models.onnx import Models

    needed = (EMBEDDER, READER) if settings.embedder == "local" else (READER,)
    models = Models(threads=settings.threads, ahead=needed)  # they open while the rest is imported

    from bookbound.judge.examiner import ReadingExaminer
    from bookbound.judge.reader import Reader
    from bookbound.judge.verifier import ReadingVerifier

    volume = await chosen(settings)
    settings = naming(settings, volume)
    # What is open already is let go of when a later part fails.
    async with AsyncExitStack() as opened, AsyncExitStack() as reading:
        opened.callback(models.close)
        writer, spare, agent = _writers(settings, opened)
        index = await store(settings).open()
        reading.push_async_callback(index.close)
        words = embedder(settings, models, index.manifest.dimension)
        opened.push_async_callback(words.close)
        reader = Reader(models)
        examiner = _examiner(settings, ReadingExaminer(reader), opened)
        held = _fitting(settings, index, words)
        reading.pop_all()
        return Pipeline(
            embedder=words,
            index=index,
            examiner=examiner,
            writer=writer,
            verifier=ReadingVerifier(reader),
            point=held.point,
            spare=spare,
            agent=agent,
            deadline=settings.deadline,
            edition=volume.edition,
            others=editions(settings, volume),
            held=opened.pop_all(),
        )
    raise AssertionError("what is opened is handed on")


async def beside(pipeline: Pipeline, settings: Settings, volume: Volume) -> Pipeline:
    """A volume, open, with the parts of a pipeline; they stay that pipeline's to let go of."""
    settings = naming(settings, volume)
    index = await store(settings).open()
    try:
        held = _fitting(settings, index, pipeline.embedder)
    except BaseException:
        await index.close()
        raise
    others = editions(settings, volume)
    parts = replace(pipeline, edition=volume.edition, others=others, held=AsyncExitStack())
    return replace(parts, index=index, point=held.point)


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


def _fitting(settings: Settings, index: Index, words: Embedder) -> InForce:
    """The operating point for an index, if the embedder is the one that it was made with."""
    if index.manifest.embedder != words.name:
        raise _made_with_another(index.manifest.embedder, words.name, settings)
    held = point(settings, index.manifest)
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


def ready(settings: Settings, workers: int = 1) -> None:
    """See that limits hold and questions are logged and watched: what is set wrong is told before anybody asks."""
    limiting.ready(settings, workers)
    watching.ready(settings)
    recording.ready(settings)


def web() -> FastAPI:
    """The web application, as a process that answers builds it: with the settings it was handed."""
    from bookbound import shelving
    from bookbound.serve.app import application
    from bookbound.serve.desk import BoundedDesk

    chosen = load()
    desk = BoundedDesk(chosen.at_once, chosen.queue, chosen.deadline)
    shelf = shelving.shelf(chosen)
    limiter, watch = limiting.limiter(chosen), watching.watch(chosen, desk.standing)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            await held.enter_async_context(desk.noted(journal(chosen)))  # the last to close
            await held.enter_async_context(watch.kept())
            if limiter:
                held.push_async_callback(limiter.close)
            await held.enter_async_context(desk.staffed(shelf))
            try:
                await shelf.ready()
            except IndexTrouble as trouble:
                # A process that starts later than its siblings must not take them down: it says it is not ready.
                logging.getLogger("bookbound.serve").error("no book is open: %s", trouble)
            yield

    return application(
        desk, chosen, lifespan, store=partial(shelving.store, chosen), limiter=limiter, watch=watch, shelf=shelf
    )


def main() -> None:
    """The command line, with these parts."""
    from bookbound import cli, wire

    cli.run(wire)
