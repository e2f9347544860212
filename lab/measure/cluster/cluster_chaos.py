"""`python -m lab.measure.cluster.cluster_chaos`: kills nodes and writers at random while readers ask. Linux only."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from lab.measure.cluster.edition_readers import EditionReader, ReaderCounts
from lab.measure.question_sets import OUT
from tests.indexing.store.editions import CHUNKS, PAGE, make_chunks, make_store
from tests.servers.qdrant_nodes import MISSING_MESSAGE, QdrantCluster, find_executable, run_cluster, wait_until

PAUSE_SECONDS, DOWNTIME_SECONDS = (0.2, 2.5), (0.2, 3.0)
READERS = 3
HEALING_SECONDS = 900.0
"""A busy machine may need minutes until a killed node has caught up."""


class WriterProcess:
    """A process that publishes editions, started again with the next edition after a kill."""

    def __init__(self, urls: str) -> None:
        self._urls = urls
        self.tried, self.confirmed, self.refused = [0], [0], set[int]()
        self.outcomes = Counter[str]()
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "lab.measure.cluster.edition_readers", self._urls, str(self.tried[-1] + 1)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        Thread(target=self._read, args=(self._process,), daemon=True).start()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Kills the process and waits until the next one writes."""
        self.kill()
        tries = len(self.tried)
        self.start()
        wait_until(lambda: len(self.tried) > tries, HEALING_SECONDS)

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        for line in process.stdout:
            kind, edition, *_ = line.split()
            if kind == "try":
                self.tried.append(int(edition))
                continue
            self.outcomes[" ".join([kind, *_])] += 1
            if kind == "published":
                self.confirmed.append(int(edition))
            elif kind == "failed":
                self.refused.add(int(edition))


def kill_at_random(cluster: QdrantCluster, writer: WriterProcess, kills: int, seed: int) -> tuple[Counter[str], float]:
    """Kills a node or the writer, waits until the cluster is whole again, and repeats; returns what it killed."""
    chance, killed, slowest = random.Random(seed), Counter[str](), 0.0
    pause = Event()
    for number in range(kills):
        pause.wait(chance.uniform(*PAUSE_SECONDS))
        victim = chance.choice(["node 0", "node 1", "node 2", "writer", "writer"])
        killed[victim] += 1
        start = monotonic()
        if victim == "writer":
            writer.restart()
        else:
            at = int(victim[-1])
            cluster.nodes[at].kill()
            pause.wait(chance.uniform(*DOWNTIME_SECONDS))
            if chance.random() < 0.25:
                killed["writer"] += 1
                writer.restart()
            cluster.restart(at)
            cluster.wait_until_healed(HEALING_SECONDS)
            slowest = max(slowest, monotonic() - start)
        print(f"kill {number + 1}: {victim}, {len(writer.confirmed) - 1} editions published", flush=True)
    return killed, slowest


async def read_while(work: Thread, urls: list[str], counts: ReaderCounts, writer: WriterProcess) -> None:
    """Lets readers ask until the work is done; each begins at another node."""
    stopped = asyncio.Event()
    rotated = [",".join(urls[at:] + urls[:at]) for at in range(len(urls))]
    readers = [EditionReader(rotated[at % len(urls)], counts, writer.confirmed) for at in range(READERS)]
    tasks = [asyncio.create_task(reader.run(stopped)) for reader in readers]
    work.start()
    await asyncio.to_thread(work.join)
    stopped.set()
    await asyncio.gather(*tasks)


async def find_losses(urls: str, writer: WriterProcess) -> list[str]:
    """Reads every kept generation in full from every node and says what is missing or should not be there."""
    lost: list[str] = []
    for url in urls.split(","):
        store = make_store(url)
        index = await store.open()
        edition = int(index.manifest.title)
        texts = {chunk.text for chunk in await index.chunks(PAGE)}
        if texts != {chunk.text for chunk in make_chunks(edition)}:
            lost.append(f"edition {edition} has {len(texts)} of {CHUNKS} chunks")
        if edition < writer.confirmed[-1]:
            lost.append(f"edition {writer.confirmed[-1]} was confirmed, and {edition} is published")
        await index.close()
        kept = [int(manifest.title) for manifest in await store.generations()]
        if len(kept) != min(3, len(writer.confirmed) - 1) or kept != sorted(kept, reverse=True):
            lost.append(f"the kept editions are {kept}")
    return lost


def run(kills: int, seed: int, folder: Path) -> dict[str, object]:
    counts, result = ReaderCounts(), list[tuple[Counter[str], float]]()
    with run_cluster(folder, 3) as cluster:
        writer = WriterProcess(cluster.urls)
        try:
            wait_until(lambda: writer.confirmed[-1] > 0, HEALING_SECONDS)
            urls = [node.url for node in cluster.nodes]
            start = monotonic()
            work = Thread(target=lambda: result.append(kill_at_random(cluster, writer, kills, seed)))
            asyncio.run(read_while(work, urls, counts, writer))
            seconds = monotonic() - start
            assert result, "the cluster did not heal after a kill"
            more = len(writer.confirmed) + 2
            wait_until(lambda: len(writer.confirmed) >= more, HEALING_SECONDS)
        finally:
            writer.kill()
        cluster.wait_until_healed()
        lost = asyncio.run(find_losses(cluster.urls, writer))
    (killed, slowest) = result[0]
    return {
        "seconds": round(seconds),
        "killed": dict(killed),
        "slowest recovery, s": round(slowest, 1),
        "editions": dict(writer.outcomes),
        "questions": dict(counts.outcomes),
        "errors": dict(counts.errors),
        "longest gap of a reader, s": round(counts.longest_gap, 1),
        "mixtures": counts.mixtures,
        "older than confirmed": counts.stale,
        "served although refused": sorted(counts.served & writer.refused),
        "lost": lost,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if not find_executable():
        print(MISSING_MESSAGE)
        return 2
    with tempfile.TemporaryDirectory(prefix="bookbound-cluster-") as folder:
        figures = run(options.kills, options.seed, Path(folder))
    figures["machine"] = {"cores": os.cpu_count(), "load": os.getloadavg()}
    OUT.mkdir(exist_ok=True)
    (OUT / "chaos-cluster.json").write_text(json.dumps(figures, indent=1) + "\n")
    for name, value in figures.items():
        print(f"{name}: {value}")
    wrong = ("mixtures", "older than confirmed", "served although refused", "lost")
    return 1 if any(figures[name] for name in wrong) else 0


if __name__ == "__main__":
    raise SystemExit(main())
