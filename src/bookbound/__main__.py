"""The way in from a shell."""

import sys


def main() -> None:
    """The command line; Ctrl-C ends it quietly, even while its parts are still being imported."""
    try:
        from bookbound.wire import main as start

        start()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
