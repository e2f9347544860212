"""How commands end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.cli import app
from bookbound.cli.common import EXIT_CODES_BY_ERROR, exit_on_error
from bookbound.domain import errors

Run = Callable[..., subprocess.CompletedProcess[str]]
HEAVY = ("onnxruntime", "numpy", "tokenizers", "qdrant_client", "openai", "agents", "cohere", "sqlalchemy", "alembic")


def tree(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


def ended(trouble: BaseException) -> int:
    with pytest.raises(typer.Exit) as end, exit_on_error():
        raise trouble
    return end.value.exit_code


def test_each_kind_of_error_has_the_code_of_its_branch() -> None:
    expected = {
        errors.InvalidInputError: 4,
        errors.ServiceError: 3,
        errors.ServiceUnreachableError: 3,
        errors.ServiceTimeoutError: 3,
    }
    expected |= {errors.ServiceRateLimitError: 3, errors.ServiceAuthenticationError: 3, errors.ServiceResponseError: 3}
    for kind in (kind for kind in tree(errors.BookboundError) if kind.__module__ == errors.__name__):
        given: dict[str, Any] = {"retry_after": 1.0} if kind is errors.OverloadedError else {}
        given |= {"service": "x"} if issubclass(kind, errors.ServiceError) else {}
        assert ended(kind("words", **given)) == expected.get(kind, 2), kind


def test_a_defect_is_not_taken_for_a_refusal_and_hides_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(ValueError("a reader's secret")) == 70
    shown = capsys.readouterr()
    assert "ValueError" in shown.err
    assert "secret" not in shown.err + shown.out
    assert "Traceback" not in shown.err


def test_trouble_with_files_is_a_matter_of_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(PermissionError(13, "Permission denied", "/index")) == 2
    assert capsys.readouterr().err == "Error: Permission denied: /index\n"


def test_an_interruption_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


def test_the_debug_setting_shows_the_traceback_and_keeps_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOOKBOUND_DEBUG", "1")
    assert ended(errors.ConfigError("words")) == 2
    assert capsys.readouterr().err.startswith("Traceback ")


def test_every_exception_has_a_row() -> None:
    assert EXIT_CODES_BY_ERROR[-1][0] is Exception


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("ask",), ("ask", "why?", "-k", "many"), ("index",)])
def test_bad_use_exits_with_2(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, arguments, obj=bootstrap).exit_code == 2


def test_the_version_is_told(bookbound: Run) -> None:
    done = bookbound("--version")
    assert (done.returncode, done.stdout) == (0, "bookbound 0.1.0\n")


COMMANDS = ("demo", "index", "ask", "search", "serve", "eval", "calibrate", "status", "report")
OF_THE_LOG = ("log purge", "log upgrade", "log downgrade")


@pytest.mark.parametrize("command", [*COMMANDS, *OF_THE_LOG])
def test_the_help_of_each_command_has_an_example(command: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), "--help"], obj=bootstrap)
    assert done.exit_code == 0
    assert f"Example: bookbound {command}" in done.stdout


@pytest.mark.parametrize(("group", "named"), [((), (*COMMANDS, "log")), (("log",), OF_THE_LOG)])
def test_the_help_names_each_command(group: tuple[str, ...], named: tuple[str, ...]) -> None:
    lines = CliRunner().invoke(app, [*group, "--help"], obj=bootstrap).stdout.splitlines()
    first = {words[1] for line in lines if len(words := line.split()) > 2 and words[0] == "│"}
    assert first >= {name.split()[-1] for name in named}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["ask", "--help"], ["status"], ["log", "--help"], ["report", "--help"]]
)
def test_commands_that_need_no_model_do_not_load_one(arguments: list[str], tmp_path: Path) -> None:
    script = f"""
import sys
sys.argv = ["bookbound", *{arguments!r}]
from bookbound.bootstrap import main
try:
    main()
except SystemExit:
    print("LOADED", [name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.endswith("LOADED []\n")
