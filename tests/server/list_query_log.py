"""Provides a query log that keeps its entries in a list."""

from __future__ import annotations

from bookbound.domain.trace import QueryLogEntry
from bookbound.server.query_log import NullQueryLog


class ListQueryLog(NullQueryLog):
    """Keeps its entries, and whether it was closed."""

    def __init__(self) -> None:
        self.entries: list[QueryLogEntry] = []
        self.closed = False

    def add(self, entry: QueryLogEntry) -> None:
        self.entries.append(entry)

    async def close(self) -> None:
        self.closed = True
