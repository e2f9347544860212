"""Starts the command line and exits cleanly on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """The command line; Ctrl-C ends it quietly, even while its parts are still being imported, and so does SIGTERM.

    The first process of a container hears no signal that it has no handler for.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        from bookbound.bootstrap import main as start

        start()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
