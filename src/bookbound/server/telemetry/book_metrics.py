"""Shows the open books of one or several processes, without a series for each generation that was ever open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from bookbound import filesystem
from bookbound.domain.book_ref import BookRef
from bookbound.domain.manifest import Manifest

INFO_LABELS = ("book", "generation", "title", "embedder")
BookRow = tuple[str, str, str, str, int]
"""The labels of a book and its number of chunks."""


class BookMetrics(Collector):
    """Collects the books of this process, or those of all processes that share a folder.

    The files of prometheus-client cannot forget a label, so each process writes its books into a file of its own.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._rows: list[BookRow] = []

    def update(self, books: Mapping[BookRef, Manifest]) -> None:
        rows = sorted(
            (str(ref), each.generation, each.title, each.embedder, each.chunks) for ref, each in books.items()
        )
        if rows == self._rows:
            return
        self._rows = rows
        if self._folder:
            with suppress(OSError):  # metrics never stop an answer
                filesystem.write_atomically(self._folder / f"books_{os.getpid()}.json", json.dumps(rows).encode())

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("bookbound_index_info", "The open indexes: 1.", labels=INFO_LABELS)
        chunks = GaugeMetricFamily("bookbound_index_chunks", "Chunks of an open index.", labels=["book"])
        rows = sorted(set(self._load_rows()))
        for *labels, _ in rows:
            info.add_metric([str(label) for label in labels], 1)
        for book, count in {row[0]: row[-1] for row in sorted(rows, key=lambda row: row[-1])}.items():
            chunks.add_metric([book], count)
        yield from (info, chunks)

    def _load_rows(self) -> Iterator[BookRow]:
        if not self._folder:
            yield from self._rows
            return
        for file in self._folder.glob("books_*.json"):
            try:
                os.kill(int(file.stem.rpartition("_")[2]), 0)
                yield from ((*map(str, labels), int(count)) for *labels, count in json.loads(file.read_bytes()))
            except ProcessLookupError:
                file.unlink(missing_ok=True)
            except FileNotFoundError:  # another process may have removed it first
                continue
