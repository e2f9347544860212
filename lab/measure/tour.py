"""Follows one real question and one real indexing run through the code: `python -m lab.measure.tour`."""

from __future__ import annotations

import gc
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import bookbound

PACKAGE = Path(bookbound.__file__).parent
EXAMPLE_BOOK = Path(__file__).resolve().parents[2] / "examples" / "book"
QUESTION = "What are the three parts of a strain wave gear?"


class Hop(NamedTuple):
    """A module that a journey enters, and the functions of it that run, in the order of their first call."""

    module: str
    functions: list[str]


class HopRecorder:
    """Records every function of the package that runs, in any thread; code that runs on import is left out."""

    def __init__(self) -> None:
        self._hops: dict[str, Hop] = {}

    def reset(self) -> None:
        """Forget what ran so far."""
        self._hops.clear()

    @property
    def hops(self) -> list[Hop]:
        """The modules in the order in which they were entered first."""
        return list(self._hops.values())

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)) or _is_import(frame):
            return
        parts = Path(code.co_filename).relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "bookbound"
        functions = self._hops.setdefault(module, Hop(module, [])).functions
        if code.co_qualname not in functions:
            functions.append(code.co_qualname)


@contextmanager
def record_hops() -> Iterator[HopRecorder]:
    """Record this thread and every thread that starts meanwhile."""
    recorder = HopRecorder()
    gc.collect()  # Otherwise what ran before may be finalized during the journey.
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        yield recorder
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__", "").startswith("bookbound"):
            return True
        frame = frame.f_back
    return False


def trace_indexing(folder: Path) -> list[Hop]:
    """The hops of indexing the example book."""
    with record_hops() as recorder:
        bookbound.index(EXAMPLE_BOOK, folder)
    return recorder.hops


def trace_opening(folder: Path) -> list[Hop]:
    """The hops of opening an indexed book."""
    with record_hops() as recorder, bookbound.open(folder):
        return recorder.hops


def trace_question(folder: Path) -> list[Hop]:
    """The hops of one question to an open book."""
    with record_hops() as recorder, bookbound.open(folder) as book:
        recorder.reset()
        book.ask(QUESTION)
        return recorder.hops


def main() -> None:
    """Print each journey, hop by hop."""
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        journeys: dict[str, Callable[[Path], list[Hop]]] = {
            "Indexing a book": trace_indexing,
            "Opening a book": trace_opening,
            "Answering a question": trace_question,
        }
        for title, trace in journeys.items():
            hops = trace(index)
            print(f"{title}: {len(hops)} modules")
            for number, hop in enumerate(hops, 1):
                print(f"{number:3} {hop.module}: {', '.join(hop.functions)}")
            print()


if __name__ == "__main__":
    main()
