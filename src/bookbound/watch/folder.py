"""The folder in which processes that serve together keep their figures."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from bookbound.errors import BadSetup

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
ROOM = 1 << 20
"""The bytes that a process needs for its figures of one kind, with much to spare."""


@contextmanager
def shared() -> Iterator[None]:
    """A folder for nobody else, which the processes that are started meanwhile find by its variable."""
    with TemporaryDirectory(prefix="bookbound-", ignore_cleanup_errors=True) as folder:
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[VARIABLE]


def reserve(folder: Path, kinds: Iterable[str]) -> None:
    """Take the room for the figures of this process: it maps these files, and would die where a full disk has none."""
    try:
        for kind in kinds:
            with suppress(FileExistsError), (folder / f"{kind}_{os.getpid()}.db").open("xb") as file:
                file.write(bytes(ROOM))
    except OSError as trouble:
        raise BadSetup(
            f"The figures of the processes find no room in {folder.parent} ({trouble.strerror}). "
            "Free some, name another folder by TMPDIR, or set BOOKBOUND_METRICS=off."
        ) from trouble
