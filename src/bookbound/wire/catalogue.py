"""Which volumes are published, and which of them a name means."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from bookbound.errors import BookboundError, InvalidInput, NoBook, NoIndex
from bookbound.ports import Index
from bookbound.settings import Settings
from bookbound.store.naming import NOTHING_YET
from bookbound.volume import UNNAMED, Volume, newest, newest_first
from bookbound.wire.indexing import store

if TYPE_CHECKING:
    from bookbound.retrieve.editions import Editions

COMPARED = 3
"""With how many other editions an answer is compared, the newest first."""
SHOWN = 5
"""How many volumes are named where none of the wanted name is there."""
AGAIN = 10.0
"""The seconds after which a catalogue is looked up again."""


async def volumes(settings: Settings) -> list[Volume]:
    """Every volume that is published."""
    here = store(settings.naming(UNNAMED))
    named = [volume for name in await here.books() if (volume := _known(name))]
    return [*([UNNAMED] if await here.published() else []), *named]


def _known(name: str) -> Volume | None:
    """The volume of a name that was found; somebody else's folder is none."""
    try:
        return Volume.named(name)
    except InvalidInput:
        return None


def meant(name: Volume, among: Sequence[Volume]) -> Volume:
    """The volume that a name means: an edition itself, and a book the newest of its editions."""
    of = [volume for volume in among if volume.book == name.book and name.edition in ("", volume.edition)]
    if found := newest(of):
        return found
    if not among:
        raise NoIndex(NOTHING_YET)
    there = "; ".join(volume.options or "one without a name" for volume in among[:SHOWN])
    more = f" and {len(among) - SHOWN} more" if len(among) > SHOWN else ""
    raise NoBook(f"There is no such book here{'' if name.book else ' without a name'}. There is: {there}{more}")


async def asked(settings: Settings) -> Settings:
    """The settings with the name of the volume that they mean."""
    return settings.naming(meant(settings.volume, await volumes(settings)))


async def opened(settings: Settings) -> tuple[Volume, Index]:
    """The volume that the settings mean, open."""
    named = await asked(settings)
    return named.volume, await store(named).open()


def others(volume: Volume, among: Sequence[Volume]) -> list[Volume]:
    """The other editions that an answer from a volume is compared with."""
    return [each for each in newest_first(among) if each.book == volume.book and each != volume][:COMPARED]


def editions(settings: Settings, volume: Volume) -> Editions:
    """The other editions of a volume, to be opened when an answer is compared with them; what fails is passed over."""
    from bookbound.retrieve.editions import Editions

    async def open_() -> dict[str, Index]:
        opened: dict[str, Index] = {}
        for other in others(volume, await volumes(settings)):
            with suppress(BookboundError):
                opened[other.edition] = await store(settings.naming(other)).open()
        return opened

    return Editions(open_)


class Catalogue:
    """The volumes that are published, looked up again from time to time, and whenever one is missed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._volumes: list[Volume] = []
        self._looked = -AGAIN

    async def meant(self, name: Volume) -> Volume:
        """The volume that a name means."""
        try:
            return meant(name, await self.volumes())
        except (NoBook, NoIndex):
            self._looked = -AGAIN
            return meant(name, await self.volumes())

    async def volumes(self) -> list[Volume]:
        """Every volume that is published."""
        if (now := asyncio.get_running_loop().time()) >= self._looked + AGAIN:
            self._volumes, self._looked = await volumes(self._settings), now
        return self._volumes

    async def generations(self, named: Sequence[Volume]) -> str:
        """The generations that are published of some volumes, as one text that changes with any of them."""
        stores = [store(self._settings.naming(volume)) for volume in named]
        return " ".join([await each.published() for each in stores])
