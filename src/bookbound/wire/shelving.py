"""Builds what holds the open books of a service, as the settings say."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from bookbound.ask import Pipeline
from bookbound.errors import NoBook, NoIndex
from bookbound.ports import Index, Store
from bookbound.settings import Settings
from bookbound.volume import EVERY, UNNAMED, Volume, newest_first
from bookbound.wire import answering, indexing
from bookbound.wire.catalogue import Catalogue, asked, others, volumes

if TYPE_CHECKING:
    from bookbound.serve.shelf import Shelf


def shelf(settings: Settings) -> Shelf:
    """The books of the settings' place; where nobody names one, that of the settings is asked."""
    from bookbound.serve.shelf import Shelf
    from bookbound.watch.stations import WatchedIndex, watched

    catalogue = Catalogue(settings)

    async def open_(volume: Volume, parts: Pipeline | None) -> Pipeline:
        named = settings.naming(volume)
        if parts is None:
            return watched(await answering.pipeline(named))
        opened = await (gathered(settings, parts) if volume.book == EVERY else answering.beside(parts, named))
        return replace(opened, index=WatchedIndex(opened.index))

    async def published(volume: Volume) -> str:
        try:
            if volume.book == EVERY:
                return await catalogue.generations(latest(await catalogue.volumes()))
            one = await catalogue.meant(volume)
        except (NoBook, NoIndex):
            return ""
        return await catalogue.generations([one, *others(one, await catalogue.volumes())])

    return Shelf(open_, published, settings.volume)


async def gathered(settings: Settings, parts: Pipeline | None = None) -> Pipeline:
    """All books as one, with parts that are there already, or else with new ones."""
    from bookbound.retrieve.gathered import Gathered

    newest = latest(await volumes(settings))
    whole = parts or await answering.pipeline(settings.naming(newest[0]))
    async with AsyncExitStack() as opened:
        if parts is None:
            opened.push_async_callback(whole.close)
        indexes: dict[str, Index] = {}
        for each in newest:
            fresh = parts is None and each is newest[0]
            one = whole if fresh else await answering.beside(whole, settings.naming(each))
            if not fresh:
                opened.push_async_callback(one.index.close)
            title = one.index.manifest.title
            indexes[each.book or (f"{title} (without a name)" if title in indexes else title)] = one.index
        opened.pop_all()
        held = AsyncExitStack() if parts else whole.held
        return replace(whole, index=Gathered(indexes), edition="", others=None, held=held)
    raise AssertionError("what is opened is handed on")


async def store(settings: Settings, volume: Volume | None) -> Store:
    """Where the index of a volume lives, or that of the book that is asked where nobody names one."""
    if volume and volume.book == EVERY:
        raise NoBook("Name one book: what changes an index changes one.")
    named = settings if volume is None else settings.naming(volume)
    return indexing.store(await asked(named))


def latest(among: Sequence[Volume]) -> list[Volume]:
    """The newest edition of each book in the order of their names, last the unnamed one; alone where there is none."""
    books: dict[str, Volume] = {}
    for volume in newest_first(among):
        books.setdefault(volume.book, volume)
    return sorted(books.values(), key=lambda volume: (not volume.book, volume)) or [UNNAMED]
