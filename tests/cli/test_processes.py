"""Closed streams, broken pipes, full devices and Ctrl-C: what only a real process shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bookbound
from bookbound.cli.source_commit import find_commit

Shell = Callable[[str], subprocess.CompletedProcess[str]]
FULL = "Error: Standard output cannot be written: No space left on device.\n"
PARTS = '"What does a harmonic drive consist of?"'
FOREIGN = '"Which composer wrote the opera about a flying Dutchman?"'


@pytest.fixture
def shell(environment: dict[str, str], little_index: Path, little_book: Path, tmp_path: Path) -> Shell:
    """Runs a line of bash in which `bookbound` is the command and `my-book` is indexed."""
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
        (f"bookbound ask {PARTS} <&- >&- 2>&-", 0),
        (f"bookbound ask {FOREIGN} >&- 2>&-", 1),
        ("bookbound ask - <&-", 4),
        ("bookbound index my-book --index made 2>&-", 0),
        ("bookbound nonsense 2>&-", 2),
    ],
)
def test_a_closed_stream_does_not_change_the_exit_code(shell: Shell, line: str, code: int) -> None:
    done = shell(line)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ">&-" in line.replace("2>&-", "") or code or done.stdout


def test_no_file_gets_the_number_of_a_closed_stream(environment: dict[str, str]) -> None:
    script = (
        "from bookbound.cli import terminal; terminal.prepare_streams();"
        "import sys; print(sys.stdout.fileno(), file=sys.stderr)"
    )
    line = f"'{sys.executable}' -c '{script}' <&- >&-"
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == "1\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("bookbound --help", 141),
        (f"bookbound ask {PARTS}", 141),
        (f"bookbound ask {FOREIGN}", 141),
        ('bookbound ask "" --json', 4),
        ('bookbound ask "" 2>&1 >/dev/null', 4),
    ],
)
def test_a_broken_pipe_is_never_a_refusal(shell: Shell, line: str, code: int) -> None:
    # The command starts when the pipe has no reader any more.
    done = shell(f"{{ until [ -e gone ]; do sleep 0.01; done; {line}; }} | {{ exec <&-; touch gone; }}")
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        (f"bookbound ask {PARTS} >/dev/full", 2, FULL),
        (f"bookbound ask {FOREIGN} >/dev/full", 2, FULL),
        (f"PYTHONUNBUFFERED=1 bookbound ask {PARTS} >/dev/full", 2, FULL),
        ("bookbound search grease >/dev/full", 2, FULL),
        ("bookbound --help >/dev/full", 2, FULL),
        ('bookbound ask "" --json >/dev/full', 4, ""),
        ('bookbound ask "" 2>/dev/full', 4, ""),
        ("bookbound nonsense 2>/dev/full", 2, ""),
    ],
)
def test_a_full_device_is_one_error_and_never_a_refusal(shell: Shell, line: str, code: int, error: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    done = shell(line)
    assert (done.returncode, done.stderr) == (code, error)


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
    "module", ["bookbound.bootstrap", "typer", "bookbound.cli.published_index_commands", "qdrant_edge"]
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


def test_a_working_directory_that_was_removed_is_reported(environment: dict[str, str], tmp_path: Path) -> None:
    script = f'cd "{tmp_path}" && mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" -m bookbound status'
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: The working directory was removed. Change to one that exists.\n"


def test_the_installed_command_prints_the_version_and_the_commit(environment: dict[str, str]) -> None:
    script = Path(sys.executable).parent / "bookbound"
    done = subprocess.run([script, "--version"], env=environment, capture_output=True, text=True, check=False)
    commit = find_commit(Path(bookbound.__file__).resolve().parent)
    assert (done.returncode, done.stdout) == (0, f"bookbound {bookbound.__version__} ({commit})\n")
