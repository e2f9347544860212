"""Runs a command on a pseudo terminal, as a reader does."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


class TerminalSession:
    """A process on a pseudo terminal: `say` types, and `wait_for` returns what appears up to some words."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process, self._terminal = process, terminal
        self._unread = ""

    def say(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def wait_for(self, words: str) -> str:
        while words not in self._unread:
            assert select.select([self._terminal], [], [], 60)[0], f"No {words!r} in: {self._unread}"
            found = os.read(self._terminal, 65536).decode(errors="replace")
            self._unread += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", found)
        seen, _, self._unread = self._unread.partition(words)
        return seen + words


@contextmanager
def run_on_terminal(*arguments: str, cwd: Path, env: Mapping[str, str]) -> Iterator[TerminalSession]:
    """Runs `bookbound` with these arguments on a terminal that is wide enough for every line."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "bookbound", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm", "COLUMNS": "400"},
        cwd=cwd,
        start_new_session=True,
        preexec_fn=lambda: _take_terminal(theirs),
    ) as process:
        os.close(theirs)
        try:
            yield TerminalSession(process, ours)
        finally:
            process.kill()
            os.close(ours)


def _take_terminal(terminal: int) -> None:
    """Makes it the terminal of this process, so that Ctrl-C interrupts it."""
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
