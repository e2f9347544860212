"""Opens the engine with one published book, all books, or a pool of books, also as one conversation chooses."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.answering.deciding import operating_point
from bookbound.answering.deciding.operating_point import ActiveOperatingPoint
from bookbound.answering.engine import Engine, OpenBook, OtherEditions
from bookbound.answering.pipeline import Pipeline
from bookbound.bootstrap import book_catalogue, components
from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef
from bookbound.domain.errors import BookboundError, BookNotFoundError, EmbedderMismatchError, IndexNotFoundError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Agent, AnswerModel, Assessor, Index
from bookbound.library import Book, ConversationOptions, EventLoopThread
from bookbound.settings import Settings, format_index_option

if TYPE_CHECKING:
    from bookbound.server.book_pool import BookPool


def load_operating_point(settings: Settings, manifest: Manifest) -> ActiveOperatingPoint:
    """Returns the operating point for questions to a book, and where it comes from."""
    from bookbound.models import MODELS_FOLDER

    default = operating_point.DefaultOperatingPoint.load(MODELS_FOLDER)
    return operating_point.resolve_operating_point(components.build_book_settings(settings), default, manifest)


def writer_name(settings: Settings) -> str:
    return settings.llm_model or "quotes"


async def open_engine(settings: Settings) -> Engine:
    """Opens the models and services of the settings; if one fails, those before it are closed."""
    from bookbound.models import EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE
    from bookbound.models.networks import SOCKET_VARIABLE
    from bookbound.models.onnx import ModelRuntime

    is_strong = settings.reader == "strong"
    networks = {STRONG_READER_FILE: is_strong, FAST_READER_FILE: True, EMBEDDER_FILE: settings.embedder == "local"}
    preload = [name for name, is_used in networks.items() if is_used]  # during the imports below
    models = ModelRuntime(threads=settings.model_threads, preload=preload, socket=os.environ.get(SOCKET_VARIABLE))

    from bookbound.answering.grounding.verifier import CrossEncoderVerifier
    from bookbound.answering.reading.answerability import CrossEncoderAssessor
    from bookbound.answering.writers.quotes.quote_writer import QuoteWriter
    from bookbound.models.cross_encoder import CrossEncoder

    opened = AsyncExitStack()
    try:
        opened.callback(models.close)
        model, agent = _build_language_model(settings, opened)
        embedder = components.build_embedder(settings, models)
        opened.push_async_callback(embedder.close)
        fast = CrossEncoder(models, "fast")
        strong = CrossEncoder(models, "strong") if is_strong else None
        assessor: Assessor = CrossEncoderAssessor(fast, strong)
        if settings.reranker != "local":
            reranker = components.build_reranker(settings, assessor)
            opened.push_async_callback(reranker.close)
            assessor = reranker
        return Engine(
            embedder=embedder,
            assessor=assessor,
            quotes=QuoteWriter(),
            verifier=CrossEncoderVerifier(strong or fast),
            model=model,
            quotes_on_failure=settings.on_llm_failure == "quotes",
            hides_unverified=settings.unverified == "hide",
            agent=agent,
            quick_assessor=CrossEncoderAssessor(fast),
            answer_seconds=settings.answer_timeout_seconds,
            resources=opened.pop_all(),
        )
    except BaseException:
        await opened.aclose()
        raise


def _build_language_model(settings: Settings, opened: AsyncExitStack) -> tuple[AnswerModel | None, Agent | None]:
    if not settings.llm_model:
        return None, None
    model, agent, close = components.build_language_model(settings)
    opened.push_async_callback(close)
    return model, agent


def build_other_editions(settings: Settings, others: Sequence[BookRef]) -> OtherEditions | None:
    """Returns the other editions of a book, if it has any; they open when an answer is first compared with them."""
    if not others:
        return None

    async def open_indexes() -> dict[str, Index]:
        opened: dict[str, Index] = {}
        for other in others:
            with suppress(BookboundError):
                opened[other.edition] = await components.build_store(settings.with_book(other)).open()
        return opened

    return OtherEditions(open_indexes)


async def open_published_book(settings: Settings, engine: Engine, books: Sequence[BookRef]) -> OpenBook:
    """Opens the one of the published books that the settings name, or all of them, for questions to an engine."""
    if settings.book == ALL_BOOKS:
        return await _open_all_books(settings, engine, books)
    settings, others = book_catalogue.resolve_editions(settings, books)
    index = await components.build_store(settings).open()
    try:
        point = _load_matching_operating_point(settings, index, engine.embedder.name)
    except BaseException:
        await index.close()
        raise
    ref = settings.book_ref
    return OpenBook(index, point.point, ref.edition, build_other_editions(settings, others), ref.book)


async def _open_all_books(settings: Settings, engine: Engine, books: Sequence[BookRef]) -> OpenBook:
    from bookbound.indexing.store.several_books import MultiBookIndex

    named: dict[str, OpenBook] = {}
    async with AsyncExitStack() as opened:
        for ref in book_catalogue.list_newest_editions(books):
            book = await open_published_book(settings.with_book(ref), engine, books)
            opened.push_async_callback(book.close)
            title = book.manifest.title
            named[ref.book or (f"{title} (without a name)" if title in named else title)] = book
        opened.pop_all()
    first = next(iter(named.values()))
    return OpenBook(MultiBookIndex({name: book.index for name, book in named.items()}), first.operating_point)


def _load_matching_operating_point(settings: Settings, index: Index, embedder: str) -> ActiveOperatingPoint:
    """Loads the operating point for an index that was made with this embedder."""
    if index.manifest.embedder != embedder:
        place = "" if settings.qdrant_url else format_index_option(settings.index)
        raise EmbedderMismatchError(
            f"This index was made with {index.manifest.embedder}, but questions are embedded with {embedder}. Set "
            f"`embedder` and `embedder_model` as they were, or index the book again: bookbound index SOURCE{place}"
        )
    active = load_operating_point(settings, index.manifest)
    if active.outdated:
        message = f"The operating point next to this index is for {active.outdated}."
        hint = operating_point.recalibration_hint(settings.index, settings.book_ref)
        warnings.warn(f"{message} {hint}", stacklevel=3)
    return active


async def open_pipeline(settings: Settings) -> Pipeline:
    """Opens an engine and the book of the settings; a missing book is reported before the networks are loaded."""
    books = await book_catalogue.list_books(settings)
    if not books or settings.book != ALL_BOOKS:
        book_catalogue.find_book(settings.book_ref, books)
    engine = await open_engine(settings)
    try:
        return Pipeline(engine, await open_published_book(settings, engine, books))
    except BaseException:
        await engine.close()
        raise


def open_book(settings: Settings) -> Book:
    """Opens the book of the settings for synchronous code."""
    thread = EventLoopThread()
    try:
        pipeline = thread.run(open_pipeline(settings))
        return Book(pipeline, thread, PipelineVariants(settings, pipeline))
    except BaseException:
        thread.close()
        raise


class PipelineVariants:
    """Pipelines that share the networks of one pipeline; each model and book is opened once."""

    def __init__(self, settings: Settings, pipeline: Pipeline) -> None:
        self._settings, self._pipeline = settings, pipeline
        self._agents: dict[tuple[str, float], Agent] = {}
        self._books: dict[BookRef, OpenBook] = {}
        self._opening, self._opened = asyncio.Lock(), AsyncExitStack()

    async def open(self, options: ConversationOptions) -> Pipeline:
        async with self._opening:
            engine, book = self._pipeline.engine, self._pipeline.book
            if engine.agent and (options.model or options.temperature is not None):
                engine = replace(engine, agent=self._find_agent(engine.agent, options))
            if options.collection:
                book = await self._find_book(find_collection(options.collection, self._settings))
            return Pipeline(engine, book)

    async def close(self) -> None:
        await self._opened.aclose()

    def _find_agent(self, agent: Agent, options: ConversationOptions) -> Agent:
        temperature = agent.temperature if options.temperature is None else options.temperature
        key = options.model or agent.name, temperature
        if key not in self._agents:
            settings = replace(self._settings, llm_model=key[0], llm_temperature=key[1])
            _, opened, close = components.build_language_model(settings)
            self._opened.push_async_callback(close)
            assert opened is not None  # it has the service of `agent`
            self._agents[key] = opened
        return self._agents[key]

    async def _find_book(self, ref: BookRef) -> OpenBook:
        if ref not in self._books:
            settings = self._settings.with_book(ref)
            book = await open_published_book(settings, self._pipeline.engine, await book_catalogue.list_books(settings))
            self._opened.push_async_callback(book.close)
            self._books[ref] = book
        return self._books[ref]


def find_collection(name: str, settings: Settings) -> BookRef:
    """The book that a collection name means: `NAME`, `NAME@EDITION`, or the name of its collection in Qdrant."""
    if name == settings.qdrant_collection:
        return UNNAMED_BOOK
    return BookRef.parse(name.removeprefix(f"{settings.qdrant_collection}."))


def build_book_pool(settings: Settings) -> BookPool:
    """Returns a pool of the published books; the book of the settings answers questions that name none."""
    from bookbound.server.book_pool import BookPool

    catalogue = book_catalogue.BookCatalogue(settings)

    async def find_version(ref: BookRef) -> str:
        try:
            if ref.book == ALL_BOOKS:
                return await catalogue.generations(book_catalogue.list_newest_editions(await catalogue.books()))
            found = await catalogue.find(ref)
        except (BookNotFoundError, IndexNotFoundError):
            return ""
        return await catalogue.generations([found, *book_catalogue.list_other_editions(found, await catalogue.books())])

    async def open_(ref: BookRef, engine: Engine) -> OpenBook:
        return await open_published_book(settings.with_book(ref), engine, await book_catalogue.list_books(settings))

    return BookPool(lambda: open_engine(settings), open_, find_version, settings.book_ref)
