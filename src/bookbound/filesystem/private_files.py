"""Creates folders and secret files that only their owner can read."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path


def create_secret_file(file: Path) -> None:
    fresh = file.with_name(f"{file.name}-{os.urandom(8).hex()}")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(fresh, file)  # in one step, and never over the key of somebody who was faster
    finally:
        fresh.unlink()


def create_private_folder(folder: Path) -> None:
    """The folder, where there is none yet: for its owner alone, and kept out of version control."""
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n")


def user_temp_folder() -> Path:
    """The folder of this user's among those that the system clears; it is not made by asking for it."""
    return Path(tempfile.gettempdir()) / f"bookbound-{os.getuid()}"
