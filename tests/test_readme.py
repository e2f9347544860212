"""What the README says can be done, is done; what the documents link to, is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from bookbound.settings import PREFIX, Settings

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^bookbound .*$", README, re.MULTILINE)
DOCUMENTS = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")]
BOOK = """# Drives

## Harmonic drive

A harmonic drive reduces the speed of a motor by a large ratio, with almost no backlash.
The gear ratio of the drive in the elbow joint is 120 to 1.

## Lubrication

The flexspline is lubricated with grease every 500 hours.
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a small book in `my-book`, in which the README's commands were run in order."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "my-book").mkdir()
    (folder / "my-book" / "drives.md").write_text(BOOK, encoding="utf-8")
    return folder


def run(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return subprocess.run(command, cwd=place, env=clean, capture_output=True, text=True, timeout=120)


def test_every_command_of_the_readme_does_what_it_should(place: Path) -> None:
    assert {shlex.split(command)[1] for command in COMMANDS} == {"index", "ask", "search", "status"}
    for command in COMMANDS:
        done = run(place, sys.executable, "-m", *shlex.split(command))
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout, command


def test_the_python_of_the_readme_prints_an_answer_and_its_links(place: Path) -> None:
    run(place, sys.executable, "-m", "bookbound", "index", "my-book")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = run(place, sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    answer, *links = done.stdout.splitlines()
    assert "harmonic drive" in answer
    assert all("#" in link for link in links)
    assert links


def test_the_readme_lists_every_setting_with_its_default() -> None:
    rows = {cells[0].strip("` "): cells for line in README.splitlines() if (cells := line.strip("|").split("|"))[1:]}
    for field in fields(Settings):
        _, variable, default, _ = (cell.strip("` ") for cell in rows[field.name])
        assert variable == PREFIX + field.name.upper()
        if field.default is not None:
            assert default == str(field.default)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_console_script_starts_the_same_command_line() -> None:
    script = shutil.which("bookbound", path=str(Path(sys.executable).parent))
    assert script, "bookbound is not installed in this environment"
    assert run(REPOSITORY, script, "--version").stdout == "bookbound 0.1.0\n"
