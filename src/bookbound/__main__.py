"""Starts the command line and exits cleanly on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it quietly, even while modules are still being imported."""
    # Process 1 of a container ignores signals that it has no handler for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        from bookbound.bootstrap import main as start

        start()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
