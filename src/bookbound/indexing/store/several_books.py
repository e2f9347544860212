"""Searches several books as one index."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, zip_longest
from uuid import NAMESPACE_OID, uuid5

from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.manifest import Manifest
from bookbound.domain.outline import Outline, OutlinePage
from bookbound.domain.ports import Index, Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline

ALL_BOOKS_TITLE = "All books"


class MultiBookIndex:
    """Open indexes by the names of their books, all of one embedder, searched as one."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._indexes = indexes

    @property
    def manifest(self) -> Manifest:
        manifests = [index.manifest for index in self._indexes.values()]
        return replace(
            manifests[0],
            title=ALL_BOOKS_TITLE,
            kind="several",
            pages=sum(each.pages for each in manifests),
            chunks=sum(each.chunks for each in manifests),
            chapters=tuple(chapter for each in manifests for chapter in each.chapters),
            page_fingerprints=(),
            generation=" ".join(each.generation for each in manifests),
            created=max(each.created for each in manifests),
            digest="",
        )

    async def search(self, words: str, vector: Vectors, k: int, deadline: Deadline = NO_DEADLINE) -> list[Passage]:
        found = await asyncio.gather(*(index.search(words, vector, k, deadline) for index in self._indexes.values()))
        named = [
            [replace(passage, chunk=_add_book_name(name, passage.chunk)) for passage in passages]
            for name, passages in zip(self._indexes, found, strict=True)
        ]
        # The first passages of all books come before the second ones; within a rank the more similar come first.
        ranked = [sorted(filter(None, rank), key=lambda passage: -passage.score) for rank in zip_longest(*named)]
        return list(chain.from_iterable(ranked))[:k]

    async def match(self, words: str, k: int, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        found = await asyncio.gather(*(index.match(words, k, deadline) for index in self._indexes.values()))
        named = [
            [_add_book_name(name, chunk) for chunk in chunks] for name, chunks in zip(self._indexes, found, strict=True)
        ]
        return [chunk for rank in zip_longest(*named) for chunk in rank if chunk][:k]

    async def chunks(self, file: str, deadline: Deadline = NO_DEADLINE) -> list[Chunk]:
        name, inner = self._split_file(file)
        return [_add_book_name(name, chunk) for chunk in await self._indexes[name].chunks(inner, deadline)]

    async def outline(self, deadline: Deadline = NO_DEADLINE) -> Outline:
        outlines = await asyncio.gather(*(index.outline(deadline) for index in self._indexes.values()))
        words: Counter[str] = Counter()
        for outline in outlines:
            words.update(outline.word_counts)
        named = zip(self._indexes, outlines, strict=True)
        pages = (
            OutlinePage(
                _add_book_name(name, page.opening),
                tuple(_add_name_to_place(name, place) for place in page.sections),
            )
            for name, outline in named
            for page in outline.pages
        )
        return Outline(tuple(pages), words)

    async def chunks_with_vectors(self, file: str) -> list[tuple[Chunk, Vectors]]:
        name, inner = self._split_file(file)
        found = await self._indexes[name].chunks_with_vectors(inner)
        return [(_add_book_name(name, chunk), vector) for chunk, vector in found]

    async def close(self) -> None:
        for index in self._indexes.values():
            await index.close()

    def _split_file(self, file: str) -> tuple[str, str]:
        """Returns the book of a file and its name there; both may contain a colon."""
        name = max((name for name in self._indexes if file.startswith(f"{name}:")), key=len)
        return name, file.removeprefix(f"{name}:")


def _add_book_name(name: str, chunk: Chunk) -> Chunk:
    """Returns the chunk with its book in its place and file name, and with an id that is unique among all books."""
    unique_id = str(uuid5(NAMESPACE_OID, f"{name}:{chunk.id}"))
    return replace(chunk, id=unique_id, place=_add_name_to_place(name, chunk.place))


def _add_name_to_place(name: str, place: Place) -> Place:
    return replace(place, book=name, file=f"{name}:{place.file}")
