"""Builds the embedder, store, reranker and language model from the settings, and indexes a book with them."""

from __future__ import annotations

import hashlib
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK
from bookbound.domain.errors import ConfigError, InvalidInputError
from bookbound.domain.llm_providers import DEFAULT_LLM_PROVIDER, LLM_PROVIDERS
from bookbound.domain.ports import Agent, AnswerModel, Assessor, Embedder, IndexStore, LanguageModel
from bookbound.library import EventLoopThread
from bookbound.services import build_missing_packages_error, validate_key, validate_url
from bookbound.settings import Settings

if TYPE_CHECKING:
    from bookbound.answering.reading.cohere_reranker import CohereRerankAssessor
    from bookbound.domain.document import ParsedBook
    from bookbound.indexing.pipeline import BookSource, IndexingResult, ProgressCallback
    from bookbound.models.cohere import CohereClient
    from bookbound.models.onnx import ModelRuntime


def build_embedder(settings: Settings, models: ModelRuntime | None = None) -> Embedder:
    """Returns the embedder of the settings; a remote one caches the vectors of questions."""
    from bookbound.models.onnx import ModelRuntime

    models = models or ModelRuntime(threads=settings.model_threads)
    if settings.embedder == "local":
        from bookbound.models.onnx import OnnxEmbedder

        return OnnxEmbedder(models)
    from bookbound.indexing.embed.embedding_cache import CachingEmbedder

    remote: Embedder
    if settings.embedder == "cohere":
        cohere = _build_cohere_client(settings, "embedder")
        from bookbound.indexing.embed.cohere_embedder import CohereEmbedder

        remote = CohereEmbedder(cohere, settings.embedder_model, models)
    else:
        _require_key(settings, "embedder", "embedder_key", "embedder_url")
        with require_extra("openai", "embedder"):
            from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
        remote = OpenAIEmbedder(settings.embedder_key, settings.embedder_model, settings.embedder_url, models=models)
    return CachingEmbedder(remote, settings.query_cache_size)


def build_reranker(settings: Settings, reader: Assessor) -> CohereRerankAssessor:
    """Returns an assessor in which Cohere orders the passages that `reader` reads."""
    cohere = _build_cohere_client(settings, "reranker")
    from bookbound.answering.reading.cohere_reranker import CohereRerankAssessor

    return CohereRerankAssessor(cohere, reader, settings.reranker_model)


def build_language_model(settings: Settings) -> tuple[AnswerModel, Agent | None, Callable[[], Awaitable[None]]]:
    """Returns a writer and an agent that use the language model of the settings, and the function that closes it.

    There is an agent only for a service with OpenAI's API.
    """
    model = build_llm_client(settings)
    from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
    from bookbound.answering.writers.llm.searching_agent import LanguageModelAgent

    agent = LanguageModelAgent(model) if LLM_PROVIDERS[settings.llm_provider].has_openai_api else None
    return LanguageModelWriter(model), agent, model.close


def build_llm_client(settings: Settings) -> LanguageModel:
    """Returns the language model of the settings."""
    if not settings.llm_model:
        raise ConfigError("There is no language model. Set `llm_model` to the name of one.")
    provider = LLM_PROVIDERS[settings.llm_provider]
    if not provider.url and provider.needs_key and not settings.llm_url:
        raise ConfigError(f"{provider.title} needs the address of your resource: set `llm_url`.")
    if provider.needs_key and not settings.llm_key and not (provider.has_openai_api and settings.llm_url):
        raise ConfigError(_describe_missing_key(settings.llm_provider))
    if settings.llm_api != "chat" and not provider.has_openai_api:
        raise ConfigError(f"`llm_api` is only for services with OpenAI's API. Leave it out for {provider.title}.")
    url = validate_url(settings.llm_url, "llm_url") if settings.llm_url else provider.url or None
    key = validate_key(settings.llm_key, "llm_key") if settings.llm_key else None
    needed_by = "llm_model" if settings.llm_provider == DEFAULT_LLM_PROVIDER else "llm_provider"
    with require_extra(provider.extra, needed_by):
        if provider.has_openai_api:
            from bookbound.answering.writers.llm.openai_agents import OpenAIAgentsModel

            return OpenAIAgentsModel(
                settings.llm_model, url=url, key=key, api=settings.llm_api, temperature=settings.llm_temperature
            )
        from bookbound.answering.writers.llm.pydantic_ai import PydanticAIModel

        return PydanticAIModel(
            settings.llm_provider, settings.llm_model, url=url, key=key, temperature=settings.llm_temperature
        )


def _describe_missing_key(name: str) -> str:
    provider = LLM_PROVIDERS[name]
    variables = " or ".join(f"`{variable}`" for variable in ("llm_key", *provider.key_variables))
    instead = ", or `llm_url` for a service of your own" if provider.has_openai_api else ""
    return f"The setting `llm_model` needs a key: set {variables} in the environment{instead}."


def _build_cohere_client(settings: Settings, setting: str) -> CohereClient:
    _require_key(settings, setting, "cohere_key")
    with require_extra("cohere", setting):
        from bookbound.models.cohere import CohereClient
    return CohereClient(settings.cohere_key or "", settings.cohere_url)


def _require_key(settings: Settings, setting: str, key: str, url: str = "") -> None:
    """Checks that there is a key, unless a URL is set, because a private service may need none."""
    if not getattr(settings, key) and not (url and getattr(settings, url)):
        instead = f", or `{url}` for a service of your own" if url else ""
        raise ConfigError(f"The setting `{setting}` needs a key: set `{key}` in the environment{instead}.")


@contextmanager
def require_extra(name: str, needed_by: str, kind: str = "setting") -> Iterator[None]:
    """Reports a missing package in this block with the command that installs it."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "bookbound":
            raise
        raise build_missing_packages_error(f"The {kind} `{needed_by}`", name) from error


def build_store(settings: Settings) -> IndexStore:
    """Returns the store of the book that the settings name: a folder, or a Qdrant server."""
    settings = build_book_settings(settings)
    if settings.qdrant_url:
        with require_extra("qdrant", "qdrant_url"):
            from bookbound.indexing.store.qdrant_store import QdrantStore

        return QdrantStore(
            settings.qdrant_url,
            settings.qdrant_key,
            settings.qdrant_collection,
            shards=settings.qdrant_shards,
            replicas=settings.qdrant_replication_factor,
            write_consistency=settings.qdrant_write_consistency,
            timeout=settings.qdrant_timeout_seconds,
        )
    from bookbound.indexing.store.edge_store import EdgeStore

    return EdgeStore(settings.index)


def build_book_settings(settings: Settings) -> Settings:
    """Returns the settings with the folder and collection of the one book that they name."""
    ref = settings.book_ref
    if ref.book == ALL_BOOKS:
        raise InvalidInputError(f"`{ALL_BOOKS}` means every book. Name one book: --book NAME")
    if ref == UNNAMED_BOOK:
        return settings
    return replace(
        settings,
        index=settings.index / "books" / str(ref),
        qdrant_collection=f"{settings.qdrant_collection}.{ref}",
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
    """Reads the book at a path or URL, embeds it and publishes its index."""
    from bookbound.indexing.embed.embedding_cache import CheckpointingEmbedder
    from bookbound.indexing.pipeline import build_index

    is_cancelled = Event()

    def report(stage: str, done: int, of: int) -> None:
        if is_cancelled.is_set():
            raise CancelledError  # ends a reader thread whose result is no longer needed
        progress(stage, done, of)

    async def build() -> IndexingResult:
        embedder = build_embedder(settings)
        checkpoints = CheckpointingEmbedder(embedder, _checkpoint_folder(settings, embedder.name))
        try:
            book = _build_source(source, settings, kind, report)
            result = await build_index(book, checkpoints, build_store(settings), report, force=force, dry_run=dry_run)
            checkpoints.remove_checkpoint()
            return result
        finally:
            await checkpoints.close()

    with closing(EventLoopThread()) as thread:
        try:
            return thread.run(build())
        finally:
            is_cancelled.set()


def read_book(
    source: Path | str, settings: Settings, progress: ProgressCallback, *, kind: str | None = None
) -> ParsedBook:
    """Reads the book at a path or URL as it would be indexed."""
    return _build_source(source, settings, kind, progress).read()


def _build_source(source: Path | str, settings: Settings, kind: str | None, progress: ProgressCallback) -> BookSource:
    from bookbound.indexing.pipeline import BookSource
    from bookbound.sources import READER_VERSION, parse_book

    title = _clean_title(settings.title or "")
    if isinstance(source, str):

        def report(done: int, of: int) -> None:
            progress("read", done, of)

        # Only reading it shows whether something at an address changed.
        read = partial(_read_address, source, settings, kind, report)
        return BookSource(lambda: _retitle(read(), title), reader_version=READER_VERSION)
    from bookbound.sources.fingerprints import fingerprint_source

    options = " ".join(filter(None, (str(kind), str(settings.edition), title)))
    return BookSource(
        lambda: _retitle(parse_book(source, kind, settings.edition), title),
        lambda outside_files: f"{options} {fingerprint_source(source, outside_files)}",
        READER_VERSION,
    )


def _clean_title(title: str) -> str:
    from bookbound.sources.titles import MAX_TITLE_CHARS

    words = " ".join(title.split())
    if len(words) > MAX_TITLE_CHARS:
        raise ConfigError(f"A title must have at most {MAX_TITLE_CHARS} characters; this one has {len(words)}.")
    return words


def _retitle(book: ParsedBook, title: str) -> ParsedBook:
    return replace(book, title=title) if title else book


def _read_address(
    source: str, settings: Settings, kind: str | None, progress: Callable[[int, int], None]
) -> ParsedBook:
    from bookbound.indexing.store.qdrant_reader import SOURCE_SCHEME, CollectionAddress, read_payloads

    if not source.startswith(SOURCE_SCHEME):
        from bookbound.sources.crawl import crawl_site

        return crawl_site(source, settings.crawl_allowed_hosts, progress)
    from bookbound.sources.collection import assemble_collection_book
    from bookbound.sources.collection.payload_fields import PayloadReader

    address = CollectionAddress.parse(source)
    reader = PayloadReader(address.fields)
    chunks = read_payloads(address, settings.source_key, settings.qdrant_timeout_seconds, reader.read, progress)
    return assemble_collection_book(address.collection, chunks, reader, kind)


def _checkpoint_folder(settings: Settings, embedder: str) -> Path:
    """Returns the folder that keeps vectors until their index is published."""
    name = hashlib.sha256(f"{embedder} {settings.book} {settings.edition}".encode()).hexdigest()[:16]
    return settings.index.with_name(f"{settings.index.name}-work") / name
