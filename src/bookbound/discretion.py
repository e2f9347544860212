"""What the code of others may log about us: its warnings, and not where every request goes."""

from __future__ import annotations

import logging


def discreet(*loggers: str) -> None:
    """Keep loggers by their names to warnings, or to less where they already log less."""
    for logger in map(logging.getLogger, loggers):
        logger.setLevel(max(logger.getEffectiveLevel(), logging.WARNING))
