"""Simulates readers who ask through every interface, each question once."""

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
from uuid import uuid4

STREAM = "/v1/answers as a stream"
PATHS = ("/ask", "/chat", "/api/v1/chat", "/api/query", "/v1/query", "/v1/answers", STREAM)
SELECTION = "A humanoid walks at about 1.2 metres a second, which is a comfortable pace for people."
SELECTION_INTERVAL = 5
"""Every fifth question is about a selection."""
TIMEOUT_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Request:
    """One question, its path, and the status of the complete reply; None if the connection broke."""

    question: str
    path: str
    status: int | None
    milliseconds: float


@dataclass
class Clients:
    """A number of readers who ask until they are stopped."""

    address: str
    count: int
    questions: Sequence[str]
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._turns, self._lock, self._stopped = itertools.count(), Lock(), Event()
        self._threads = [Thread(target=self._run, name=f"reader {number}") for number in range(self.count)]
        for thread in self._threads:
            thread.start()

    @property
    def statuses(self) -> Counter[int | None]:
        return Counter(request.status for request in list(self.requests))

    def stop(self) -> None:
        """Waits for the replies to the last questions."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        with closing(Reader(self.address)) as reader:
            while not self._stopped.is_set():
                request = self._ask(reader)
                self.requests.append(request)
                if request.status is None:
                    self._stopped.wait(0.1)

    def _ask(self, reader: Reader) -> Request:
        with self._lock:
            turn = next(self._turns)
        question = f"{self.questions[turn % len(self.questions)]} (asked as number {turn})"
        path = PATHS[turn % len(PATHS)]
        start = perf_counter()
        status = reader.ask(question, path, SELECTION if turn % SELECTION_INTERVAL == 0 else None)
        return Request(question, path, status, (perf_counter() - start) * 1000)


class Reader:
    """One reader with a session and a connection that stays open, as in a browser."""

    def __init__(self, address: str) -> None:
        self._session = str(uuid4())
        self._connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=TIMEOUT_SECONDS)

    def ask(self, question: str, path: str, selection: str | None) -> int | None:
        """The status of the complete reply."""
        headers = {"Content-Type": "application/json"} | ({"Accept": "text/event-stream"} if path == STREAM else {})
        body = json.dumps(self._build_body(question, path, selection))
        try:
            self._connection.request("POST", path.partition(" ")[0], body, headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return None
        # A stream that ends in an error begins with status 200.
        return 500 if path == STREAM and response.status == 200 and b"event: reply" not in content else response.status

    def close(self) -> None:
        self._connection.close()

    def _build_body(self, question: str, path: str, selection: str | None) -> dict[str, Any]:
        body: dict[str, Any] = {"query" if "query" in path else "question": question}
        if selection:
            body["selection" if path.startswith("/v1/answers") else "selected_text"] = selection
        if "query" in path:
            body["session_id"] = self._session
        return body
