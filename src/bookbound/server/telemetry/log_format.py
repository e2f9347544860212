"""Writes log messages as single lines, readable or JSON, without any text from readers."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from math import isfinite
from time import monotonic
from typing import Any

MAX_FRAMES = 4
MAX_LINE_BYTES = 4096
"""A pipe writes this many bytes at once, so lines of several processes never mix."""
MAX_REPEATS, PERIOD_SECONDS = 20, 10.0
"""How often a warning or error is written in a period; the rest is counted, so that no client can fill the disk."""
MessageKey = tuple[str, int, str]
PACKAGE_LOGGER = "bookbound"
LogValue = str | int | float | bool | None
LogFields = dict[str, LogValue]
LOGGED_REQUEST_ID: ContextVar[str] = ContextVar("logged_request_id", default="")
"""The id of the current request, which is part of each of its log lines."""
log = logging.getLogger("bookbound.server")


def describe_traceback(error: BaseException) -> str:
    """The innermost places of an error's traceback."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return " > ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames)


def configure_logging(log_format: str) -> None:
    """Write our messages, and warnings and uncaught errors of everything else, to standard error in this format."""
    root = logging.getLogger()
    root.handlers = [LineHandler(log_format)]
    root.setLevel(logging.WARNING)
    logging.getLogger(PACKAGE_LOGGER).setLevel(logging.INFO)
    warnings.showwarning = lambda message, *_: log.warning("%s", str(message).strip().partition("\n")[0])
    sys.excepthook = lambda _, error, __: _log_uncaught(error)
    threading.excepthook = lambda args: _log_uncaught(args.exc_value)
    sys.unraisablehook = lambda args: _log_uncaught(args.exc_value)


def format_message(message: str, **event: LogValue) -> str:
    """One of our messages as a line of JSON."""
    known = {"name": log.name, "levelname": logging.getLevelName(logging.INFO), "msg": message, "event": event}
    return encode_line(collect_fields(logging.makeLogRecord(known)), format_json).decode()


def _log_uncaught(error: BaseException | None) -> None:
    log.error("uncaught error in the background", exc_info=error)


class RepeatedMessages:
    """Decides which warnings and errors are written; messages count as the same if only their values differ.

    Other messages, such as the line of each request, are always written.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now, self._period_end = now, 0.0
        self._counts: dict[MessageKey, int] = {}
        self._last: dict[MessageKey, logging.LogRecord] = {}

    def select(self, record: logging.LogRecord) -> Iterator[logging.LogRecord]:
        """Yield what to write now: the counts of the last period, and the message unless it is only counted."""
        if self._now() >= self._period_end:
            yield from self.take_counted()
        if record.levelno < logging.WARNING:
            yield record
            return
        key = record.name, record.levelno, str(record.msg)
        self._counts[key] = self._counts.get(key, 0) + 1
        if self._counts[key] <= MAX_REPEATS:
            yield record
        else:
            self._last[key] = record

    def take_counted(self) -> Iterator[logging.LogRecord]:
        """Yield the last of each message that was only counted, with its count, and begin a new period."""
        counts, last = self._counts, self._last
        self._counts, self._last, self._period_end = {}, {}, self._now() + PERIOD_SECONDS
        for key, record in last.items():
            record.__dict__["event"] = getattr(record, "event", {}) | {"repeated": counts[key] - MAX_REPEATS}
            yield record


class LineHandler(logging.Handler):
    """Writes each message in one piece, and counts those that repeat; one that cannot be written is dropped."""

    def __init__(self, log_format: str, descriptor: int = 2) -> None:
        super().__init__()
        self._formatter, self._descriptor = FORMATTERS[log_format], descriptor
        self._repeated = RepeatedMessages()

    def emit(self, record: logging.LogRecord) -> None:
        for each in self._repeated.select(record):
            self._write(each)

    def flush(self) -> None:
        """Write the counts that are not written yet, at the end of the process."""
        for each in self._repeated.take_counted():
            self._write(each)

    def _write(self, record: logging.LogRecord) -> None:
        with suppress(Exception):
            os.write(self._descriptor, encode_line(collect_fields(record), self._formatter))


def collect_fields(record: logging.LogRecord) -> LogFields:
    """The fields of a log line; an error shows its type and place, never its message.

    Only the first line of other packages' messages is kept, because further lines may contain a reader's words.
    """
    try:
        message = record.getMessage()
    except Exception:  # the arguments do not fit the message
        message = str(record.msg)
    ours = record.name.partition(".")[0] == PACKAGE_LOGGER
    line: LogFields = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message if ours else _first_line(message),
    }
    if request_id := LOGGED_REQUEST_ID.get():
        line["request_id"] = request_id
    line |= getattr(record, "event", {})
    if record.exc_info and (error := record.exc_info[1]):
        line |= {"error": type(error).__name__, "where": describe_traceback(error)}
    return line


def _first_line(message: str) -> str:
    """The first line of a message, or the type of the error if the message is a traceback."""
    lines = message.strip().splitlines() or [""]
    return lines[-1].partition(":")[0] if lines[0].startswith("Traceback") else lines[0]


def encode_line(line: LogFields, formatter: Callable[[LogFields], str]) -> bytes:
    """The formatted line, with its texts truncated until it fits."""
    max_chars = MAX_LINE_BYTES
    while True:
        fields = {name: _to_log_value(value, max_chars) for name, value in line.items()}
        encoded = formatter(fields).encode(errors="replace") + b"\n"
        if len(encoded) <= MAX_LINE_BYTES:
            return encoded
        max_chars //= 2


def format_json(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def format_pretty(line: Mapping[str, Any]) -> str:
    rest = dict(line)
    first = [str(rest.pop(name)) for name in ("time", "level", "logger", "message")]
    text = " ".join([*first, *(f"{name}={value}" for name, value in rest.items() if value is not None)])
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _to_log_value(value: Any, max_chars: int) -> LogValue:
    """A value that JSON can represent."""
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)[:max_chars]


FORMATTERS: dict[str, Callable[[LogFields], str]] = {"json": format_json, "pretty": format_pretty}
