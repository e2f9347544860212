"""The version, the help and the imports of all commands."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.conftest import Run
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.cli import app

HEAVY_MODULES = (
    "onnxruntime",
    "numpy",
    "tokenizers",
    "qdrant_client",
    "openai",
    "agents",
    "cohere",
    "sqlalchemy",
    "alembic",
)


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("ask",), ("ask", "why?", "-k", "many"), ("index",)])
def test_bad_use_exits_with_2(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, arguments, obj=bootstrap).exit_code == 2


def test_the_version_is_printed(bookbound: Run) -> None:
    done = bookbound("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"bookbound 0\.1\.0( \([0-9a-f]{12}(-dirty)?\))?\n", done.stdout)


COMMANDS = ("demo", "index", "ask", "search", "serve", "eval", "calibrate", "status", "report")
LOG_COMMANDS = ("log purge", "log upgrade", "log downgrade")


@pytest.mark.parametrize("command", [*COMMANDS, *LOG_COMMANDS])
def test_the_help_of_each_command_has_an_example(command: str) -> None:
    done = CliRunner().invoke(app, [*command.split(), "--help"], obj=bootstrap)
    assert done.exit_code == 0
    assert f"Example: bookbound {command}" in done.stdout


def list_parameters(command: Any, path: str = "bookbound") -> Iterator[tuple[str, str, str]]:
    """Yield the command, the name and the placeholder of each argument and each option with a value."""
    context = typer.Context(command)
    for parameter in command.params:
        if not getattr(parameter, "is_flag", False):
            yield path, parameter.name, parameter.make_metavar(context)
    for name, inner in getattr(command, "commands", {}).items():
        yield from list_parameters(inner, f"{path} {name}")


def test_the_help_names_what_each_value_is_and_not_its_type() -> None:
    types = {"TEXT", "PATH", "DIR", "INTEGER", "FLOAT", "N", "FILENAME", "DIRECTORY", "BOOLEAN", "ANY", ""}
    found = list(list_parameters(typer.main.get_command(app)))
    assert len(found) > 50
    assert [each for each in found if set(re.split(r"\W+", each[2])) & types - {""} or not each[2]] == []


def list_commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words that name each command and each group of commands."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from list_commands(inner, (*path, name))


@pytest.mark.parametrize("command", [*list_commands(typer.main.get_command(app))], ids=" ".join)
def test_the_help_of_each_command_has_no_type_or_function_of_python(command: tuple[str, ...]) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*command, "--help"], obj=bootstrap)
    assert done.exit_code == 0
    shown = re.findall(r"<([^<>=]*)>", done.stdout)
    assert [name for name in shown if name not in ("path", "text") and "|" not in name] == []


@pytest.mark.parametrize(("group", "named"), [((), (*COMMANDS, "log")), (("log",), LOG_COMMANDS)])
def test_the_help_lists_each_command(group: tuple[str, ...], named: tuple[str, ...]) -> None:
    lines = CliRunner().invoke(app, [*group, "--help"], obj=bootstrap).stdout.splitlines()
    first = {words[1] for line in lines if len(words := line.split()) > 2 and words[0] == "│"}
    assert first >= {name.split()[-1] for name in named}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["ask", "--help"], ["status"], ["log", "--help"], ["report", "--help"]]
)
def test_commands_that_need_no_network_do_not_load_one(arguments: list[str], tmp_path: Path) -> None:
    script = f"""
import sys
sys.argv = ["bookbound", *{arguments!r}]
from bookbound.bootstrap import main
try:
    main()
except SystemExit:
    print("LOADED", [name for name in {HEAVY_MODULES!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.endswith("LOADED []\n")
