"""Readers who ask by every way there is, each question once."""

from __future__ import annotations

import http.client
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from time import perf_counter
from typing import Any
from uuid import UUID, uuid4

STREAM = "/v1/answers as a stream"
WAYS = ("/ask", "/chat", "/api/v1/chat", "/api/query", "/v1/query", "/v1/answers", STREAM)
SELECTED = "A humanoid walks at about 1.2 metres a second, which is a comfortable pace for people."
EVERY = 5
"""One question in so many is about a selection."""
PATIENCE = 120


@dataclass(frozen=True, slots=True)
class Request:
    """One question, the way it was asked, and the status of the whole reply; none where the connection broke."""

    question: str
    way: str
    status: int | None
    milliseconds: float


@dataclass
class Clients:
    """So many readers at once, who ask until they are told to stop."""

    address: str
    number: int
    questions: Sequence[str]
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._turns, self._lock, self._enough = itertools.count(), Lock(), Event()
        self._threads = [Thread(target=self._ask_on, name=f"reader {each}") for each in range(self.number)]
        for each in self._threads:
            each.start()

    @property
    def statuses(self) -> Counter[int | None]:
        return Counter(request.status for request in list(self.requests))

    def stop(self) -> None:
        """Let everybody hear the end of what they asked last."""
        self._enough.set()
        for each in self._threads:
            each.join()

    def _ask_on(self) -> None:
        with closing(Reader(self.address)) as reader:
            while not self._enough.is_set():
                request = self._ask(reader)
                self.requests.append(request)
                if request.status is None:
                    self._enough.wait(0.1)  # whoever was hung up on takes a breath

    def _ask(self, reader: Reader) -> Request:
        with self._lock:
            turn = next(self._turns)
        question = f"{self.questions[turn % len(self.questions)]} (asked as number {turn})"
        way = WAYS[turn % len(WAYS)]
        start = perf_counter()
        status = reader.ask(question, way, SELECTED if turn % EVERY == 0 else None)
        return Request(question, way, status, (perf_counter() - start) * 1000)


class Reader:
    """One reader with a session and a connection, which is kept open as a browser keeps it."""

    def __init__(self, address: str) -> None:
        self._session: UUID = uuid4()
        self._line = http.client.HTTPConnection(address.removeprefix("http://"), timeout=PATIENCE)

    def ask(self, question: str, way: str, selection: str | None) -> int | None:
        """The status of the reply, once all of it is there."""
        headers = {"Content-Type": "application/json"} | ({"Accept": "text/event-stream"} if way == STREAM else {})
        try:
            self._line.request("POST", way.partition(" ")[0], json.dumps(self._body(question, way, selection)), headers)
            response = self._line.getresponse()
            words = response.read()
        except (OSError, http.client.HTTPException):
            self._line.close()
            return None
        # A stream that tells of a trouble began with a good status.
        return 500 if way == STREAM and response.status == 200 and b"event: reply" not in words else response.status

    def close(self) -> None:
        self._line.close()

    def _body(self, question: str, way: str, selection: str | None) -> dict[str, Any]:
        session = {"session_id": str(self._session)} if "query" in way else {}
        named = "selection" if way.startswith("/v1/answers") else "selected_text"
        return {
            "query" if "query" in way else "question": question,
            **({named: selection} if selection else {}),
        } | session
