"""Lists the published books and finds the one that a name refers to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from bookbound.bootstrap.components import store
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef, find_newest_edition, sort_newest_first
from bookbound.domain.errors import BookboundError, BookNotFoundError, IndexNotFoundError, InvalidInputError
from bookbound.domain.ports import Index
from bookbound.indexing.store import NO_INDEX_MESSAGE
from bookbound.settings import Settings

if TYPE_CHECKING:
    from bookbound.answering.retrieve.editions import OtherEditions


MAX_COMPARED_EDITIONS = 3
"""With how many other editions an answer is compared, the newest first."""
MAX_LISTED_BOOKS = 5
"""How many volumes are named where none of the wanted name is there."""
REFRESH_SECONDS = 10.0
"""The seconds after which a catalogue is looked up again."""


async def volumes(settings: Settings) -> list[BookRef]:
    """Every volume that is published."""
    here = store(settings.naming(UNNAMED_BOOK))
    named = [volume for name in await here.books() if (volume := _parse_book_ref(name))]
    return [*([UNNAMED_BOOK] if await here.published() else []), *named]


def _parse_book_ref(name: str) -> BookRef | None:
    """The volume of a name that was found; somebody else's folder is none."""
    try:
        return BookRef.named(name)
    except InvalidInputError:
        return None


def find_book(name: BookRef, among: Sequence[BookRef]) -> BookRef:
    """The volume that a name means: an edition itself, and a book the newest of its editions."""
    of = [volume for volume in among if volume.book == name.book and name.edition in ("", volume.edition)]
    if found := find_newest_edition(of):
        return found
    if not among:
        raise IndexNotFoundError(NO_INDEX_MESSAGE)
    there = "; ".join(volume.options or "one without a name" for volume in among[:MAX_LISTED_BOOKS])
    more = f" and {len(among) - MAX_LISTED_BOOKS} more" if len(among) > MAX_LISTED_BOOKS else ""
    raise BookNotFoundError(
        f"There is no such book here{'' if name.book else ' without a name'}. There is: {there}{more}"
    )


async def asked(settings: Settings) -> Settings:
    """The settings with the name of the volume that they mean."""
    return settings.naming(find_book(settings.volume, await volumes(settings)))


async def open_published_index(settings: Settings) -> tuple[BookRef, Index]:
    """The volume that the settings mean, open."""
    named = await asked(settings)
    return named.volume, await store(named).open()


def list_other_editions(volume: BookRef, among: Sequence[BookRef]) -> list[BookRef]:
    """The other editions that an answer from a volume is compared with."""
    return [each for each in sort_newest_first(among) if each.book == volume.book and each != volume][
        :MAX_COMPARED_EDITIONS
    ]


def build_other_editions(settings: Settings, volume: BookRef) -> OtherEditions:
    """The other editions of a volume, to be opened when an answer is compared with them; what fails is passed over."""
    from bookbound.answering.retrieve.editions import OtherEditions

    async def open_() -> dict[str, Index]:
        opened: dict[str, Index] = {}
        for other in list_other_editions(volume, await volumes(settings)):
            with suppress(BookboundError):
                opened[other.edition] = await store(settings.naming(other)).open()
        return opened

    return OtherEditions(open_)


class BookCatalogue:
    """The volumes that are published, looked up again from time to time, and whenever one is missed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._volumes: list[BookRef] = []
        self._looked = -REFRESH_SECONDS

    async def meant(self, name: BookRef) -> BookRef:
        """The volume that a name means."""
        try:
            return find_book(name, await self.volumes())
        except (BookNotFoundError, IndexNotFoundError):
            self._looked = -REFRESH_SECONDS
            return find_book(name, await self.volumes())

    async def volumes(self) -> list[BookRef]:
        """Every volume that is published."""
        if (now := asyncio.get_running_loop().time()) >= self._looked + REFRESH_SECONDS:
            self._volumes, self._looked = await volumes(self._settings), now
        return self._volumes

    async def generations(self, named: Sequence[BookRef]) -> str:
        """The generations that are published of some volumes, as one text that changes with any of them."""
        stores = [store(self._settings.naming(volume)) for volume in named]
        return " ".join([await each.published() for each in stores])
