"""Builds what holds the open books of a service, as the settings say."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.ask import Pipeline
from bookbound.errors import NoBook
from bookbound.ports import Index, Store
from bookbound.settings import Settings
from bookbound.volume import EVERY, Volume, newest_first
from bookbound.wire import answering, indexing

if TYPE_CHECKING:
    from bookbound.serve.shelf import Shelf


def shelf(settings: Settings) -> Shelf:
    """The books of the settings' place; where nobody names one, that of the settings is asked."""
    from bookbound.serve.shelf import Shelf
    from bookbound.watch.stations import WatchedIndex, watched

    async def open_(volume: Volume, parts: Pipeline | None) -> Pipeline:
        if parts is None:
            return watched(await answering.pipeline(indexing.naming(settings, volume)))
        if volume.book == EVERY:
            opened = await gathered(settings, parts)
        else:
            opened = await answering.beside(parts, indexing.naming(settings, volume))
        return replace(opened, index=WatchedIndex(opened.index))

    async def published(volume: Volume) -> str:
        if volume.book != EVERY:
            return (await indexing.chosen(indexing.naming(settings, volume)))[1]
        stores = [indexing.store(indexing.naming(settings, each)) for each in await _latest(settings)]
        return " ".join([await store.published() for store in stores])

    return Shelf(open_, published, settings.volume)


async def gathered(settings: Settings, parts: Pipeline | None = None) -> Pipeline:
    """All books as one, with parts that are there already, or else with new ones."""
    from bookbound.retrieve.gathered import Gathered

    latest = await _latest(settings)
    whole = parts or await answering.pipeline(indexing.naming(settings, latest[0]))
    async with AsyncExitStack() as opened:
        if parts is None:
            opened.push_async_callback(whole.close)
        indexes: dict[str, Index] = {}
        for each in latest:
            fresh = parts is None and each is latest[0]
            one = whole if fresh else await answering.beside(whole, indexing.naming(settings, each))
            if not fresh:
                opened.push_async_callback(one.index.close)
            indexes[each.book or one.index.manifest.title] = one.index
        opened.pop_all()
        held = AsyncExitStack() if parts else whole.held
        return replace(whole, index=Gathered(indexes), edition="", others=None, held=held)
    raise AssertionError("what is opened is handed on")


async def store(settings: Settings, volume: Volume | None) -> Store:
    """Where the index of a volume lives, or that of the book that is asked where nobody names one."""
    if volume and volume.book == EVERY:
        raise NoBook("Name one book: what changes an index changes one.")
    named = settings if volume is None else indexing.naming(settings, volume)
    asked, _ = await indexing.chosen(named)
    return indexing.store(indexing.naming(settings, asked))


async def _latest(settings: Settings) -> list[Volume]:
    """The newest edition of each book, in the order of their names; where there is none yet, the unnamed one."""
    books: dict[str, Volume] = {}
    for volume in newest_first(await indexing.volumes(settings)):
        books.setdefault(volume.book, volume)
    return sorted(books.values()) or [Volume()]
