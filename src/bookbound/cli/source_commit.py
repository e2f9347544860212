"""Says which commit this copy of the package comes from. The build runs this file by itself, so it imports no other."""

from __future__ import annotations

import subprocess
from pathlib import Path

COMMIT_FILE = "commit.txt"
"""In the package of a wheel and of an sdist; a checkout has none and asks Git."""
GIT_SECONDS = 5


def find_commit(package: Path) -> str | None:
    """Returns the commit of the package in this folder, with `-dirty` if its checkout was changed, or None."""
    try:
        return (package / COMMIT_FILE).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeError):
        return _ask_git(package.parent.parent)


def _ask_git(checkout: Path) -> str | None:
    """Asks only in our own checkout: an environment may be inside the repository of somebody's book."""
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, encoding="ascii", timeout=GIT_SECONDS, check=True)
    except (OSError, UnicodeError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
