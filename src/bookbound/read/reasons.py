"""Why a source shows no page."""

from __future__ import annotations

from collections.abc import Sequence

from bookbound.book import Notice

_NAMED = 3


def reasons(notices: Sequence[Notice]) -> str:
    """The first notices as sentences that go on from another one."""
    return "".join(f" {file}: {message}." for file, message, _ in notices[:_NAMED])
