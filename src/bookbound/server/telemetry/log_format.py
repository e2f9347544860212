"""Writes log messages as single lines, readable or JSON, without any text from readers."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from bookbound.server.telemetry import CURRENT_REQUEST

MAX_FRAMES = 4


def describe_location(error: BaseException) -> str:
    """The last places that an error came through, outermost first."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    return " > ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames)


MAX_LINE_BYTES = 4096
"""The most bytes of a line: as many as a pipe takes in one piece, so that lines of several processes never mix."""
PACKAGE_LOGGER = "bookbound"
LogValue = str | int | float | bool | None
LogFields = dict[str, LogValue]
log = logging.getLogger("bookbound.server")


def configure_logging(form: str) -> None:
    """From now on this process says all it has to say in lines of this form, on standard error.

    These are our messages, and of all others what is at least a warning; what nobody catches, and what Python warns of.
    """
    root = logging.getLogger()
    root.handlers = [LineHandler(form)]
    root.setLevel(logging.WARNING)
    logging.getLogger(PACKAGE_LOGGER).setLevel(logging.INFO)
    warnings.showwarning = lambda message, *_: log.warning("%s", str(message).strip().partition("\n")[0])
    sys.excepthook = lambda _, error, __: _log_uncaught(error)
    threading.excepthook = lambda broken: _log_uncaught(broken.exc_value)
    sys.unraisablehook = lambda broken: _log_uncaught(broken.exc_value)


def format_message(message: str, **event: LogValue) -> str:
    """A message of ours as a line of JSON, by itself."""
    known = {"name": log.name, "levelname": logging.getLevelName(logging.INFO), "msg": message, "event": event}
    return encode_line(collect_fields(logging.makeLogRecord(known)), format_json).decode()


def _log_uncaught(error: BaseException | None) -> None:
    log.error("something broke that nobody waits for", exc_info=error)


class LineHandler(logging.Handler):
    """Writes each message in one piece; where it cannot be written, the work goes on without."""

    def __init__(self, form: str, file: int = 2) -> None:
        super().__init__()
        self._form, self._file = FORMATTERS[form], file

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):
            os.write(self._file, encode_line(collect_fields(record), self._form))


def collect_fields(record: logging.LogRecord) -> LogFields:
    """What there is to say of a message; of an error its type and where it happened, and nothing that it says.

    Others put into further lines what they were working on, which may be a reader's words: their first line is kept.
    """
    try:
        message = record.getMessage()
    except Exception:  # words and values that do not go together
        message = str(record.msg)
    ours = record.name.partition(".")[0] == PACKAGE_LOGGER
    line: LogFields = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message if ours else message.strip().partition("\n")[0],
    }
    visit = CURRENT_REQUEST.get()
    if visit and visit.request_id:
        line["request_id"] = visit.request_id
    line |= getattr(record, "event", {})
    if record.exc_info and (error := record.exc_info[1]):
        line |= {"error": type(error).__name__, "where": describe_location(error)}
    return line


def encode_line(line: LogFields, form: Callable[[LogFields], str]) -> bytes:
    """The line in this form, with its texts cut until it fits; for half a character there is a question mark."""
    most = MAX_LINE_BYTES
    while len(written := form(_truncate_fields(line, most)).encode(errors="replace") + b"\n") > MAX_LINE_BYTES:
        most //= 2
    return written


def format_json(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def format_pretty(line: Mapping[str, Any]) -> str:
    rest = dict(line)
    lead = [str(rest.pop(name)) for name in ("time", "level", "logger", "message")]
    words = " ".join([*lead, *(f"{name}={value}" for name, value in rest.items() if value is not None)])
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)


def _truncate_fields(line: LogFields, most: int) -> LogFields:
    return {name: _to_log_value(value, most) for name, value in line.items()}


def _to_log_value(value: Any, most: int) -> LogValue:
    """A value that JSON has a form for; text is not longer than `most`."""
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)[:most]


FORMATTERS: dict[str, Callable[[LogFields], str]] = {"json": format_json, "pretty": format_pretty}
