"""`python -m release.large_files`: fails if a commit adds a file over 1 MB that `release/large-files.txt` lacks.

The list has the blob of each file, so new weights change it. Of the commits that no remote has yet, every version
counts: weights that are committed twice stay twice in everybody's clone.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MAX_BYTES = 1_000_000
LIST = Path("release") / "large-files.txt"


def find_unlisted_files(repository: Path) -> list[str]:
    """The large files of the checkout and of unpublished commits that are not in the list, each with its blob."""
    lines = (repository / LIST).read_text(encoding="utf-8").splitlines()
    listed = {line for line in lines if line and not line.startswith("#")}
    return sorted(_find_large_files(repository) - listed)


def _find_large_files(repository: Path) -> set[str]:
    staged = [line.split(maxsplit=3) for line in _git(repository, "ls-files", "--stage").splitlines()]
    names = {blob: path for _, blob, _, path in staged}
    if _git(repository, "remote"):
        unpublished = _git(repository, "rev-list", "--objects", "HEAD", "--not", "--remotes")
        names |= {blob: path for blob, _, path in (line.partition(" ") for line in unpublished.splitlines()) if path}
    sizes = _git(
        repository, "cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)", text="\n".join(names)
    )
    # A submodule and a blob of a partial clone have a shorter line.
    found = (line.split() for line in sizes.splitlines() if line.count(" ") == 2)
    return {f"{blob} {names[blob]}" for kind, size, blob in found if kind == "blob" and int(size) > MAX_BYTES}


def _git(repository: Path, *arguments: str, text: str = "") -> str:
    command = ("git", "-c", "core.quotePath=false", *arguments)
    return subprocess.run(command, cwd=repository, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    repository = Path(__file__).resolve().parent.parent
    if not (repository / ".git").exists():  # an unpacked sdist
        return
    if unlisted := find_unlisted_files(repository):
        sys.exit(
            f"These files are over {MAX_BYTES:,} bytes and not in {LIST}. Everybody's clone has them for ever, so "
            "commit them once, or not at all. To keep them, replace their lines in the list by these:\n"
            + "\n".join(unlisted)
        )


if __name__ == "__main__":
    main()
