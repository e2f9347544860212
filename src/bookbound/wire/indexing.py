"""Builds what makes an index, as the settings say."""

from __future__ import annotations

import hashlib
from asyncio import CancelledError
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from bookbound.errors import InvalidInput
from bookbound.library import Worker
from bookbound.ports import Embedder, Store
from bookbound.settings import Settings
from bookbound.volume import EVERY, UNNAMED

if TYPE_CHECKING:
    from bookbound.book import Manuscript
    from bookbound.ingest import Indexed, Progress
    from bookbound.models.onnx import Models
    from bookbound.source import Source


def embedder(settings: Settings, models: Models | None = None, dimension: int | None = None) -> Embedder:
    """The embedder that the settings name."""
    from bookbound.models.onnx import Models

    models = models or Models(threads=settings.threads)
    if settings.embedder != "local":
        from bookbound.wire import remote

        return remote.embedder(settings, models, dimension)
    from bookbound.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(models)


def store(settings: Settings) -> Store:
    """Where the settings say that the index lives: a folder, or a Qdrant server."""
    settings = placed(settings)
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


def placed(settings: Settings) -> Settings:
    """The settings for the one volume that they name: it lies in a place of its own."""
    volume = settings.volume
    if volume.book == EVERY:
        raise InvalidInput(f"`{EVERY}` stands for every book. Name one book: --book NAME")
    if volume == UNNAMED:
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
    progress: Progress = lambda *_: None,
    *,
    kind: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> Indexed:
    """The book at a path or a web address, read, embedded and published where the settings say."""
    from bookbound.embed.saved import SavedEmbedder
    from bookbound.ingest import ingest

    gone = Event()

    def told(stage: str, done: int, of: int) -> None:
        if gone.is_set():
            raise CancelledError  # a reader that nobody waits for any more ends here
        progress(stage, done, of)

    async def make() -> Indexed:
        words = embedder(settings)
        saved = SavedEmbedder(words, _unfinished(settings, words.name))
        try:
            book = _source(source, settings, kind, told)
            indexed = await ingest(book, saved, store(settings), told, force=force, dry_run=dry_run)
            saved.done()
            return indexed
        finally:
            await saved.close()

    with closing(Worker()) as worker:
        try:
            return worker.run(make())
        finally:
            gone.set()


def read_book(
    source: Path | str, settings: Settings, progress: Progress = lambda *_: None, *, kind: str | None = None
) -> Manuscript:
    """The book at a path or a web address, read as it would be indexed."""
    return _source(source, settings, kind, progress).read()


def _source(source: Path | str, settings: Settings, kind: str | None, progress: Progress) -> Source:
    """How the book at a path or a web address is read."""
    from bookbound.source import Source

    if isinstance(source, str):
        from bookbound.read.crawl import crawl

        return Source(lambda: crawl(source, settings.crawl_hosts, lambda done, of: progress("read", done, of)))
    from bookbound.read import read
    from bookbound.read.prints import mark

    return Source(
        lambda: read(source, kind, settings.edition),
        lambda beside: f"{kind} {settings.edition} {mark(source, beside)}",
    )


def _unfinished(settings: Settings, embedder: str) -> Path:
    """Where vectors are saved until the index they are for is published."""
    name = hashlib.sha256(f"{embedder} {settings.book} {settings.edition}".encode()).hexdigest()[:16]
    return settings.index.with_name(f"{settings.index.name}-work") / name
