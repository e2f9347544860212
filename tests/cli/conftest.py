"""A small book, its index, and the command line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.command_tree import share_command_tree
from tests.pipelines import remember_readings
from tests.server.query_log.factories import make_entry, make_refused_entry, make_repository, make_requester
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.cli import run_command_line
from bookbound.domain.judgement import RefusalReason
from bookbound.server.query_log import LossReport, log_folder
from bookbound.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]

FALLBACK_VARIABLES = {name for each in fields(Settings) for name in each.metadata.get("fallbacks", ())}
PAGES = {
    "drives.md": """# Drives

## Harmonic drive

A harmonic drive reduces the speed of a motor by a large ratio with almost no backlash.
It consists of a wave generator, a flexspline and a circular spline.
The gear ratio of the drive in the elbow joint is 120 to 1.

## Lubrication

The flexspline is lubricated with grease every 500 hours of operation.
""",
    "nodes.md": """# Nodes

## List the running nodes

The running nodes of the robot are listed by two commands:

```bash
source /opt/robot/setup.bash
robot node list --all
```

A node that crashed is restarted by the supervisor after two seconds.
""",
}

ROWS: list[dict[str, Any]] = [
    {
        "id": "1",
        "question": "What does a harmonic drive consist of?",
        "answerable": True,
        "type": "list",
        "evidence": [
            {"file": "drives.md", "quote": "It consists of a wave generator, a flexspline and a circular spline."}
        ],
        "must_contain": ["flexspline"],
    },
    {
        "id": "2",
        "question": "How often is the flexspline lubricated with grease?",
        "answerable": True,
        "type": "number",
        "evidence": [{"file": "drives.md", "quote": "The flexspline is lubricated with grease every 500 hours"}],
        "must_contain": ["500 hours"],
    },
    {"id": "3", "question": "Who won the <b>football</b> world cup?", "answerable": False, "type": "off_topic"},
]


@pytest.fixture(scope="session", autouse=True)
def remembered_readings() -> Iterator[None]:
    """Reads for each command only what no earlier one had read."""
    with remember_readings():
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_command_tree() -> Iterator[None]:
    with share_command_tree():
        yield


@pytest.fixture(scope="session")
def little_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of a book of two pages."""
    folder = tmp_path_factory.mktemp("source") / "my-book"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def book(little_book: Path, tmp_path: Path) -> Path:
    """A copy of the little book that can be changed."""
    return Path(shutil.copytree(little_book, tmp_path / "book"))


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of processes, without settings of the person who runs the tests, and with buffered output.

    They use the fast reader, because each process opens its networks again.
    """
    kept = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
    return kept | {"BOOKBOUND_READER": "fast"}


def _is_foreign(name: str) -> bool:
    return name in FALLBACK_VARIABLES or name.startswith(("BOOKBOUND_", "PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR"))


@pytest.fixture(scope="session")
def bookbound(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the command line in this process, in a folder without settings unless another is given."""
    empty = tmp_path_factory.mktemp("empty")

    def run(
        *arguments: str, stdin: str | bytes = "", cwd: Path = empty, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        changes = {name: None for name in os.environ if _is_foreign(name)} | variables
        with (
            CliRunner().isolation(stdin, changes) as (out, err, _),
            contextlib.chdir(cwd),
            warnings.catch_warnings(),
            pytest.MonkeyPatch.context() as patch,
        ):
            warnings.simplefilter("default")
            patch.setattr(sys, "argv", ["bookbound", *arguments])
            patch.setattr(os, "_exit", sys.exit)
            with pytest.raises(SystemExit) as end:
                run_command_line(bootstrap)
            code = int(end.value.code or 0)
            return subprocess.CompletedProcess(arguments, code, out.getvalue().decode(), err.getvalue().decode())

    return run


@pytest.fixture(scope="session")
def answering(bookbound: Run) -> Run:
    """Runs the command line with an answer threshold of 0, so that only a question without a relevant passage fails."""
    return partial(bookbound, BOOKBOUND_ANSWER_THRESHOLD="0")


@pytest.fixture(scope="session")
def process(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the command line in its own process, for tests in which that matters."""
    empty = tmp_path_factory.mktemp("empty")

    def run(*arguments: str, stdin: str = "", cwd: Path = empty, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bookbound", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env=environment | variables,
            timeout=120,
        )

    return run


@pytest.fixture(scope="session")
def little_index(little_book: Path, bookbound: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the little book; tests only read it."""
    folder = tmp_path_factory.mktemp("little") / "index"
    done = bookbound("index", str(little_book), "--index", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A question set about the little book."""
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)))
    return file


@pytest.fixture
def run(bookbound: Run, tmp_path: Path) -> Run:
    """Runs the command line in an empty folder."""
    return partial(bookbound, cwd=tmp_path)


@pytest.fixture
def logged(little_index: Path) -> Iterator[Path]:
    """An index with a query log."""
    folder = log_folder(little_index)
    repository = make_repository(None, folder)
    repository.write(
        [
            make_entry("How often is it greased?", chapters=("Drives",), milliseconds=20, requester=make_requester()),
            make_refused_entry("How much does a humanoid robot cost?", milliseconds=10),
            make_refused_entry("What is the price of a humanoid robot?", reason=RefusalReason.INSUFFICIENT_GROUNDING),
            make_refused_entry("Is there a\x1b[31m printed edition?"),
            make_entry("long ago", timedelta(days=60)),
            make_entry("too long ago", timedelta(days=100)),
        ],
        LossReport(2),
    )
    repository.close()
    yield little_index
    shutil.rmtree(folder)
