"""Lists the published books, and finds the edition that a name means."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from bookbound.bootstrap.components import build_store
from bookbound.domain.book_ref import ALL_BOOKS, UNNAMED_BOOK, BookRef, find_newest_edition, sort_newest_first
from bookbound.domain.errors import BookNotFoundError, CorruptIndexError, IndexNotFoundError, InvalidInputError
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import IndexStore
from bookbound.indexing.store.index_format import NO_INDEX_MESSAGE
from bookbound.settings import Settings

MAX_COMPARED_EDITIONS = 3
"""The number of other editions, newest first, with which an answer is compared."""


async def list_books(settings: Settings) -> list[BookRef]:
    """Returns every published book; folders that belong to others are ignored."""
    unnamed = build_store(settings.with_book(UNNAMED_BOOK))
    refs = [UNNAMED_BOOK] if await unnamed.published_generation() else []
    for name in await unnamed.books():
        with suppress(InvalidInputError):
            refs.append(BookRef.parse(name))
    return refs


def find_book(wanted: BookRef, books: Sequence[BookRef]) -> BookRef:
    """Returns the edition that a name means: the newest one for a book without an edition."""
    matching = [ref for ref in books if ref.book == wanted.book and wanted.edition in ("", ref.edition)]
    if found := find_newest_edition(matching):
        return found
    if not books:
        raise IndexNotFoundError(NO_INDEX_MESSAGE)
    listed = "; ".join(ref.cli_options or "the book without a name (leave out --book)" for ref in books)
    missing = "such book or edition" if wanted.book else "unnamed book"
    names = [str(ref) for ref in books if ref != UNNAMED_BOOK]
    raise BookNotFoundError(f"This index has no {missing}. Choose one of: {listed}", names)


async def resolve_book_settings(settings: Settings, ref: BookRef | None = None) -> Settings:
    """Returns the settings with the exact edition that they mean, or that another name means."""
    return resolve_editions(settings if ref is None else settings.with_book(ref), await list_books(settings))[0]


def resolve_editions(settings: Settings, books: Sequence[BookRef]) -> tuple[Settings, list[BookRef]]:
    """Returns the settings with the exact edition that they mean, and its newest other editions."""
    ref = find_book(settings.book_ref, books)
    return settings.with_book(ref), list_other_editions(ref, books)


def list_other_editions(ref: BookRef, books: Sequence[BookRef]) -> list[BookRef]:
    others = [each for each in sort_newest_first(books) if each.book == ref.book and each != ref]
    return others[:MAX_COMPARED_EDITIONS]


def list_newest_editions(books: Sequence[BookRef]) -> list[BookRef]:
    """Returns the newest edition of each book by name, the unnamed one last, or only that if there is none."""
    newest: dict[str, BookRef] = {}
    for ref in sort_newest_first(books):
        newest.setdefault(ref.book, ref)
    return sorted(newest.values(), key=lambda ref: (not ref.book, ref)) or [UNNAMED_BOOK]


async def find_book_store(settings: Settings, ref: BookRef | None) -> IndexStore:
    """Returns the store of a book, by default of the book that the settings name."""
    if ref and ref.book == ALL_BOOKS:
        raise BookNotFoundError("Name one book; an index change applies to one book.")
    return build_store(await resolve_book_settings(settings, ref))


async def find_source(settings: Settings, ref: BookRef | None) -> str | None:
    """Returns where the source of a book is; the settings say so only for the very book and edition that they name."""
    if not settings.source or (ref and ref.book == ALL_BOOKS):
        return None
    found = await resolve_book_settings(settings, ref)
    return settings.source if found.book_ref == settings.book_ref else None


REFRESH_SECONDS = 10.0  # a book that is not found is looked for at once, so this only delays newer editions


class BookCatalogue:
    """The published books, listed again from time to time and whenever a book is not found."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._books: list[BookRef] = []
        self._manifests: dict[BookRef, Manifest] = {}
        self._refreshed = -REFRESH_SECONDS

    async def find(self, wanted: BookRef) -> BookRef:
        try:
            return find_book(wanted, await self.books())
        except (BookNotFoundError, IndexNotFoundError):
            self._refreshed = -REFRESH_SECONDS
            return find_book(wanted, await self.books())

    async def books(self) -> list[BookRef]:
        if (now := asyncio.get_running_loop().time()) >= self._refreshed + REFRESH_SECONDS:
            self._books, self._refreshed = await list_books(self._settings), now
        return self._books

    async def manifests(self) -> dict[BookRef, Manifest]:
        """Returns the description of each published book as it is now; one that cannot be read is left out."""
        found: dict[BookRef, Manifest] = {}
        for ref in await list_books(self._settings):
            store = build_store(self._settings.with_book(ref))
            with suppress(CorruptIndexError, IndexNotFoundError):
                known = self._manifests.get(ref)
                is_known = known and known.generation == await store.published_generation()
                found[ref] = known if known and is_known else (await store.generations())[0]
        self._manifests = found
        return found

    async def generations(self, refs: Sequence[BookRef]) -> str:
        """Returns a text that changes with the published generation of any of these books."""
        stores = [build_store(self._settings.with_book(ref)) for ref in refs]
        return " ".join([await each.published_generation() for each in stores])
