"""Tests that a complete index is published whenever a process is killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import signal
import threading
from pathlib import Path
from time import perf_counter

import pytest
from tests.indexing.store import changing_book

from bookbound.indexing.archive import import_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.testing import ScriptedEmbedder

KILLS = 200
STEPS = 1200
"""The number of file operations until a process has published once, and a few more. Every second kill happens at such
an operation, which does not depend on the speed of the machine; the others happen at a random time."""


async def published(store: EdgeStore) -> str:
    """Returns the digest of the published index, whose chunks can all be read and found."""
    index = await store.open()
    chunks = [chunk for page in index.manifest.page_fingerprints for chunk in await index.chunks(page.file)]
    assert len(chunks) == index.manifest.chunks == len(changing_book.make_variant(0).pages)
    (last,) = (chunk for chunk in chunks if chunk.place.file == "page11.md")
    vector = await ScriptedEmbedder().embed_question(last.embedding_text)
    assert (await index.search(last.text, vector, 1))[0].chunk == last
    await index.close()
    return index.manifest.digest


@pytest.mark.slow
@pytest.mark.timeout(600)  # it starts and kills 200 processes
def test_after_each_kill_a_complete_index_is_published(tmp_path: Path) -> None:
    chance, processes = random.Random(7), multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.indexing.store.changing_book"])
    store, exported = EdgeStore(tmp_path / "index"), tmp_path / "book.bookbound"
    forms = EdgeStore(tmp_path / "forms")
    known = {
        asyncio.run(changing_book.publish(forms, changing_book.make_variant(number)))
        for number in range(changing_book.VARIANTS)
    }
    start = perf_counter()
    asyncio.run(changing_book.publish(store, changing_book.make_variant(0)))
    longest = 2.5 * (perf_counter() - start)
    pause, seen = threading.Event(), set()
    for kill in range(KILLS):
        begun, step = processes.Event(), chance.randrange(1, STEPS) if kill % 2 else 0
        process = processes.Process(target=changing_book.change_until_killed, args=(str(tmp_path), kill, begun, step))
        process.start()
        begun.wait()
        if not step:
            pause.wait(chance.uniform(0, longest))
            process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        found = asyncio.run(published(store))
        assert found in known, f"kill {kill}"
        seen.add(found)
        if exported.exists() and not kill % 20:
            assert (
                asyncio.run(import_index(exported, EdgeStore(tmp_path / "moved"), lambda *_: None, force=True)).digest
                in known
            )
    assert len(seen) > 1, "the book changed meanwhile"
    asyncio.run(changing_book.publish(store, changing_book.make_variant(1), force=True))
    kept = [manifest.generation for manifest in asyncio.run(store.generations())]
    assert sorted(path.name for path in (tmp_path / "index" / "generations").iterdir()) == sorted(kept)
    assert len(kept) <= 3
