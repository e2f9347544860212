"""How errors are reported, and their exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from bookbound.cli.exit_codes import EXIT_CODES_BY_ERROR, exit_on_error
from bookbound.domain import errors


def list_subclasses(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from list_subclasses(child)


def exit_code(error: BaseException) -> int:
    with pytest.raises(typer.Exit) as end, exit_on_error():
        raise error
    return end.value.exit_code


def test_each_type_of_error_has_its_exit_code() -> None:
    expected = {
        errors.InvalidInputError: 4,
        errors.ServiceError: 3,
        errors.ServiceUnreachableError: 3,
        errors.ServiceTimeoutError: 3,
    }
    expected |= {errors.ServiceRateLimitError: 3, errors.ServiceAuthenticationError: 3, errors.ServiceResponseError: 3}
    for kind in (kind for kind in list_subclasses(errors.BookboundError) if kind.__module__ == errors.__name__):
        given: dict[str, Any] = {"retry_after": 1.0} if kind is errors.OverloadedError else {}
        given |= {"service": "x"} if issubclass(kind, errors.ServiceError) else {}
        assert exit_code(kind("words", **given)) == expected.get(kind, 2), kind


def test_a_bug_has_its_own_exit_code_and_hides_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(ValueError("a reader's secret")) == 70
    shown = capsys.readouterr()
    assert "ValueError" in shown.err
    assert "secret" not in shown.err + shown.out
    assert "Traceback" not in shown.err


def test_a_file_error_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(PermissionError(13, "Permission denied", "/index")) == 2
    assert capsys.readouterr().err == "Error: Permission denied: /index\n"


def test_an_interruption_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


def test_the_debug_variable_shows_the_traceback_and_keeps_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOOKBOUND_DEBUG", "1")
    assert exit_code(errors.ConfigError("words")) == 2
    assert capsys.readouterr().err.startswith("Traceback ")


def test_every_exception_has_an_exit_code() -> None:
    assert EXIT_CODES_BY_ERROR[-1][0] is Exception
