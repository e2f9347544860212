"""Whatever a process was doing to an index when it was killed, what is published is whole."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import signal
import threading
from pathlib import Path
from time import perf_counter

from tests.indexing.store import life

from bookbound.indexing.archive import import_index
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.testing import ScriptedEmbedder

KILLS = 200
STEPS = 1200
"""How often a process touches files before it has published once, and a little more. Every second kill is at such a
step, which is the same on a slow machine; the others are at moments, often within the library that keeps vectors."""


async def published(store: EdgeStore) -> str:
    """The digest of what readers open, once each of its chunks was read and one of them found."""
    index = await store.open()
    held = [chunk for sheet in index.manifest.sheets for chunk in await index.chunks(sheet.file)]
    assert len(held) == index.manifest.chunks == len(life.variant(0).pages)
    vector = await ScriptedEmbedder().embed_question("Words of page 11.")
    assert (await index.search("Words of page 11.", vector, 1))[0].chunk.place.file == "page11.md"
    await index.close()
    return index.manifest.digest


def test_after_each_of_200_kills_the_live_index_is_one_that_was_published(memory: Path) -> None:
    chance, processes = random.Random(7), multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.indexing.store.life"])
    store, exported = EdgeStore(memory / "index"), memory / "book.bookbound"
    forms = EdgeStore(memory / "forms")
    known = {asyncio.run(life.publish(forms, life.variant(number))) for number in range(life.VARIANTS)}
    start = perf_counter()
    asyncio.run(life.publish(store, life.variant(0)))
    longest = 2.5 * (perf_counter() - start)
    pause, seen = threading.Event(), set()
    for kill in range(KILLS):
        begun, step = processes.Event(), chance.randrange(1, STEPS) if kill % 2 else 0
        process = processes.Process(target=life.live, args=(str(memory), kill, begun, step))
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
                asyncio.run(import_index(exported, EdgeStore(memory / "moved"), lambda *_: None, force=True)).digest
                in known
            )
    assert len(seen) > 1, "the book changed meanwhile"
    asyncio.run(life.publish(store, life.variant(1), force=True))
    kept = [manifest.generation for manifest in asyncio.run(store.generations())]
    assert sorted(path.name for path in (memory / "index" / "generations").iterdir()) == sorted(kept)
    assert len(kept) <= 3
