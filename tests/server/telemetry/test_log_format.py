"""Each message is one line, which shows the place of an error but no text from readers."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.server.telemetry.log_format import (
    FORMATTERS,
    LOGGED_REQUEST_ID,
    MAX_LINE_BYTES,
    MAX_REPEATS,
    PERIOD_SECONDS,
    LineHandler,
    RepeatedMessages,
    collect_fields,
    encode_line,
)

SECRET = "the reader's own words"
ANYTHING = st.text(st.characters(exclude_categories=[]), max_size=3000)


def record(message: object = "all is well", *values: object, name: str = "bookbound.test", **more: Any) -> Any:
    made = logging.makeLogRecord({"name": name, "levelno": logging.ERROR, "levelname": "ERROR", "msg": message})
    made.args = values
    made.__dict__.update(more)
    return made


def make_exc_info(fail: Callable[[], object]) -> Any:
    try:
        fail()
    except Exception:
        return sys.exc_info()


@given(ANYTHING, st.dictionaries(st.sampled_from(["contract", "status"]), ANYTHING | st.floats() | st.booleans()))
def test_every_message_is_one_line_of_json_that_a_pipe_writes_at_once(message: str, event: Any) -> None:
    line = encode_line(collect_fields(record("%s", message, event=event)), FORMATTERS["json"])
    assert len(line) <= MAX_LINE_BYTES
    assert line.count(b"\n") == 1
    read = json.loads(line.decode(), parse_constant=pytest.fail)
    assert (read["level"], read["logger"]) == ("error", "bookbound.test")
    assert {"time", "message", *event} <= read.keys()


@given(ANYTHING)
def test_a_readable_line_contains_no_control_characters(message: str) -> None:
    line = encode_line(collect_fields(record("%s", message)), FORMATTERS["pretty"])
    assert len(line) <= MAX_LINE_BYTES
    assert line.decode().removesuffix("\n").isprintable()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_cannot_represent_is_null(number: float) -> None:
    line = encode_line(collect_fields(record(event={"milliseconds": number})), FORMATTERS["json"])
    assert json.loads(line, parse_constant=pytest.fail)["milliseconds"] is None


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert json.loads(encode_line(collect_fields(record("a\ud800b")), FORMATTERS["json"]).decode())["message"] == "a?b"


def test_a_long_message_is_truncated_and_a_short_one_is_not() -> None:
    assert json.loads(encode_line(collect_fields(record("é%sß", 1)), FORMATTERS["json"]))["message"] == "é1ß"
    read = json.loads(encode_line(collect_fields(record("\x01" * 5000)), FORMATTERS["json"]))
    assert read["message"].startswith("\x01" * 100)
    assert read["logger"] == "bookbound.test"


@pytest.mark.parametrize("form", FORMATTERS)
def test_an_error_shows_its_type_and_place_but_not_its_message(form: str) -> None:
    exc_info = make_exc_info(lambda: int(SECRET))
    line = encode_line(
        collect_fields(record("it broke", exc_info=exc_info, stack_info=SECRET)), FORMATTERS[form]
    ).decode()
    assert "ValueError" in line
    assert f"{__file__}:" in line
    assert SECRET not in line


def test_only_the_first_line_of_other_packages_messages_is_logged() -> None:
    message = f"Task exception was never retrieved\nfuture: <Task exception=ValueError({SECRET!r})>"
    assert collect_fields(record(message, name="asyncio"))["message"] == "Task exception was never retrieved"
    assert collect_fields(record(message, name="bookbound.server"))["message"] == message
    assert collect_fields(record(message, name="bookbounder"))["message"] != message


def test_a_message_that_does_not_fit_its_arguments_is_logged_without_them() -> None:
    assert collect_fields(record("%d questions", "x"))["message"] == "%d questions"


def test_a_line_has_the_id_of_its_request() -> None:
    token = LOGGED_REQUEST_ID.set("abc")
    assert collect_fields(record())["request_id"] == "abc"
    LOGGED_REQUEST_ID.reset(token)
    assert "request_id" not in collect_fields(record())


def test_a_closed_pipe_does_not_stop_the_work() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    handler = LineHandler("json", writing)
    handler.handle(record())
    os.close(writing)
    handler.handle(record())


@pytest.mark.slow
def test_lines_of_several_processes_never_mix() -> None:
    code = (
        "import logging; from bookbound.server.telemetry.log_format import configure_logging\n"
        "configure_logging('json'); log = logging.getLogger('bookbound')\n"
        "for turn in range(200): log.info('%s', str(turn) * 5000)"
    )
    reading, writing = os.pipe()
    writers = [subprocess.Popen([sys.executable, "-c", code], stderr=writing) for _ in range(3)]
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        lines = [json.loads(line) for line in pipe]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(lines) == 600
    assert all(set(line["message"]) <= set("0123456789") for line in lines)


def test_uncaught_errors_and_warnings_are_log_lines() -> None:
    code = f"""
import sys, threading, warnings
from bookbound.server.telemetry.log_format import configure_logging
configure_logging("json")
warnings.warn("Mind the gap.\\n{SECRET}")
thread = threading.Thread(target=lambda: int({SECRET!r}))
thread.start(); thread.join()
class Unraisable:
    def __del__(self): raise KeyError({SECRET!r})
Unraisable()
raise RuntimeError({SECRET!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert (lines[0]["message"], lines[0]["logger"]) == ("Mind the gap.", "bookbound.server")
    assert [line["error"] for line in lines[1:]] == ["ValueError", "KeyError", "RuntimeError"]
    assert SECRET not in done.stderr


def test_libraries_log_warnings_and_we_log_information() -> None:
    code = (
        "import logging; from bookbound.server.telemetry.log_format import configure_logging\n"
        "configure_logging('pretty')\n"
        "for name in ('httpx', 'bookbound.server'):\n"
        "    logging.getLogger(name).info('news'); logging.getLogger(name).warning('failure')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert [line.split()[1:] for line in done.stderr.splitlines()] == [
        ["warning", "httpx", "failure"],
        ["info", "bookbound.server", "news"],
        ["warning", "bookbound.server", "failure"],
    ]


def test_a_warning_that_repeats_is_counted_and_every_request_has_its_line() -> None:
    now, lines = [0.0], list[bytes]()
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    handler = LineHandler("json", write_end)
    handler._repeated = RepeatedMessages(lambda: now[0])
    for number in range(1000):
        handler.handle(record("connection %d is refused", number))
        lines += os.read(read_end, 1 << 16).splitlines() if number < MAX_REPEATS else []
    now[0] = PERIOD_SECONDS + 1
    handler.handle(record("another message"))
    handler.close()
    lines += os.read(read_end, 1 << 16).splitlines()
    messages = [json.loads(line) for line in lines]
    assert [each["message"] for each in messages[:MAX_REPEATS]] == [
        f"connection {number} is refused" for number in range(MAX_REPEATS)
    ]
    assert [(each["message"], each.get("repeated")) for each in messages[MAX_REPEATS:]] == [
        ("connection 999 is refused", 1000 - MAX_REPEATS),
        ("another message", None),
    ]
    for _ in range(2 * MAX_REPEATS):
        handler.handle(record("request", levelno=logging.INFO))
    assert len(os.read(read_end, 1 << 16).splitlines()) == 2 * MAX_REPEATS
    os.close(read_end)
    os.close(write_end)


def test_counted_messages_are_written_when_the_process_ends() -> None:
    code = (
        "import logging; from bookbound.server.telemetry.log_format import configure_logging\n"
        "configure_logging('json')\n"
        "for _ in range(500): logging.getLogger('bookbound.test').warning('again')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    counts = [json.loads(line).get("repeated") for line in done.stderr.splitlines()]
    assert counts == [*[None] * MAX_REPEATS, 500 - MAX_REPEATS]


def test_a_traceback_as_a_message_of_another_package_shows_the_type_of_its_error() -> None:
    text = f'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: {SECRET}\n'
    assert collect_fields(record(text, name="uvicorn.error"))["message"] == "ValueError"
