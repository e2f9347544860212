"""Every name that the package uses exists on Windows too, or is used only where it does not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(600)  # it checks the whole tree without a cache
def test_the_types_are_right_on_windows() -> None:
    cache = REPOSITORY / ".mypy_cache" / "windows"  # of its own: a cache for another platform is thrown away
    command = [sys.executable, "-m", "mypy", "--platform", "win32", "--cache-dir", str(cache), "src"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
