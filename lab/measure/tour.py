"""`python -m lab.measure.tour`: follows a question and an indexing run through the code, and counts modules."""

from __future__ import annotations

import gc
import json
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from types import CodeType, FrameType
from typing import NamedTuple

import bookbound
from bookbound.server import uvicorn_server
from bookbound.settings import Settings

PACKAGE = Path(bookbound.__file__).parent
EXAMPLE_BOOK = Path(__file__).resolve().parents[2] / "examples" / "book"
QUESTION = "What are the three parts of a strain wave gear?"
IDLE_SECONDS, SETTLE_SECONDS = 2.5, 0.5
"""How long what an idle server does again and again is noted, and how long a request may go on after its reply."""
BACKGROUND_THREADS = {"query-log"}
"""Threads that work on a question when it has its reply."""


class Hop(NamedTuple):
    """A module that a journey enters, and the functions of it that run, in the order of their first call."""

    module: str
    functions: list[str]


class HopRecorder:
    """Records every function of the package that runs, in any thread; code that runs on import is left out."""

    def __init__(self) -> None:
        self._hops: dict[str, Hop] = {}
        self._roots, self._ignored = set[CodeType](), set[CodeType]()

    def reset(self) -> None:
        """Forgets what ran so far."""
        self._hops.clear()
        self._roots.clear()

    def ignore_what_ran(self) -> None:
        """Forgets what ran so far, and leaves out what the same outermost functions run from here on."""
        self._ignored |= self._roots
        self.reset()

    @property
    def hops(self) -> list[Hop]:
        """The modules in the order in which they were entered first."""
        return [Hop(hop.module, list(hop.functions)) for hop in list(self._hops.values())]

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        root = _find_root(frame)
        if root is None or root in self._ignored or threading.current_thread().name in BACKGROUND_THREADS:
            return
        self._roots.add(root)
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


def _find_root(frame: FrameType | None) -> CodeType | None:
    """The outermost function of the package that is running; None while a module of it is imported."""
    root = None
    while frame is not None:
        if frame.f_code.co_filename.startswith(str(PACKAGE)):
            if frame.f_code.co_name == "<module>":
                return None
            root = frame.f_code
        frame = frame.f_back
    return root


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
    """The hops of a question to a running server, from HTTP to the reply, without what the server does when idle.

    It is asked twice, because what a server does rarely can fall into one question.
    """
    with record_hops() as recorder, uvicorn_server.bind_socket("127.0.0.1", 0) as listener:
        url = f"{uvicorn_server.socket_url(listener)}/v1/answers"
        with uvicorn_server.serve_in_thread(listener, Settings(index=folder)):
            _ask(url)  # opens the book
            sleep(2 * SETTLE_SECONDS)
            recorder.reset()
            sleep(IDLE_SECONDS)
            recorder.ignore_what_ran()
            first, second = _record_question(recorder, url), _record_question(recorder, url)
    both = {hop.module for hop in first} & {hop.module for hop in second}
    return [hop for hop in first if hop.module in both]


def _record_question(recorder: HopRecorder, url: str) -> list[Hop]:
    recorder.reset()
    _ask(url)
    sleep(SETTLE_SECONDS)
    return recorder.hops


def _ask(url: str) -> None:
    body, headers = json.dumps({"question": QUESTION}).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=120) as reply:
        reply.read()


def main() -> None:
    """Print each journey, hop by hop."""
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        journeys: dict[str, Callable[[Path], list[Hop]]] = {
            "Indexing a book": trace_indexing,
            "Opening a book": trace_opening,
            "Answering a question, from HTTP to the reply": trace_question,
        }
        for title, trace in journeys.items():
            hops = trace(index)
            print(f"{title}: {len(hops)} modules")
            for number, hop in enumerate(hops, 1):
                print(f"{number:3} {hop.module}: {', '.join(hop.functions)}")
            print()


if __name__ == "__main__":
    main()
