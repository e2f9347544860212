"""The files that a command writes when it is done: whether it may and can, before anybody waits for it."""

from __future__ import annotations

import os
from pathlib import Path

from bookbound.errors import BadSetup

STANDARD_OUTPUT = Path("-")


def ready(questions: Path, *outputs: Path | None) -> None:
    """That each output is a file of its own, not the question set, and can be written."""
    files = [file for file in outputs if file is not None]
    for file in files:
        if file == STANDARD_OUTPUT:
            raise BadSetup("- stands for standard output with --json of eval alone. Name a file.")
    for at, file in enumerate(files):
        if same(file, questions):
            raise BadSetup(f"{file} is the question set and would be overwritten. Name another file.")
        if any(same(file, other) for other in files[:at]):
            raise BadSetup(f"{file} is named for two outputs. Name a file for each.")
    for file in files:
        _try(file)


def same(one: Path, other: Path) -> bool:
    """Whether two names lead to one place, whether or not there is a file yet."""
    return os.path.realpath(one) == os.path.realpath(other)


def _try(file: Path) -> None:
    """Open a file as it will be, and leave everything as it was."""
    if file.exists() and not (file.is_file() or file.is_dir()):
        return  # to open a pipe is to be waited for, and to close it is its end
    new = not file.exists()
    try:
        with file.open("ab"):
            pass
        if new and not file.stat().st_size:
            Path(os.path.realpath(file)).unlink()
    except OSError as trouble:
        raise BadSetup(f"{file} cannot be written ({trouble.strerror}). Name another file.") from trouble
