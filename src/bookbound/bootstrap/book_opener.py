"""Opens one published book, all books, or the book pool of a server, with the parts that answer from them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.answering.operating_point import (
    ActiveOperatingPoint,
    DefaultOperatingPoint,
    recalibration_hint,
    resolve_operating_point,
)
from bookbound.answering.pipeline import Pipeline
from bookbound.bootstrap import components
from bookbound.bootstrap.book_catalogue import BookCatalogue, asked, build_other_editions, list_other_editions, volumes
from bookbound.bootstrap.book_catalogue import open_published_index as opened_volume
from bookbound.bootstrap.components import embedder, placed
from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef, sort_newest_first
from bookbound.domain.errors import BookNotFoundError, EmbedderMismatchError, IndexNotFoundError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Agent, AnswerabilityModel, AnswerWriter, Embedder, Index, IndexStore
from bookbound.library import Book, EventLoopThread
from bookbound.settings import Settings, format_index_option

if TYPE_CHECKING:
    from bookbound.server.book_pool import BookPool


def point(settings: Settings, book: Manifest) -> ActiveOperatingPoint:
    """The operating point that questions to a book are answered with, and where it comes from."""
    from bookbound.models import MODELS_FOLDER

    return resolve_operating_point(placed(settings), DefaultOperatingPoint.of(MODELS_FOLDER), book)


def writer_name(settings: Settings) -> str:
    """What writes the answers, without a look at it."""
    return settings.model or "quotes"


async def pipeline(settings: Settings) -> Pipeline:
    """The published index, open, with the parts that answer from it."""
    if settings.book == ALL_BOOKS:
        return await open_all_books(settings)
    from bookbound.models import EMBEDDER_FILE, READER_FILE
    from bookbound.models.onnx import ModelRuntime

    needed = (EMBEDDER_FILE, READER_FILE) if settings.embedder == "local" else (READER_FILE,)
    models = ModelRuntime(threads=settings.threads, ahead=needed)  # they open while the rest is imported

    from bookbound.answering.grounding.verifier import CrossEncoderVerifier
    from bookbound.answering.reading.answerability import CrossEncoderAssessor
    from bookbound.answering.reading.cross_encoder import CrossEncoder

    # What is open already is let go of when a later part fails.
    async with AsyncExitStack() as opened, AsyncExitStack() as reading:
        opened.callback(models.close)
        writer, spare, agent = _build_writers(settings, opened)
        volume, index = await opened_volume(settings)
        reading.push_async_callback(index.close)
        settings = settings.naming(volume)
        words = embedder(settings, models, index.manifest.dimension)
        opened.push_async_callback(words.close)
        reader = CrossEncoder(models)
        examiner = _build_answerability_model(settings, CrossEncoderAssessor(reader), opened)
        held = _load_matching_operating_point(settings, index, words)
        reading.pop_all()
        return Pipeline(
            embedder=words,
            index=index,
            examiner=examiner,
            writer=writer,
            verifier=CrossEncoderVerifier(reader),
            point=held.point,
            spare=spare,
            agent=agent,
            deadline=settings.deadline,
            edition=volume.edition,
            others=build_other_editions(settings, volume),
            held=opened.pop_all(),
        )
    raise AssertionError("what is opened is handed on")


async def open_additional_book(pipeline: Pipeline, settings: Settings) -> Pipeline:
    """What the settings name, open, with the parts of a pipeline; they stay that pipeline's to let go of."""
    volume, index = await opened_volume(settings)
    settings = settings.naming(volume)
    try:
        held = _load_matching_operating_point(settings, index, pipeline.embedder)
    except BaseException:
        await index.close()
        raise
    others = build_other_editions(settings, volume)
    parts = replace(pipeline, edition=volume.edition, others=others, held=AsyncExitStack())
    return replace(parts, index=index, point=held.point)


def _build_writers(
    settings: Settings, opened: AsyncExitStack
) -> tuple[AnswerWriter, AnswerWriter | None, Agent | None]:
    """What writes, what stands in where that fails, and what searches by itself."""
    from bookbound.answering.writers.quotes import QuoteWriter

    if not settings.model:
        return QuoteWriter(), None, None
    from bookbound.bootstrap import components

    writer, agent, close = components.build_language_model(settings)
    opened.push_async_callback(close)
    return writer, QuoteWriter() if settings.on_model_failure == "quotes" else None, agent


def _build_answerability_model(
    settings: Settings, reader: AnswerabilityModel, opened: AsyncExitStack
) -> AnswerabilityModel:
    if settings.examiner == "local":
        return reader
    from bookbound.bootstrap import components

    examiner = components.build_reranker(settings, reader)
    opened.push_async_callback(examiner.close)
    return examiner


def _load_matching_operating_point(settings: Settings, index: Index, words: Embedder) -> ActiveOperatingPoint:
    """The operating point for an index, if the embedder is the one that it was made with."""
    if index.manifest.embedder != words.name:
        raise _build_embedder_mismatch_error(index.manifest.embedder, words.name, settings)
    held = point(settings, index.manifest)
    if held.outdated:
        told = f"The operating point beside this index is for {held.outdated}. {recalibration_hint(settings.index)}"
        warnings.warn(told, stacklevel=3)
    return held


def _build_embedder_mismatch_error(made: str, asked: str, settings: Settings) -> EmbedderMismatchError:
    place = "" if settings.qdrant_url else format_index_option(settings.index)
    return EmbedderMismatchError(
        f"This index was made with {made}, but questions are embedded with {asked}. Set `embedder` and `embed_model` "
        f"as they were, or index the book again: bookbound index SOURCE{place}"
    )


def open_book(settings: Settings) -> Book:
    """The published index as a book to ask from plain code."""
    worker = EventLoopThread()
    try:
        return Book(worker.run(pipeline(settings)), worker)
    except BaseException:
        worker.close()
        raise


def build_book_pool(settings: Settings) -> BookPool:
    """The books of the settings' place; where nobody names one, that of the settings is asked."""
    from bookbound.server.book_pool import BookPool
    from bookbound.server.telemetry.instrumentation import TimedIndex, instrument_pipeline

    catalogue = BookCatalogue(settings)

    async def open_(volume: BookRef, parts: Pipeline | None) -> Pipeline:
        named = settings.naming(volume)
        if parts is None:
            return instrument_pipeline(await pipeline(named))
        opened = await (
            open_all_books(settings, parts) if volume.book == ALL_BOOKS else open_additional_book(parts, named)
        )
        return replace(opened, index=TimedIndex(opened.index))

    async def published(volume: BookRef) -> str:
        try:
            if volume.book == ALL_BOOKS:
                return await catalogue.generations(list_newest_editions(await catalogue.volumes()))
            one = await catalogue.meant(volume)
        except (BookNotFoundError, IndexNotFoundError):
            return ""
        return await catalogue.generations([one, *list_other_editions(one, await catalogue.volumes())])

    return BookPool(open_, published, settings.volume)


async def open_all_books(settings: Settings, parts: Pipeline | None = None) -> Pipeline:
    """All books as one, with parts that are there already, or else with new ones."""
    from bookbound.answering.retrieve.multi_book_index import MultiBookIndex

    newest = list_newest_editions(await volumes(settings))
    whole = parts or await pipeline(settings.naming(newest[0]))
    async with AsyncExitStack() as opened:
        if parts is None:
            opened.push_async_callback(whole.close)
        indexes: dict[str, Index] = {}
        for each in newest:
            fresh = parts is None and each is newest[0]
            one = whole if fresh else await open_additional_book(whole, settings.naming(each))
            if not fresh:
                opened.push_async_callback(one.index.close)
            title = one.index.manifest.title
            indexes[each.book or (f"{title} (without a name)" if title in indexes else title)] = one.index
        opened.pop_all()
        held = AsyncExitStack() if parts else whole.held
        return replace(whole, index=MultiBookIndex(indexes), edition="", others=None, held=held)
    raise AssertionError("what is opened is handed on")


async def find_book_store(settings: Settings, volume: BookRef | None) -> IndexStore:
    """Where the index of a volume lives, or that of the book that is asked where nobody names one."""
    if volume and volume.book == ALL_BOOKS:
        raise BookNotFoundError("Name one book: what changes an index changes one.")
    named = settings if volume is None else settings.naming(volume)
    return components.store(await asked(named))


def list_newest_editions(among: Sequence[BookRef]) -> list[BookRef]:
    """The newest edition of each book in the order of their names, last the unnamed one; alone where there is none."""
    books: dict[str, BookRef] = {}
    for volume in sort_newest_first(among):
        books.setdefault(volume.book, volume)
    return sorted(books.values(), key=lambda volume: (not volume.book, volume)) or [UNNAMED_BOOK]
