"""Searches several books as one index."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from bookbound.domain.chunk import Chunk, Passage
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Index

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


ALL_BOOKS_TITLE = "All books"


class MultiBookIndex:
    """Open indexes under the names of their books; all are of one embedder."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._indexes = indexes

    @property
    def manifest(self) -> Manifest:
        """What all of them say of themselves together."""
        held = [index.manifest for index in self._indexes.values()]
        return replace(
            held[0],
            title=ALL_BOOKS_TITLE,
            kind="several",
            pages=sum(each.pages for each in held),
            chunks=sum(each.chunks for each in held),
            chapters=tuple(chapter for each in held for chapter in each.chapters),
            sheets=(),
            generation=" ".join(each.generation for each in held),
            created=max(each.created for each in held),
            digest="",
        )

    async def search(self, words: str, vector: Vectors, k: int) -> list[Passage]:
        found = await asyncio.gather(*(index.search(words, vector, k) for index in self._indexes.values()))
        named = [
            [replace(each, chunk=_add_book_name(name, each.chunk)) for each in of]
            for name, of in zip(self._indexes, found, strict=True)
        ]
        # What one book ranks first goes before what any ranks second; among equals the nearer in meaning leads.
        ranked = [sorted(filter(None, rank), key=lambda passage: -passage.score) for rank in zip_longest(*named)]
        return list(chain.from_iterable(ranked))[:k]

    async def match(self, words: str, k: int) -> list[Chunk]:
        found = await asyncio.gather(*(index.match(words, k) for index in self._indexes.values()))
        named = [[_add_book_name(name, each) for each in of] for name, of in zip(self._indexes, found, strict=True)]
        return [chunk for rank in zip_longest(*named) for chunk in rank if chunk][:k]

    async def chunks(self, file: str) -> list[Chunk]:
        name, inner = self._within(file)
        return [_add_book_name(name, chunk) for chunk in await self._indexes[name].chunks(inner)]

    async def held(self, file: str) -> list[tuple[Chunk, Vectors]]:
        name, inner = self._within(file)
        return [(_add_book_name(name, chunk), vector) for chunk, vector in await self._indexes[name].held(inner)]

    async def close(self) -> None:
        for index in self._indexes.values():
            await index.close()

    def _within(self, file: str) -> tuple[str, str]:
        """The book that a file of ours is in, and what it is called there; either name may hold a colon."""
        name = max((name for name in self._indexes if file.startswith(f"{name}:")), key=len)
        return name, file.removeprefix(f"{name}:")


def _add_book_name(name: str, chunk: Chunk) -> Chunk:
    """A chunk whose place says which book it is in, also in the name of its file, with an id that no other book has."""
    place = replace(chunk.place, book=name, file=f"{name}:{chunk.place.file}")
    return replace(chunk, id=str(uuid5(NAMESPACE_OID, f"{name}:{chunk.id}")), place=place)
