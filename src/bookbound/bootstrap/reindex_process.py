"""Indexes the book again in a process of its own, so that the server keeps answering.

`python -m bookbound.bootstrap.reindex_process STATUS-FILE` reads the pickled settings from standard input, which
keeps keys out of the command line."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import sys
from functools import partial
from pathlib import Path
from time import monotonic

from bookbound.bootstrap.book_catalogue import find_source
from bookbound.bootstrap.components import index_book
from bookbound.contracts.serialization import serialize_error
from bookbound.domain.errors import ConfigError, SourceError
from bookbound.domain.manifest import utc_now
from bookbound.indexing.store.qdrant_reader import SOURCE_SCHEME, CollectionAddress
from bookbound.server.query_log import log_folder
from bookbound.server.reindexing import Reindexing, ReindexState, ReindexStatus
from bookbound.server.telemetry.log_format import configure_logging, describe_traceback
from bookbound.settings import Settings
from bookbound.sources.collection.payload_fields import PayloadReader
from bookbound.sources.crawl.page_discovery import parse_start_url

NICENESS = 10
"""Questions of readers come first."""
REPORT_SECONDS = 0.5
log = logging.getLogger("bookbound.server")


def build_reindexing(settings: Settings) -> Reindexing:
    """Returns what starts this process for a server, with its files next to the query log."""
    start_process = partial(start_reindex_process, settings)
    return Reindexing(log_folder(settings.index), settings.book_ref, partial(find_source, settings), start_process)


async def start_reindex_process(settings: Settings, lock: int, status_file: Path) -> asyncio.subprocess.Process:
    """Starts the process; it keeps the open lock file, which says that it runs, until it ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__, str(status_file)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=(lock,),
    )
    assert process.stdin
    process.stdin.write(pickle.dumps(settings))
    process.stdin.close()
    return process


def reindex(settings: Settings, status_file: Path) -> None:
    """Indexes the book from the source of the settings, and writes progress and result into the file."""
    status = ReindexStatus(state=ReindexState.RUNNING, book=str(settings.book_ref), started=utc_now())
    reported = monotonic()

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal reported
        if stage != status.stage or monotonic() - reported >= REPORT_SECONDS:
            status.stage, status.done, status.total, reported = stage, done, total, monotonic()
            status.write(status_file)

    try:
        result = index_book(parse_source(settings.source or ""), settings, progress)
    except Exception as error:
        log.error("re-indexing failed: %s in %s", type(error).__name__, describe_traceback(error))
        status.end(ReindexState.FAILED, serialize_error(error)["error"]["message"]).write(status_file)
        return
    status.generation, status.notices = result.manifest.generation, len(result.notices)
    names = ("added", "changed", "renamed", "removed")
    status.changes = {name: len(getattr(result.changes, name)) for name in names}
    status.end(ReindexState.PUBLISHED if result.is_published else ReindexState.UNCHANGED).write(status_file)


def check_source(settings: Settings) -> None:
    """Rejects an address that no re-indexing could read, or with a password, because the page shows it."""
    if isinstance(source := parse_source(settings.source or ""), str):
        try:
            if source.startswith(SOURCE_SCHEME):
                PayloadReader(CollectionAddress.parse(source).fields)
            else:
                parse_start_url(source)
        except SourceError as error:
            raise ConfigError(f"{error} It is in the setting `source`.") from None


def parse_source(source: str) -> Path | str:
    """The path of a folder or file, or the address of a site or of a collection."""
    return source if source.startswith(("http://", "https://", SOURCE_SCHEME)) else Path(source)


if __name__ == "__main__":
    if sys.platform != "win32":
        os.nice(NICENESS)
    given: Settings = pickle.load(sys.stdin.buffer)
    configure_logging(given.log_format)
    reindex(given, Path(sys.argv[1]))
