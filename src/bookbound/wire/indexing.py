"""Builds what makes an index, as the settings say."""

from __future__ import annotations

import hashlib
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bookbound.errors import IndexTrouble, InvalidInput, NoIndex
from bookbound.library import Worker
from bookbound.ports import Embedder, Index, Store
from bookbound.settings import Settings
from bookbound.volume import EVERY, Volume, newest, newest_first

if TYPE_CHECKING:
    from bookbound.ingest import Indexed, Progress, Source
    from bookbound.models.onnx import Models
    from bookbound.retrieve.editions import Editions

COMPARED = 3
"""With how many other editions an answer is compared."""


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
    if volume == Volume():
        return settings
    return replace(
        settings,
        index=settings.index / "books" / str(volume),
        qdrant_collection=f"{settings.qdrant_collection}.{volume}",
        book=None,
        edition=None,
    )


def naming(settings: Settings, volume: Volume) -> Settings:
    """The same settings, with the name of a volume."""
    return replace(settings, book=volume.book or None, edition=volume.edition or None)


async def volumes(settings: Settings) -> list[Volume]:
    """Every volume that is published."""
    here = store(naming(settings, Volume()))
    named = [volume for name in await here.books() if (volume := _known(name))]
    return [*([Volume()] if await here.published() else []), *named]


def _known(name: str) -> Volume | None:
    """The volume of a name that was found; somebody else's folder is none."""
    try:
        return Volume.named(name)
    except InvalidInput:
        return None


async def chosen(settings: Settings) -> tuple[Volume, str]:
    """The volume that questions go to, and its published generation, if any.

    It is the one that the settings name, or else the newest edition of that book.
    """
    named = settings.volume
    generation = await store(settings).published()
    if generation or named.edition:
        return named, generation
    latest = newest(volume for volume in await volumes(settings) if volume.book == named.book)
    return (latest, await store(naming(settings, latest)).published()) if latest else (named, "")


async def opened(settings: Settings) -> tuple[Volume, Index]:
    """The volume that questions go to, open; where none of it is published, the trouble that there is none."""
    try:
        return settings.volume, await store(settings).open()
    except NoIndex:
        volume, _ = await chosen(settings)
        if volume == settings.volume:
            raise
        return volume, await store(naming(settings, volume)).open()


def editions(settings: Settings, volume: Volume) -> Editions | None:
    """The newest of a volume's other editions, to be opened when an answer is compared with them."""
    if not volume.edition:
        return None
    from bookbound.retrieve.editions import Editions

    async def open_() -> dict[str, Index]:
        others = [each for each in await volumes(settings) if each.book == volume.book and each != volume]
        opened: dict[str, Index] = {}
        for other in newest_first(others):
            if len(opened) < COMPARED:
                with suppress(IndexTrouble):
                    opened[other.edition] = await store(naming(settings, other)).open()
        return opened

    return Editions(open_)


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

    async def make() -> Indexed:
        words = embedder(settings)
        saved = SavedEmbedder(words, _unfinished(settings, words.name))
        try:
            book = _source(source, settings, kind, progress)
            indexed = await ingest(book, saved, store(settings), progress, force=force, dry_run=dry_run)
            saved.done()
            return indexed
        finally:
            await saved.close()

    with closing(Worker()) as worker:
        return worker.run(make())


def _source(source: Path | str, settings: Settings, kind: str | None, progress: Progress) -> Source:
    """How the book at a path or a web address is read."""
    from bookbound.ingest import Source

    if isinstance(source, str):
        from bookbound.read.crawl import crawl

        return Source(lambda: crawl(source, settings.crawl_hosts, lambda done, of: progress("read", done, of)))
    from bookbound.read import read
    from bookbound.read.prints import mark

    return Source(lambda: read(source, kind, settings.edition), f"{kind} {settings.edition} {mark(source)}")


def _unfinished(settings: Settings, embedder: str) -> Path:
    """Where vectors are saved until the index they are for is published."""
    name = hashlib.sha256(f"{embedder} {settings.book} {settings.edition}".encode()).hexdigest()[:16]
    return settings.index.with_name(f"{settings.index.name}-work") / name
