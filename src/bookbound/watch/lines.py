"""What a serving process says: each message one line, for people or as JSON, without a word of a reader's."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from bookbound.watch.broken import where
from bookbound.watch.visit import VISIT

LONGEST = 4096
"""The most bytes of a line: as many as a pipe takes in one piece, so that lines of several processes never mix."""
OURS = "bookbound"
Plain = str | int | float | bool | None
Told = dict[str, Plain]

log = logging.getLogger("bookbound.serve")


def speak(form: str) -> None:
    """From now on this process says all it has to say in lines of this form, on standard error.

    These are our messages, and of all others what is at least a warning; what nobody catches, and what Python warns of.
    """
    root = logging.getLogger()
    root.handlers = [Lines(form)]
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(logging.INFO)
    warnings.showwarning = lambda message, *_: log.warning("%s", str(message).strip().partition("\n")[0])
    sys.excepthook = lambda _, error, __: _uncaught(error)
    threading.excepthook = lambda broken: _uncaught(broken.exc_value)
    sys.unraisablehook = lambda broken: _uncaught(broken.exc_value)


def said(message: str, **event: Plain) -> str:
    """A message of ours as a line of JSON, by itself."""
    known = {"name": log.name, "levelname": logging.getLevelName(logging.INFO), "msg": message, "event": event}
    return fitting(told(logging.makeLogRecord(known)), as_json).decode()


def _uncaught(error: BaseException | None) -> None:
    log.error("something broke that nobody waits for", exc_info=error)


class Lines(logging.Handler):
    """Writes each message in one piece; where it cannot be written, the work goes on without."""

    def __init__(self, form: str, file: int = 2) -> None:
        super().__init__()
        self._form, self._file = FORMS[form], file

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):
            os.write(self._file, fitting(told(record), self._form))


def told(record: logging.LogRecord) -> Told:
    """What there is to say of a message; of an error its type and where it happened, and nothing that it says.

    Others put into further lines what they were working on, which may be a reader's words: their first line is kept.
    """
    try:
        message = record.getMessage()
    except Exception:  # words and values that do not go together
        message = str(record.msg)
    ours = record.name.partition(".")[0] == OURS
    line: Told = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": message if ours else message.strip().partition("\n")[0],
    }
    visit = VISIT.get()
    if visit and visit.request_id:
        line["request_id"] = visit.request_id
    line |= getattr(record, "event", {})
    if record.exc_info and (error := record.exc_info[1]):
        line |= {"error": type(error).__name__, "where": where(error)}
    return line


def fitting(line: Told, form: Callable[[Told], str]) -> bytes:
    """The line in this form, with its texts cut until it fits; for half a character there is a question mark."""
    most = LONGEST
    while len(written := form(_cut(line, most)).encode(errors="replace") + b"\n") > LONGEST:
        most //= 2
    return written


def as_json(line: Mapping[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False, allow_nan=False)


def pretty(line: Mapping[str, Any]) -> str:
    rest = dict(line)
    lead = [str(rest.pop(name)) for name in ("time", "level", "logger", "message")]
    words = " ".join([*lead, *(f"{name}={value}" for name, value in rest.items() if value is not None)])
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)


def _cut(line: Told, most: int) -> Told:
    return {name: _plain(value, most) for name, value in line.items()}


def _plain(value: Any, most: int) -> Plain:
    """A value that JSON has a form for; text is not longer than `most`."""
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value)[:most]


FORMS: dict[str, Callable[[Told], str]] = {"json": as_json, "pretty": pretty}
