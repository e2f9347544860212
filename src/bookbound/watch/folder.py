"""The folder in which processes that serve together keep their figures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def shared() -> Iterator[None]:
    """A folder for nobody else, which the processes that are started meanwhile find by its variable."""
    with TemporaryDirectory(prefix="bookbound-", ignore_cleanup_errors=True) as folder:
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[VARIABLE]
