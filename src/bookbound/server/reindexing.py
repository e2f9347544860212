"""Re-indexes the book in another process, one at a time for all processes of the server.

The process holds the lock file as long as it runs, so every worker sees whether it runs, also after a kill. It writes
what it does, and at last what it did, into the status file."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from bookbound import filesystem
from bookbound.contracts.http_contract import Problem, ProblemError, ProblemKind
from bookbound.domain.book_ref import BookRef
from bookbound.domain.manifest import utc_now

STATUS_FILE_NAME, LOCK_FILE_NAME = "reindex.json", "reindex.lock"
LOCK_ATTEMPTS, LOCK_PAUSE_SECONDS = 10, 0.1
"""A worker that looks whether the process runs holds the lock for a moment."""
ALREADY_RUNNING = "The book is being indexed already. Wait until that has finished."
UNKNOWN_SOURCE = (
    "The server does not know where the source of this book is. Start it with `--source`, or set `source` together "
    "with the book's `book` and `edition`."
)
NOT_ON_WINDOWS = "On Windows the server cannot index the book. Run: bookbound index"
INTERRUPTED = "Indexing ended before it was finished, so the published index stays as it was. Start it again."
SourceLookup = Callable[[BookRef | None], Awaitable[str | None]]
"""Returns the folder, file or site of a book, by default of the default book, or None if it is not known."""
ProcessStarter = Callable[[int, Path], Awaitable[Process]]
"""Starts the process that indexes the book; it inherits the open lock file and writes the status file."""


class ReindexState(StrEnum):
    """What became of the last re-indexing."""

    IDLE = "idle"
    RUNNING = "running"
    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    FAILED = "failed"


class ReindexStatus(BaseModel):
    """The last re-indexing: its progress, or its result.

    `book` is the book and edition. `stage` is what it does now, and `done` of `total` pages or chunks are finished.
    `changes` counts the pages, and `notices` what could not be read. If it failed, `message` says why.
    """

    state: ReindexState = ReindexState.IDLE
    book: str = ""
    started: str | None = None
    ended: str | None = None
    stage: str = ""
    done: int = 0
    total: int = 0
    generation: str | None = None
    changes: dict[str, int] = Field(default_factory=dict)
    notices: int = 0
    message: str = ""

    def end(self, state: ReindexState, message: str = "") -> ReindexStatus:
        return self.model_copy(update={"state": state, "ended": utc_now(), "stage": "", "message": message})

    def write(self, file: Path) -> None:
        filesystem.write_atomically(file, self.model_dump_json().encode(), mode=0o600)


class Reindexing:
    """Starts re-indexing of the book of the settings, and says how far it is; the files are in `folder`."""

    def __init__(self, folder: Path, book: BookRef, find_source: SourceLookup, start_process: ProcessStarter) -> None:
        self._book, self._folder = str(book), folder
        self._status_file, self._lock_file = folder / STATUS_FILE_NAME, folder / LOCK_FILE_NAME
        self.find_source, self._start_process = find_source, start_process
        self._process: Process | None = None

    def status(self) -> ReindexStatus:
        status = self._read()
        if status.state is ReindexState.RUNNING and not self._is_running():
            status = self._read()  # it may have ended between the two
            if status.state is ReindexState.RUNNING:
                return status.end(ReindexState.FAILED, INTERRUPTED)
        return status

    def check_idle(self) -> None:
        if self._is_running():
            raise ProblemError(Problem(ProblemKind.CONFLICT, 409, ALREADY_RUNNING))

    async def begin(self, book: BookRef | None) -> ReindexStatus:
        """Start indexing a book, unless its source is unknown or another re-indexing runs."""
        if sys.platform == "win32":  # where a process cannot inherit the lock
            raise ProblemError(Problem(ProblemKind.CONFLICT, 409, NOT_ON_WINDOWS))
        if not await self.find_source(book):
            raise ProblemError(Problem(ProblemKind.CONFLICT, 409, UNKNOWN_SOURCE))
        status = ReindexStatus(state=ReindexState.RUNNING, book=self._book, started=utc_now())
        try:
            filesystem.create_private_folder(self._folder)
            handle = os.open(self._lock_file, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                await self._lock(handle)
                status.write(self._status_file)
                self._process = await self._start_process(handle, self._status_file)
            finally:
                os.close(handle)
        except OSError as error:
            reason = f"The book cannot be indexed from here: {self._folder} cannot be written ({error.strerror})."
            advice = "Make it writable, or run: bookbound index"
            raise ProblemError(Problem(ProblemKind.INDEX, 503, f"{reason} {advice}")) from error
        return status

    async def close(self) -> None:
        """End the process if this one started it; the published index stays as it is."""
        if self._process and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _lock(self, handle: int) -> None:
        for _ in range(LOCK_ATTEMPTS):
            if filesystem.try_lock(handle):
                return
            await asyncio.sleep(LOCK_PAUSE_SECONDS)
        raise ProblemError(Problem(ProblemKind.CONFLICT, 409, ALREADY_RUNNING))

    def _is_running(self) -> bool:
        try:
            with self._lock_file.open("rb") as lock:
                return not filesystem.try_lock(lock.fileno(), shared=True)
        except OSError:
            return False  # nobody has ever indexed from here

    def _read(self) -> ReindexStatus:
        """The status in the file, unless it is about a book for which the server was started before."""
        with suppress(OSError, ValidationError):
            status = ReindexStatus.model_validate_json(self._status_file.read_bytes())
            if status.book == self._book:
                return status
        return ReindexStatus(book=self._book)
