"""Opens a published index with the parts that answer from it."""

from __future__ import annotations

import warnings
from contextlib import AsyncExitStack
from dataclasses import replace

from bookbound.ask import Pipeline
from bookbound.calibration import InForce, Shipped, again, in_force
from bookbound.errors import WrongEmbedder
from bookbound.library import Book, Worker
from bookbound.manifest import Manifest
from bookbound.ports import Agent, Embedder, Examiner, Index, Writer
from bookbound.settings import Settings, index_option
from bookbound.volume import EVERY
from bookbound.wire.catalogue import editions
from bookbound.wire.catalogue import opened as opened_volume
from bookbound.wire.indexing import embedder, placed


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
        from bookbound.wire import shelving

        return await shelving.gathered(settings)
    from bookbound.models import EMBEDDER, READER
    from bookbound.models.onnx import Models

    needed = (EMBEDDER, READER) if settings.embedder == "local" else (READER,)
    models = Models(threads=settings.threads, ahead=needed)  # they open while the rest is imported

    from bookbound.judge.examiner import ReadingExaminer
    from bookbound.judge.reader import Reader
    from bookbound.judge.verifier import ReadingVerifier

    # What is open already is let go of when a later part fails.
    async with AsyncExitStack() as opened, AsyncExitStack() as reading:
        opened.callback(models.close)
        writer, spare, agent = _writers(settings, opened)
        volume, index = await opened_volume(settings)
        reading.push_async_callback(index.close)
        settings = settings.naming(volume)
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


async def beside(pipeline: Pipeline, settings: Settings) -> Pipeline:
    """What the settings name, open, with the parts of a pipeline; they stay that pipeline's to let go of."""
    volume, index = await opened_volume(settings)
    settings = settings.naming(volume)
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
    from bookbound.wire import remote

    writer, agent, close = remote.language_model(settings)
    opened.push_async_callback(close)
    return writer, Quotes() if settings.on_model_failure == "quotes" else None, agent


def _examiner(settings: Settings, reader: Examiner, opened: AsyncExitStack) -> Examiner:
    if settings.examiner == "local":
        return reader
    from bookbound.wire import remote

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
    place = "" if settings.qdrant_url else index_option(settings.index)
    return WrongEmbedder(
        f"This index was made with {made}, but questions are embedded with {asked}. Set `embedder` and `embed_model` "
        f"as they were, or index the book again: bookbound index SOURCE{place}"
    )


def open_book(settings: Settings) -> Book:
    """The published index as a book to ask from plain code."""
    worker = Worker()
    try:
        return Book(worker.run(pipeline(settings)), worker)
    except BaseException:
        worker.close()
        raise
