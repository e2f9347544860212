"""Lets the tests of indexing write to memory, which is faster than a disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

MEMORY_FOLDER, MIN_FREE_BYTES = Path("/dev/shm"), 1 << 30


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if there is room, or else on the disk; both survive a killed process."""
    if not os.access(MEMORY_FOLDER, os.W_OK) or shutil.disk_usage(MEMORY_FOLDER).free < MIN_FREE_BYTES:
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY_FOLDER, prefix="bookbound-") as folder:
        yield Path(folder)
