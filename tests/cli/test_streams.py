"""Whatever becomes of the standard streams, the exit code says what came of the command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Shell = Callable[[str], subprocess.CompletedProcess[str]]
FULL = "Error: Standard output cannot be written: No space left on device.\n"
PARTS = '"What does a harmonic drive consist of?"'
FOREIGN = '"Which composer wrote the opera about a flying Dutchman?"'


@pytest.fixture
def shell(environment: dict[str, str], little_index: Path, little_book: Path, tmp_path: Path) -> Shell:
    """Runs a line of bash in which `bookbound` is the command line and `my-book` the book that it finds indexed."""
    shutil.copytree(little_book, tmp_path / "my-book")
    setup = f'set -o pipefail; bookbound() {{ "{sys.executable}" -m bookbound "$@"; }}; '

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", setup + line],
            env=environment | {"BOOKBOUND_INDEX": str(little_index)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"bookbound ask {PARTS} 2>&-", 0),
        (f"bookbound ask {PARTS} >&-", 0),
        (f"bookbound ask {PARTS} --json >&-", 0),
        (f"bookbound ask {PARTS} <&- >&- 2>&-", 0),
        (f"bookbound ask {FOREIGN} >&- 2>&-", 1),
        ("bookbound search grease --json 2>&-", 0),
        ("bookbound ask - <&-", 4),
        ("bookbound status >&-", 0),
        ("bookbound index my-book --index made 2>&-", 0),
        ("bookbound nonsense 2>&-", 2),
    ],
)
def test_a_closed_stream_changes_nothing_but_what_is_seen(shell: Shell, line: str, code: int) -> None:
    done = shell(line)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ">&-" in line.replace("2>&-", "") or code or done.stdout


def test_no_file_gets_the_number_of_a_closed_stream(environment: dict[str, str]) -> None:
    script = (
        "from bookbound.cli import streams; streams.ready(); import sys; print(sys.stdout.fileno(), file=sys.stderr)"
    )
    line = f"'{sys.executable}' -c '{script}' <&- >&-"
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == "1\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("bookbound --help", 141),
        ("bookbound --version", 141),
        ("bookbound status --json", 141),
        (f"bookbound ask {PARTS}", 141),
        (f"bookbound ask {FOREIGN}", 141),
        ('bookbound ask "" --json', 4),
        ('bookbound ask "" 2>&1 >/dev/null', 4),
    ],
)
def test_a_reader_that_is_gone_is_never_a_refusal(shell: Shell, line: str, code: int) -> None:
    # The reader is gone before the command starts: it waits for a file that is made when the pipe has no other end.
    done = shell(f"{{ until [ -e gone ]; do sleep 0.01; done; {line}; }} | {{ exec <&-; touch gone; }}")
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (f"bookbound ask {PARTS} >/dev/full", 2, FULL),
        (f"bookbound ask {FOREIGN} >/dev/full", 2, FULL),
        (f"bookbound ask {PARTS} --json >/dev/full", 2, FULL),
        (f"PYTHONUNBUFFERED=1 bookbound ask {PARTS} >/dev/full", 2, FULL),
        ("bookbound search grease >/dev/full", 2, FULL),
        ("bookbound status >/dev/full", 2, FULL),
        ("bookbound --help >/dev/full", 2, FULL),
        ("bookbound --version >/dev/full", 2, FULL),
        ('bookbound ask "" --json >/dev/full', 4, ""),
        ('bookbound ask "" 2>/dev/full', 4, ""),
        ("bookbound nonsense 2>/dev/full", 2, ""),
    ],
)
def test_a_full_device_is_told_once_and_never_a_refusal(shell: Shell, line: str, code: int, told: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    done = shell(line)
    assert (done.returncode, done.stderr) == (code, told)


INTERRUPT = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["bookbound", "status"]
{start}
"""
MODULE = 'runpy.run_module("bookbound", run_name="__main__")'


@pytest.mark.parametrize(
    "module", ["bookbound.bootstrap", "asyncio", "typer", "bookbound.cli.published_index_commands", "qdrant_edge"]
)
def test_ctrl_c_is_quiet_while_modules_are_imported(module: str, environment: dict[str, str], tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "bookbound"
    for start in (MODULE, f'runpy.run_path({str(script)!r}, run_name="__main__")'):
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPT.format(module=module, start=start)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
