"""Each message is one line that says where something broke, and not what a reader said."""

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

from bookbound.server.telemetry import CURRENT_REQUEST, RequestRecord
from bookbound.server.telemetry.log_format import FORMATTERS, MAX_LINE_BYTES, LineHandler, collect_fields, encode_line

SECRET = "the reader's own words"
ANYTHING = st.text(st.characters(exclude_categories=[]), max_size=3000)


def record(message: object = "all is well", *values: object, name: str = "bookbound.test", **more: Any) -> Any:
    made = logging.makeLogRecord({"name": name, "levelno": logging.ERROR, "levelname": "ERROR", "msg": message})
    made.args = values
    made.__dict__.update(more)
    return made


def broken(make: Callable[[], object]) -> Any:
    """What logging has of an error that is being handled."""
    try:
        make()
    except Exception:
        return sys.exc_info()


@given(ANYTHING, st.dictionaries(st.sampled_from(["face", "status"]), ANYTHING | st.floats() | st.booleans()))
def test_whatever_is_said_is_one_line_of_json_that_a_pipe_takes_in_one_piece(message: str, event: Any) -> None:
    line = encode_line(collect_fields(record("%s", message, event=event)), FORMATTERS["json"])
    assert len(line) <= MAX_LINE_BYTES
    assert line.count(b"\n") == 1
    read = json.loads(line.decode(), parse_constant=pytest.fail)
    assert (read["level"], read["logger"]) == ("error", "bookbound.test")
    assert {"time", "message", *event} <= read.keys()


@given(ANYTHING)
def test_for_people_a_line_is_a_line_that_steers_no_terminal(message: str) -> None:
    line = encode_line(collect_fields(record("%s", message)), FORMATTERS["pretty"])
    assert len(line) <= MAX_LINE_BYTES
    assert line.decode().removesuffix("\n").isprintable()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_does_not_know_is_nothing(number: float) -> None:
    line = encode_line(collect_fields(record(event={"milliseconds": number})), FORMATTERS["json"])
    assert json.loads(line, parse_constant=pytest.fail)["milliseconds"] is None


def test_half_a_character_is_a_question_mark() -> None:
    assert json.loads(encode_line(collect_fields(record("a\ud800b")), FORMATTERS["json"]).decode())["message"] == "a?b"


def test_a_short_message_is_whole_and_a_long_one_begins_as_it_did() -> None:
    assert json.loads(encode_line(collect_fields(record("é%sß", 1)), FORMATTERS["json"]))["message"] == "é1ß"
    read = json.loads(encode_line(collect_fields(record("\x01" * 5000)), FORMATTERS["json"]))
    assert read["message"].startswith("\x01" * 100)
    assert read["logger"] == "bookbound.test"


@pytest.mark.parametrize("form", FORMATTERS)
def test_of_an_error_its_type_and_its_place_are_told_and_not_its_words(form: str) -> None:
    exc_info = broken(lambda: int(SECRET))
    line = encode_line(
        collect_fields(record("it broke", exc_info=exc_info, stack_info=SECRET)), FORMATTERS[form]
    ).decode()
    assert "ValueError" in line
    assert f"{__file__}:" in line
    assert SECRET not in line


def test_of_the_messages_of_others_the_first_line_is_told_and_of_ours_every_one() -> None:
    message = f"Task exception was never retrieved\nfuture: <Task exception=ValueError({SECRET!r})>"
    assert collect_fields(record(message, name="asyncio"))["message"] == "Task exception was never retrieved"
    assert collect_fields(record(message, name="bookbound.server"))["message"] == message
    assert collect_fields(record(message, name="bookbounder"))["message"] != message


def test_words_and_values_that_do_not_go_together_are_told_as_words() -> None:
    assert collect_fields(record("%d questions", "x"))["message"] == "%d questions"


def test_a_line_has_the_id_of_the_request_that_is_being_served() -> None:
    token = CURRENT_REQUEST.set(RequestRecord("GET", {"request_id": "abc"}))
    assert collect_fields(record())["request_id"] == "abc"
    CURRENT_REQUEST.reset(token)
    assert "request_id" not in collect_fields(record())


def test_where_nobody_reads_any_more_the_work_goes_on() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    handler = LineHandler("json", writing)
    handler.handle(record())
    os.close(writing)
    handler.handle(record())


def test_lines_of_several_processes_that_write_at_once_never_mix() -> None:
    code = (
        "import logging; from bookbound.server.telemetry.log_format import speak; speak('json'); log = logging.getLogger('bookbound')\n"
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


def test_what_nobody_catches_and_what_python_warns_of_is_a_line_as_well() -> None:
    code = f"""
import sys, threading, warnings
from bookbound.server.telemetry.log_format import speak
speak("json")
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


def test_libraries_are_heard_from_their_warnings_on_and_we_from_less() -> None:
    code = (
        "import logging; from bookbound.server.telemetry.log_format import speak; speak('pretty')\n"
        "for name in ('httpx', 'bookbound.server'):\n"
        "    logging.getLogger(name).info('news'); logging.getLogger(name).warning('trouble')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert [line.split()[1:] for line in done.stderr.splitlines()] == [
        ["warning", "httpx", "trouble"],
        ["info", "bookbound.server", "news"],
        ["warning", "bookbound.server", "trouble"],
    ]
