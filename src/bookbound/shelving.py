"""Builds what holds the open books of a service, as the settings say."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound import indexing, wire
from bookbound.ask import Pipeline
from bookbound.errors import NoBook
from bookbound.ports import Index, Store
from bookbound.settings import Settings
from bookbound.volume import EVERY, Volume, newest

if TYPE_CHECKING:
    from bookbound.serve.shelf import Shelf


def shelf(settings: Settings) -> Shelf:
    """The books of the settings' place; where nobody names one, that of the settings is asked."""
    from bookbound.serve.shelf import Shelf
    from bookbound.watch.stations import WatchedIndex, watched

    async def open_(volume: Volume, parts: Pipeline | None) -> Pipeline:
        if parts is None:
            return watched(await wire.pipeline(indexing.naming(settings, volume)))
        if volume.book == EVERY:
            opened = await gathered(settings, parts)
        else:
            opened = await wire.beside(parts, settings, *await _meant(settings, volume))
        return replace(opened, index=WatchedIndex(opened.index))

    async def published(volume: Volume) -> str:
        stores = [indexing.store(indexing.naming(settings, each)) for each in await _meant(settings, volume)]
        return " ".join([await store.published() for store in stores])

    return Shelf(open_, published, Volume(settings.book or "", settings.edition or ""))


async def gathered(settings: Settings, parts: Pipeline | None = None) -> Pipeline:
    """All books as one, with parts that are there already, or else with new ones."""
    from bookbound.retrieve.gathered import Gathered

    meant = await _meant(settings, Volume(EVERY))
    whole = parts or await wire.pipeline(indexing.naming(settings, meant[0]))
    async with AsyncExitStack() as opened:
        if parts is None:
            opened.push_async_callback(whole.close)
        indexes: dict[str, Index] = {}
        for each in meant:
            fresh = parts is None and each is meant[0]
            one = whole if fresh else await wire.beside(whole, settings, each)
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
    return indexing.store(indexing.naming(settings, await indexing.chosen(named)))


async def _meant(settings: Settings, volume: Volume) -> list[Volume]:
    """The volumes that a name stands for: the newest edition of each book, or one."""
    if volume.book != EVERY:
        return [await indexing.chosen(indexing.naming(settings, volume))]
    editions: dict[str, list[Volume]] = {}
    for each in await indexing.volumes(settings):
        editions.setdefault(each.book, []).append(each)
    return [latest for of in editions.values() if (latest := newest(of))] or [Volume()]
