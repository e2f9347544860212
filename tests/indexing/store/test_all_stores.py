"""Tests the rules that every store keeps."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qdrant_client import AsyncQdrantClient
from tests.indexing.store.qdrant_server import run_server

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.errors import (
    BookIndexError,
    EmbedderMismatchError,
    IndexLockedError,
    IndexNotFoundError,
    NoEarlierGenerationError,
    SourceError,
)
from bookbound.domain.manifest import Manifest, PageFingerprint
from bookbound.domain.ports import Index, IndexStore
from bookbound.indexing.store import index_format
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.qdrant_store import QdrantStore

Make = Callable[..., Chunk]
Vectors = Callable[..., NDArray[np.float32]]
Publish = Callable[..., Awaitable[Manifest]]
SERVER = os.environ.get("BOOKBOUND_TEST_QDRANT_URL")

# The client's local mode warns that it has no payload indexes.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")


CLUSTERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("cluster", "one shard on the cluster")]


@pytest.fixture(params=["edge", "local mode", "wire", "server", *CLUSTERS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[IndexStore]:
    if request.param == "edge":
        yield EdgeStore(tmp_path / "index")
    elif request.param == "local mode":
        yield QdrantStore(AsyncQdrantClient(location=":memory:"))
    elif request.param == "wire":
        with run_server() as server:
            yield QdrantStore(server.url, timeout=60)
    elif request.param == "server":
        urls = SERVER or request.getfixturevalue("qdrant_node").urls
        yield from _make_store(urls, shards=1, replicas=1)
    else:
        shards = 3 if request.param == "cluster" else 1
        yield from _make_store(request.getfixturevalue("qdrant_cluster").urls, shards=shards, replicas=2)


def _make_store(urls: str, shards: int, replicas: int) -> Iterator[QdrantStore]:
    """Makes a store under a name of its own, and removes its collections."""
    name, key = f"test{uuid.uuid4().hex}", os.environ.get("BOOKBOUND_TEST_QDRANT_KEY") if SERVER else None
    yield QdrantStore(urls, key, name, shards=shards, replicas=replicas, timeout=60)

    async def clear() -> None:
        client = AsyncQdrantClient(url=urls.split(",")[0], api_key=key, check_compatibility=False)
        for collection in (await client.get_collections()).collections:
            if collection.name.startswith(name):
                await client.delete_collection(collection.name)
        await client.close()

    asyncio.run(clear())


def skip_if_sharded(request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["store"] == "cluster":
        pytest.skip("Each shard counts by itself how rare a word is, which shows in a book of six chunks.")


async def read_texts(index: Index) -> set[str]:
    return {passage.chunk.text for passage in await index.search("robot", np.ones(8, np.float32), 100)}


def test_an_empty_store_has_no_index(store: IndexStore) -> None:
    async def go() -> None:
        assert await store.generations() == []
        assert await store.published_generation() == ""
        with pytest.raises(IndexNotFoundError, match="bookbound index"):
            await store.open()

    asyncio.run(go())


def test_readers_do_not_see_an_unpublished_generation(
    store: IndexStore, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors
) -> None:
    async def go() -> None:
        async with store.writer(empty_manifest) as writer:
            await writer.add(chunks, vectors(6))
            with pytest.raises(IndexNotFoundError):
                await store.open()
            await writer.publish()
            index = await store.open()
        assert len(await read_texts(index)) == 6
        await index.close()

    asyncio.run(go())


def test_an_unpublished_generation_is_removed(
    store: IndexStore, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def abandon() -> None:
        async with store.writer(empty_manifest) as writer:
            await writer.add(chunks, vectors(6))
            raise RuntimeError("stop")

    async def go() -> None:
        published = await publish(store, chunks[:2])
        with pytest.raises(RuntimeError, match="stop"):
            await abandon()
        index = await store.open()
        assert index.manifest == published
        assert len(await store.generations()) == 1
        await index.close()

    asyncio.run(go())


def test_new_readers_see_a_new_generation_and_old_readers_the_old_one(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        await publish(store, chunks[:3], title="first")
        old = await store.open()
        await publish(store, chunks[3:], title="second")
        new = await store.open()
        assert (old.manifest.title, new.manifest.title) == ("first", "second")
        assert await read_texts(old) == {chunk.text for chunk in chunks[:3]}
        assert await read_texts(new) == {chunk.text for chunk in chunks[3:]}
        await old.close()
        await new.close()

    asyncio.run(go())


def test_the_outline_has_the_pages_in_the_order_of_the_manifest(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        await publish(store, chunks[::-1])
        index = await store.open()
        outline = await index.outline()
        files = [page.opening.place.file for page in outline.pages]
        assert sorted(files) == sorted({chunk.place.file for chunk in chunks})
        assert [page.opening for page in outline.pages] == [(await index.chunks(file))[0] for file in files]
        assert (outline.word_counts["zyzzyva"], outline.word_counts["parts"]) == (1, 6)
        assert await index.outline() is outline
        await index.close()

    asyncio.run(go())


def test_chunks_come_back_with_their_vectors(
    store: IndexStore, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        expected = vectors(6)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        await publish(store, chunks, expected)
        index = await store.open()
        found = await index.chunks_with_vectors("docs/page-0.md")
        assert [chunk for chunk, _ in found] == chunks[:3]
        np.testing.assert_allclose(np.stack([vector for _, vector in found]), expected[:3], atol=1e-6)
        assert await index.chunks_with_vectors("nowhere.md") == []
        await index.close()

    asyncio.run(go())


def test_the_published_manifest_has_the_real_counts(store: IndexStore, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        published = await publish(store, chunks)
        assert await store.published_generation() == published.generation
        index = await store.open()
        assert index.manifest == published
        assert published.chunks == 6
        assert published.chapters[0].title == "Machines"
        assert published.generation
        assert published.created
        assert published.digest
        await index.close()

    asyncio.run(go())


def test_the_digest_depends_on_the_text_and_not_on_the_order(
    store: IndexStore, chunks: list[Chunk], publish: Publish, chunk: Make
) -> None:
    async def go() -> None:
        first = await publish(store, chunks)
        turned = await publish(store, chunks[::-1])
        other = await publish(store, [*chunks[:5], chunk(5, "Other words.")])
        assert first.digest == turned.digest != other.digest

    asyncio.run(go())


def test_three_generations_are_kept_newest_first(store: IndexStore, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        for title in "abcde":
            await publish(store, chunks[:1], title=title)
        assert [manifest.title for manifest in await store.generations()] == ["e", "d", "c"]

    asyncio.run(go())


def test_a_rollback_publishes_the_generation_before(store: IndexStore, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        for title in "abc":
            await publish(store, chunks[:1], title=title)
        reader = await store.open()
        assert (await store.roll_back()).title == "b"
        index = await store.open()
        assert (reader.manifest.title, index.manifest.title) == ("c", "b")
        assert await read_texts(reader) == await read_texts(index) == {chunks[0].text}
        assert [manifest.title for manifest in await store.generations()] == ["b", "a"]
        await index.close()
        await reader.close()

    asyncio.run(go())


def test_a_rollback_to_a_named_generation_drops_all_newer_ones(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        oldest, _, newest = [await publish(store, chunks[:1], title=title) for title in "abc"]
        for not_earlier in (newest.generation, "unknown"):
            with pytest.raises(NoEarlierGenerationError, match="with this id"):
                await store.roll_back(not_earlier)
        assert len(await store.generations()) == 3
        assert await store.roll_back(oldest.generation) == oldest
        assert await store.generations() == [oldest]

    asyncio.run(go())


def test_a_later_rollback_does_not_return_to_a_dropped_generation(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        for title in "abc":
            await publish(store, chunks[:1], title=title)
        await store.roll_back()
        await publish(store, chunks[:1], title="d")
        assert [manifest.title for manifest in await store.generations()] == ["d", "b", "a"]
        assert [(await store.roll_back()).title for _ in range(2)] == ["b", "a"]

    asyncio.run(go())


def test_a_rollback_without_an_earlier_generation_changes_nothing(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        with pytest.raises(IndexNotFoundError, match="bookbound index"):
            await store.roll_back()
        only = await publish(store, chunks[:1])
        with pytest.raises(BookIndexError, match="no earlier intact generation"):
            await store.roll_back()
        assert await store.generations() == [only]
        await (await store.open()).close()

    asyncio.run(go())


def test_a_book_with_two_pages_of_one_name_is_refused(store: IndexStore, empty_manifest: Manifest) -> None:
    async def go() -> None:
        twice = replace(
            empty_manifest,
            page_fingerprints=(
                PageFingerprint("a.md", "1", "1"),
                PageFingerprint("b.md", "2", "2"),
                PageFingerprint("a.md", "3", "3"),
            ),
        )
        with pytest.raises(SourceError, match=r"same name, a\.md"):
            async with store.writer(twice):
                pass
        assert await store.generations() == []

    asyncio.run(go())


def test_a_second_writer_is_refused_and_the_first_continues(
    store: IndexStore, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        await publish(store, chunks[:1], title="old")
        await publish(store, chunks[:1], title="older")
        async with store.writer(empty_manifest) as writer:
            await writer.add(chunks[:3], vectors(3))
            for second in (publish(store, chunks), store.roll_back()):
                with pytest.raises(IndexLockedError, match="Another process is writing"):
                    await second
            await writer.add(chunks[3:], vectors(3))
            assert (await writer.publish()).chunks == 6
        assert len(await store.generations()) == 3
        await publish(store, chunks)

    asyncio.run(go())


words = st.text(max_size=40)
numbers = st.integers(0, 2**40)
places = st.builds(
    Place,
    file=st.just("page.md"),
    url=words,
    chapter=words,
    title=words,
    headings=st.lists(words, max_size=3).map(tuple),
    anchor=words,
    start=numbers,
    end=numbers,
    page=st.none() | numbers,
)
odd_chunks = st.builds(
    Chunk,
    id=st.uuids().map(str),
    text=words,
    place=places,
    position=numbers,
    spans=st.lists(st.builds(SourceSpan, numbers, numbers, numbers, numbers), max_size=4).map(tuple),
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(odd=st.lists(odd_chunks, min_size=1, max_size=8, unique_by=lambda chunk: chunk.id))
def test_a_chunk_comes_back_exactly_as_it_was_written(store: IndexStore, publish: Publish, odd: list[Chunk]) -> None:
    async def go() -> None:
        await publish(store, odd)
        index = await store.open()
        assert await index.chunks("page.md") == sorted(odd, key=lambda chunk: (chunk.position, chunk.id))
        await index.close()

    asyncio.run(go())


def test_search_finds_by_meaning_without_shared_words(
    store: IndexStore, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        await publish(store, chunks)
        index = await store.open()
        found = await index.search("quite unrelated", vectors(6)[3], 1)
        assert [passage.chunk for passage in found] == [chunks[3]]
        await index.close()

    asyncio.run(go())


def test_search_finds_by_a_rare_word_if_all_vectors_are_equal(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        await publish(store, chunks, np.ones((6, 8), np.float32))
        index = await store.open()
        found = await index.search("Where does the zyzzyva live?", np.ones(8, np.float32), 2)
        assert found[0].chunk == chunks[5]
        await index.close()

    asyncio.run(go())


def test_search_finds_words_of_the_heading(
    store: IndexStore, chunks: list[Chunk], chunk: Make, publish: Publish
) -> None:
    async def go() -> None:
        titled = replace(chunk(2), place=replace(chunk(2).place, headings=("Quaternions",)))
        await publish(store, [*chunks[:2], titled, *chunks[3:]], np.ones((6, 8), np.float32))
        index = await store.open()
        assert (await index.search("quaternion", np.ones(8, np.float32), 1))[0].chunk == titled
        await index.close()

    asyncio.run(go())


def test_a_score_is_the_cosine_and_at_least_zero(
    store: IndexStore, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        stored = 7 * vectors(6)
        stored[1] = -3 * stored[0]
        await publish(store, chunks, stored)
        index = await store.open()
        question = stored[0].astype(np.float64)
        expected = stored @ question / (np.linalg.norm(stored, axis=1) * np.linalg.norm(question))
        for passage in await index.search("gripper", stored[0], 6):
            assert passage.score == pytest.approx(max(0.0, expected[passage.chunk.position]), abs=1e-5)
            assert 0.0 <= passage.score <= 1.0
        await index.close()

    asyncio.run(go())


@pytest.mark.parametrize(("k", "count"), [(0, 0), (1, 1), (4, 4), (6, 6), (500, 6)])
def test_a_search_returns_at_most_k_passages(
    store: IndexStore, chunks: list[Chunk], vectors: Vectors, publish: Publish, k: int, count: int
) -> None:
    async def go() -> None:
        await publish(store, chunks)
        index = await store.open()
        assert len({passage.chunk.id for passage in await index.search("robot", vectors(1)[0], k)}) == count
        await index.close()

    asyncio.run(go())


@pytest.mark.parametrize("query", ["", "the of and", "€ – …", "zzzz"])
def test_a_query_without_known_words_is_searched_by_meaning(
    store: IndexStore, chunks: list[Chunk], vectors: Vectors, publish: Publish, query: str
) -> None:
    async def go() -> None:
        await publish(store, chunks)
        index = await store.open()
        assert (await index.search(query, vectors(6)[4], 1))[0].chunk == chunks[4]
        assert await index.match(query, 5) == []
        await index.close()

    asyncio.run(go())


def test_equal_passages_are_always_in_reading_order(
    request: pytest.FixtureRequest, store: IndexStore, chunk: Make, publish: Publish
) -> None:
    skip_if_sharded(request)

    async def go() -> None:
        same = [replace(chunk(at, "The same words."), place=chunk(0).place) for at in (4, 1, 3, 0, 2)]
        await publish(store, same, np.ones((5, 8), np.float32))
        index = await store.open()
        for _ in range(5):
            found = await index.search("same words", np.ones(8, np.float32), 3)
            assert [passage.chunk.position for passage in found] == [0, 1, 2]
            assert [found.position for found in await index.match("same words", 3)] == [0, 1, 2]
        await index.close()

    asyncio.run(go())


def test_a_rare_word_counts_more_than_a_repeated_common_one(
    request: pytest.FixtureRequest, store: IndexStore, chunk: Make, publish: Publish
) -> None:
    skip_if_sharded(request)

    async def go() -> None:
        common = [chunk(number, "Robot, robot, robot!") for number in range(5)]
        await publish(store, [*common, chunk(5, "Of all the beetles in this book the zyzzyva is the last one.")])
        index = await store.open()
        assert [found.position for found in await index.match("robot zyzzyva", 3)] == [5, 0, 1]
        await index.close()

    asyncio.run(go())


def test_the_words_of_a_heading_are_found_although_its_section_does_not_repeat_them(
    store: IndexStore, chunks: list[Chunk], publish: Publish
) -> None:
    async def go() -> None:
        named = replace(chunks[2], place=replace(chunks[2].place, headings=("Intended audience",)))
        await publish(store, [*chunks[:2], named, *chunks[3:]])
        index = await store.open()
        assert [found.position for found in await index.match("intended audience", 3)] == [2]
        await index.close()

    asyncio.run(go())


def test_match_returns_only_chunks_that_share_a_word(store: IndexStore, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        await publish(store, chunks)
        index = await store.open()
        assert {found.position for found in await index.match("depth gripper", 5)} == {1, 3}
        await index.close()

    asyncio.run(go())


def test_the_chunks_of_a_file_are_in_reading_order(store: IndexStore, chunks: list[Chunk], publish: Publish) -> None:
    async def go() -> None:
        await publish(store, chunks[::-1])
        index = await store.open()
        assert await index.chunks("docs/page-1.md") == chunks[3:]
        assert await index.chunks("docs/page-9.md") == []
        await index.close()

    asyncio.run(go())


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_vector_without_direction_is_refused(
    store: IndexStore, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors, publish: Publish, bad: float
) -> None:
    async def go() -> None:
        stored = vectors(2)
        stored[1] = bad
        async with store.writer(empty_manifest) as writer:
            with pytest.raises(EmbedderMismatchError, match="without direction"):
                await writer.add(chunks[:2], stored)
        await publish(store, chunks[:2])
        index = await store.open()
        with pytest.raises(EmbedderMismatchError, match="without direction"):
            await index.search("robot", stored[1], 1)
        await index.close()

    asyncio.run(go())


def test_vectors_of_another_size_or_number_are_refused(
    store: IndexStore, empty_manifest: Manifest, chunks: list[Chunk], vectors: Vectors, publish: Publish
) -> None:
    async def go() -> None:
        async with store.writer(empty_manifest) as writer:
            with pytest.raises(EmbedderMismatchError, match="8 numbers"):
                await writer.add(chunks[:2], vectors(2)[:, :7])
            with pytest.raises(EmbedderMismatchError, match="2 text"):
                await writer.add(chunks[:2], vectors(3))
        await publish(store, chunks[:2])
        index = await store.open()
        with pytest.raises(EmbedderMismatchError, match="8 numbers"):
            await index.search("robot", vectors(1)[0][:5], 1)
        await index.close()

    asyncio.run(go())


def test_a_chunk_added_again_replaces_the_earlier_one(
    store: IndexStore, empty_manifest: Manifest, chunk: Make, vectors: Vectors
) -> None:
    async def go() -> None:
        async with store.writer(empty_manifest) as writer:
            await writer.add([chunk(0, "Old."), chunk(1), chunk(1, "Twice.")], vectors(3))
            await writer.add([chunk(0, "New.")], vectors(1))
            assert (await writer.publish()).chunks == 2
        index = await store.open()
        assert [found.text for found in await index.chunks("docs/page-0.md")] == ["New.", "Twice."]
        await index.close()

    asyncio.run(go())


def test_an_empty_book_can_be_published(store: IndexStore, empty_manifest: Manifest, vectors: Vectors) -> None:
    async def go() -> None:
        async with store.writer(empty_manifest) as writer:
            await writer.add([], vectors(0))
            assert (await writer.publish()).chunks == 0
        index = await store.open()
        assert await index.search("robot", vectors(1)[0], 5) == []
        assert await index.match("robot", 5) == []
        await index.close()

    asyncio.run(go())


def test_an_older_generation_in_another_format_is_not_listed(
    store: IndexStore, chunks: list[Chunk], publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        with monkeypatch.context() as earlier:
            earlier.setattr(index_format, "FORMAT_VERSION", index_format.FORMAT_VERSION - 1)
            await publish(store, chunks[:1], title="old")
        with pytest.raises(BookIndexError, match=r"older Bookbound.*Index the book again"):
            await store.open()
        with pytest.raises(BookIndexError, match=r"older Bookbound.*Index the book again"):
            await store.generations()
        await publish(store, chunks[:1], title="new")
        assert [manifest.title for manifest in await store.generations()] == ["new"]
        await (await store.open()).close()

    asyncio.run(go())


def test_concurrent_questions_get_the_same_results_as_sequential_ones(
    store: IndexStore, chunk: Make, vectors: Vectors, publish: Publish
) -> None:
    # No two texts are equally long: two copies of a shard may order equal scores differently.
    many = [chunk(number, f"Robot {number} has {number % 7} arms" + " and wheels" * number) for number in range(120)]
    questions = vectors(20, seed=1)

    async def go() -> None:
        await publish(store, many)
        index = await store.open()

        def searches() -> list[Coroutine[Any, Any, object]]:
            return [
                question
                for number in range(20)
                for question in (
                    index.search(f"robot {number}", questions[number], 5),
                    index.match(f"{number % 7} arms", 5),
                    index.chunks(f"docs/page-{number}.md"),
                )
            ]

        alone = [await question for question in searches()]
        assert await asyncio.gather(*searches()) == alone
        tasks = [asyncio.ensure_future(question) for question in searches()]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        left = await asyncio.gather(*tasks, return_exceptions=True)
        assert left[1::2] == alone[1::2]
        assert await asyncio.gather(*searches()) == alone
        await index.close()

    asyncio.run(go())
