"""A small book, its index, and the command line in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

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


@pytest.fixture(scope="session")
def little_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of a book of two pages."""
    folder = tmp_path_factory.mktemp("source") / "my-book"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment without what whoever runs the tests has set for Bookbound, and with buffered output."""
    foreign = ("BOOKBOUND_", "PYTHONUNBUFFERED", "NO_COLOR", "FORCE_COLOR")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


@pytest.fixture(scope="session")
def bookbound(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the command line with some arguments, in a folder without settings unless another is given."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def run(
        *arguments: str, stdin: str | bytes = "", cwd: Path = elsewhere, **added: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "bookbound", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=cwd,
            env=environment | added,
            timeout=120,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture(scope="session")
def little_index(little_book: Path, bookbound: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the little book."""
    folder = tmp_path_factory.mktemp("little") / "index"
    made = bookbound("index", str(little_book), "--index", str(folder))
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A question set over the little book."""
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)))
    return file
