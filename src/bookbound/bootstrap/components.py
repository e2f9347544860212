"""Builds the embedder, store, reranker and language model from the settings, and indexes a book with them."""

from __future__ import annotations

import hashlib
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK
from bookbound.domain.errors import ConfigError, InvalidInputError
from bookbound.domain.ports import Agent, AnswerabilityModel, AnswerWriter, Embedder, IndexStore
from bookbound.library import EventLoopThread
from bookbound.services import validate_key, validate_url
from bookbound.settings import Settings

if TYPE_CHECKING:
    from bookbound.answering.reading.reranker import CohereRerankAssessor
    from bookbound.domain.document import ParsedBook
    from bookbound.indexing.pipeline import BookSource, IndexingResult, ProgressCallback
    from bookbound.models.cohere import CohereClient
    from bookbound.models.onnx import ModelRuntime


CloseFunction = Callable[[], Awaitable[None]]


def build_remote_embedder(settings: Settings, models: ModelRuntime, dimension: int | None) -> Embedder:
    """The embedder of the settings, which remembers questions; its vectors have the dimension that is given."""
    from bookbound.indexing.embed.embedding_cache import CachingEmbedder

    return CachingEmbedder(_build_uncached_embedder(settings, models, dimension), settings.remembered)


def build_reranker(settings: Settings, reader: AnswerabilityModel) -> CohereRerankAssessor:
    """The examiner of the settings: Cohere puts in order what `reader` reads."""
    cohere = _build_cohere_client(settings, "examiner")
    from bookbound.answering.reading.reranker import CohereRerankAssessor

    return CohereRerankAssessor(cohere, reader, settings.rerank_model)


def build_language_model(settings: Settings) -> tuple[AnswerWriter, Agent, CloseFunction]:
    """The writer and the agent on the language model of the settings, and what closes their connections."""
    _require_key(settings, "model", "model_key", "model_url")
    with require_extra("agents", "model"):
        from bookbound.answering.writers.language_model import LanguageModel, LanguageModelAgent, LanguageModelWriter
    model = LanguageModel(
        settings.model or "",
        url=validate_url(settings.model_url, "model_url") if settings.model_url else None,
        key=validate_key(settings.model_key, "model_key") if settings.model_key else None,
        api=settings.model_api,
        temperature=settings.temperature,
    )
    return LanguageModelWriter(model), LanguageModelAgent(model), model.close


def _build_uncached_embedder(settings: Settings, models: ModelRuntime, dimension: int | None) -> Embedder:
    if settings.embedder == "cohere":
        cohere = _build_cohere_client(settings, "embedder")
        from bookbound.indexing.embed.cohere_embedder import CohereEmbedder

        return CohereEmbedder(cohere, settings.embed_model, models)
    _require_key(settings, "embedder", "embed_key", "embed_url")
    with require_extra("openai", "embedder"):
        from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
    key, model, url = settings.embed_key, settings.embed_model, settings.embed_url
    return OpenAIEmbedder(key, model, url, dimension=dimension, models=models)


def _build_cohere_client(settings: Settings, setting: str) -> CohereClient:
    _require_key(settings, setting, "cohere_key")
    with require_extra("cohere", setting):
        from bookbound.models.cohere import CohereClient
    return CohereClient(settings.cohere_key or "", settings.cohere_url)


def _require_key(settings: Settings, setting: str, key: str, url: str = "") -> None:
    """That there is a key, unless a URL of one's own is given: who serves there may need none."""
    if not getattr(settings, key) and not (url and getattr(settings, url)):
        instead = f", or `{url}` for a service of your own" if url else ""
        raise ConfigError(f"The setting `{setting}` needs a key: set `{key}` in the environment{instead}.")


@contextmanager
def require_extra(name: str, setting: str) -> Iterator[None]:
    """Within this block a package that is missing is told with what installs it."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "bookbound":
            raise
        raise ConfigError(f'The setting `{setting}` needs more packages: pip install "bookbound[{name}]"') from missing


def embedder(settings: Settings, models: ModelRuntime | None = None, dimension: int | None = None) -> Embedder:
    """The embedder that the settings name."""
    from bookbound.models.onnx import ModelRuntime

    models = models or ModelRuntime(threads=settings.threads)
    if settings.embedder != "local":
        return build_remote_embedder(settings, models, dimension)
    from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(models)


def store(settings: Settings) -> IndexStore:
    """Where the settings say that the index lives: a folder, or a Qdrant server."""
    settings = placed(settings)
    if settings.qdrant_url:
        from bookbound.indexing.store.qdrant_store import QdrantStore

        return QdrantStore(
            settings.qdrant_url,
            settings.qdrant_key,
            settings.qdrant_collection,
            shards=settings.qdrant_shards,
            replicas=settings.qdrant_replicas,
            confirmed=settings.qdrant_confirmed,
            timeout=settings.qdrant_timeout,
        )
    from bookbound.indexing.store.edge_store import EdgeStore

    return EdgeStore(settings.index)


def placed(settings: Settings) -> Settings:
    """The settings for the one volume that they name: it lies in a place of its own."""
    volume = settings.volume
    if volume.book == ALL_BOOKS:
        raise InvalidInputError(f"`{ALL_BOOKS}` stands for every book. Name one book: --book NAME")
    if volume == UNNAMED_BOOK:
        return settings
    return replace(
        settings,
        index=settings.index / "books" / str(volume),
        qdrant_collection=f"{settings.qdrant_collection}.{volume}",
        book=None,
        edition=None,
    )


def index_book(
    source: Path | str,
    settings: Settings,
    progress: ProgressCallback = lambda *_: None,
    *,
    kind: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> IndexingResult:
    """The book at a path or a web address, read, embedded and published where the settings say."""
    from bookbound.indexing.embed.embedding_cache import CheckpointingEmbedder
    from bookbound.indexing.pipeline import build_index

    gone = Event()

    def told(stage: str, done: int, of: int) -> None:
        if gone.is_set():
            raise CancelledError  # a reader that nobody waits for any more ends here
        progress(stage, done, of)

    async def make() -> IndexingResult:
        words = embedder(settings)
        saved = CheckpointingEmbedder(words, _unfinished_vectors_folder(settings, words.name))
        try:
            book = _build_source(source, settings, kind, told)
            indexed = await build_index(book, saved, store(settings), told, force=force, dry_run=dry_run)
            saved.done()
            return indexed
        finally:
            await saved.close()

    with closing(EventLoopThread()) as worker:
        try:
            return worker.run(make())
        finally:
            gone.set()


def read_book(
    source: Path | str, settings: Settings, progress: ProgressCallback = lambda *_: None, *, kind: str | None = None
) -> ParsedBook:
    """The book at a path or a web address, read as it would be indexed."""
    return _build_source(source, settings, kind, progress).read()


def _build_source(source: Path | str, settings: Settings, kind: str | None, progress: ProgressCallback) -> BookSource:
    """How the book at a path or a web address is read."""
    from bookbound.indexing.pipeline import BookSource

    if isinstance(source, str):
        from bookbound.sources.crawl import crawl_site

        return BookSource(lambda: crawl_site(source, settings.crawl_hosts, lambda done, of: progress("read", done, of)))
    from bookbound.sources import parse_book
    from bookbound.sources.fingerprints import fingerprint_source

    return BookSource(
        lambda: parse_book(source, kind, settings.edition),
        lambda beside: f"{kind} {settings.edition} {fingerprint_source(source, beside)}",
    )


def _unfinished_vectors_folder(settings: Settings, embedder: str) -> Path:
    """Where vectors are saved until the index they are for is published."""
    name = hashlib.sha256(f"{embedder} {settings.book} {settings.edition}".encode()).hexdigest()[:16]
    return settings.index.with_name(f"{settings.index.name}-work") / name
