"""Reads a stream while what came of it before is still worked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from enum import Enum, auto
from typing import TypeVar

Item = TypeVar("Item")


class _End(Enum):
    """Follows the last item."""

    END = auto()


async def read_ahead(stream: AsyncGenerator[Item]) -> AsyncGenerator[Item]:
    """Yields the items of a stream in order, and then its error; it goes on however long an item is worked on.

    Otherwise the time of that work would count for the stream, and could exceed the limit of a call to a service.
    """
    found: asyncio.Queue[Item | _End] = asyncio.Queue()

    async def read() -> None:
        try:
            async with aclosing(stream):
                async for item in stream:
                    found.put_nowait(item)
                    await asyncio.sleep(0)  # it is worked on before the next one is computed
        finally:
            found.put_nowait(_End.END)

    reading = asyncio.create_task(read())
    try:
        while not isinstance(item := await found.get(), _End):
            yield item
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)  # the stream is closed before the caller goes on
