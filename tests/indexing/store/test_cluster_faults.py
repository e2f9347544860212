"""Tests what readers and writers see when a node of three real Qdrant nodes fails."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer

import pytest
from tests.docs.blocks import list_blocks
from tests.indexing.store.editions import PAGE, make_chunks, make_manifest, make_store, make_vectors, publish
from tests.servers.qdrant_nodes import MISSING_MESSAGE, QdrantCluster, find_executable, run_cluster

from bookbound.domain.errors import BookboundError, IndexLockedError
from bookbound.domain.manifest import Manifest
from bookbound.indexing.store.qdrant_store import QdrantStore

pytestmark = pytest.mark.slow
GUIDE = "docs/guides/operate-a-cluster.md"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[QdrantCluster]:
    """Three nodes of this test alone, with edition 1 of a book on two of them each."""
    if not find_executable():
        pytest.skip(MISSING_MESSAGE)
    with run_cluster(tmp_path, 3) as running:
        asyncio.run(publish(make_store(running.urls), 1))
        yield running


async def read_edition(store: QdrantStore) -> int:
    """Returns the number of the published edition, which is complete and can be searched."""
    index = await store.open()
    try:
        edition = int(index.manifest.title)
        texts = [chunk.text for chunk in await index.chunks(PAGE)]
        assert texts == [chunk.text for chunk in make_chunks(edition)]
        assert len(await index.search("sentence of edition", make_vectors(edition)[0], 5)) == 5
    finally:
        await index.close()
    return edition


def read(urls: str) -> int:
    return asyncio.run(read_edition(make_store(urls, timeout=60)))


@pytest.mark.parametrize("fault", ["killed", "suspended"])
@pytest.mark.parametrize("number", [0, 2])
def test_answers_and_publishing_go_on_without_a_node(cluster: QdrantCluster, number: int, fault: str) -> None:
    node = cluster.nodes[number]
    node.kill() if fault == "killed" else node.suspend()
    assert read(cluster.urls) == 1
    asyncio.run(publish(make_store(cluster.urls), 2))
    assert read(cluster.urls) == 2
    cluster.restart(number) if fault == "killed" else node.resume()
    cluster.wait_until_healed()
    assert [read(each.url) for each in cluster.nodes] == [2, 2, 2]


@pytest.mark.parametrize("number", [0, 2])
def test_a_node_killed_between_two_batches_costs_no_chunk_of_the_new_edition(
    cluster: QdrantCluster, number: int
) -> None:
    chunks, vectors = make_chunks(2), make_vectors(2)

    async def write() -> None:
        async with make_store(cluster.urls).writer(make_manifest(2)) as writer:
            await writer.add(chunks[:15], vectors[:15])
            cluster.nodes[number].kill()
            await writer.add(chunks[15:], vectors[15:])
            await writer.publish()

    asyncio.run(write())
    assert read(cluster.urls) == 2
    cluster.restart(number)
    cluster.wait_until_healed()
    assert [read(each.url) for each in cluster.nodes] == [2, 2, 2]


def test_a_node_that_its_peers_reach_late_delays_answers_and_changes_none(cluster: QdrantCluster) -> None:
    cluster.delay(1, 0.05)
    assert read(cluster.urls) == 1
    asyncio.run(publish(make_store(cluster.urls), 2))
    cluster.delay(1, 0.0)
    assert [read(each.url) for each in cluster.nodes] == [2, 2, 2]


def test_a_partitioned_node_cannot_publish_and_follows_after_the_partition(cluster: QdrantCluster) -> None:
    cluster.partition(2)
    alone = cluster.nodes[2].url
    with pytest.raises(BookboundError):
        asyncio.run(publish(make_store(alone), 7))
    asyncio.run(publish(make_store(cluster.urls), 2))
    assert read(cluster.urls) == 2
    cluster.heal_partition()
    cluster.wait_until_healed()
    assert [read(each.url) for each in cluster.nodes] == [2, 2, 2]


def test_a_partitioned_node_answers_from_one_whole_edition_or_not_at_all(cluster: QdrantCluster) -> None:
    cluster.partition(0)
    others = ",".join(node.url for node in cluster.nodes[1:])
    asyncio.run(publish(make_store(others), 2))
    for urls in (cluster.nodes[0].url, cluster.urls):
        with suppress(BookboundError):
            assert asyncio.run(read_edition(make_store(urls))) in (1, 2)
    assert read(others) == 2
    cluster.heal_partition()
    cluster.wait_until_healed()
    assert read(cluster.nodes[0].url) == 2


def test_a_switch_without_a_majority_happens_whole_or_not_at_all(cluster: QdrantCluster) -> None:
    store = make_store(cluster.urls)

    def resume() -> None:
        for node in cluster.nodes[1:]:
            node.resume()

    async def switch() -> Manifest:
        async with store.writer(make_manifest(2)) as writer:
            await writer.add(make_chunks(2), make_vectors(2))
            cluster.nodes[1].suspend()
            cluster.nodes[2].suspend()
            Timer(45, resume).start()
            return await writer.publish()

    try:
        asyncio.run(switch())
        editions = {2}
    except BookboundError as error:
        editions = {1, 2} if "may or may not" in str(error) else {1}
    resume()
    cluster.wait_until_healed()
    assert {read(node.url) for node in cluster.nodes} <= editions


def test_of_two_writers_at_two_nodes_the_published_one_is_complete(cluster: QdrantCluster) -> None:
    async def go() -> list[object]:
        stores = (make_store(node.url) for node in cluster.nodes[:2])
        return await asyncio.gather(
            *(publish(store, at + 2) for at, store in enumerate(stores)), return_exceptions=True
        )

    outcomes = asyncio.run(go())
    published = {int(each.title) for each in outcomes if isinstance(each, Manifest)}
    assert all(isinstance(each, Manifest | IndexLockedError) for each in outcomes)
    assert {read(node.url) for node in cluster.nodes} <= (published or {1})


def test_a_node_with_an_empty_disk_is_replaced_by_removing_its_old_name_and_publishing(cluster: QdrantCluster) -> None:
    node = cluster.nodes[2]
    node.kill()
    node.wipe()
    assert read(cluster.urls) == 1
    (forget,) = (block.code for block in list_blocks() if block.document == GUIDE and "DELETE" in block.code)
    commands = forget.replace("http://node-0:6333", cluster.nodes[0].url).replace("http://node-2:6335", node.peer_url)
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands], check=True)
    cluster.restart(2)
    node.wait_until_ready()
    asyncio.run(publish(make_store(cluster.urls), 2))
    cluster.nodes[1].kill()
    assert read(cluster.urls) == 2


def test_a_node_without_disk_space_does_not_stop_answers(tmp_path: Path) -> None:
    if not find_executable():
        pytest.skip(MISSING_MESSAGE)
    (disk := tmp_path / "node-2").mkdir()
    mount = [shutil.which("mount") or "false", "-t", "tmpfs", "-o", "size=400m", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("A small disk needs the rights of root.")
    try:
        with run_cluster(tmp_path, 3) as cluster:
            asyncio.run(publish(make_store(cluster.urls), 1))
            (disk / "rest").write_bytes(b"x" * max(0, shutil.disk_usage(disk).free - 2**20))
            assert read(cluster.urls) == 1
            try:
                asyncio.run(publish(make_store(cluster.urls), 2))
                edition = 2
            except BookboundError:
                edition = 1
            assert read(cluster.urls) == edition
            (disk / "rest").unlink()
            cluster.nodes[2].kill()
            cluster.restart(2)
            cluster.nodes[2].wait_until_ready()
            asyncio.run(publish(make_store(cluster.urls), 3))
            assert read(cluster.urls) == 3
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
