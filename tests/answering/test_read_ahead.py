"""A stream is read on while what came of it before is still worked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import pytest

from bookbound.answering.read_ahead import read_ahead


class RecordedStream:
    """Yields numbers up to `count`, then fails or waits for ever if told so, and records what was taken of it."""

    def __init__(self, count: int, *, error: Exception | None = None, is_endless: bool = False) -> None:
        self._count, self._error, self._is_endless = count, error, is_endless
        self.yielded: list[int] = []
        self.complete = asyncio.Event()
        self.is_closed = False

    async def items(self) -> AsyncGenerator[int]:
        try:
            for number in range(1, self._count + 1):
                self.yielded.append(number)
                yield number
            self.complete.set()
            if self._error:
                raise self._error
            if self._is_endless:
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # closing takes a turn of the loop
            self.is_closed = True


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(main())


@pytest.mark.parametrize("count", [0, 1, 5])
def test_every_item_comes_once_and_in_order(count: int) -> None:
    async def main() -> None:
        stream = RecordedStream(count)
        assert [item async for item in read_ahead(stream.items())] == list(range(1, count + 1))
        assert stream.is_closed

    run(main)


def test_the_stream_goes_on_while_its_first_item_is_worked_on() -> None:
    async def main() -> None:
        stream = RecordedStream(3)
        ahead = read_ahead(stream.items())
        assert await anext(ahead) == 1
        await stream.complete.wait()  # nothing asks for the second item
        assert stream.yielded == [1, 2, 3]
        assert [item async for item in ahead] == [2, 3]

    run(main)


def test_an_item_is_worked_on_before_the_next_one_is_computed() -> None:
    async def main() -> None:
        stream = RecordedStream(3)
        assert [(item, len(stream.yielded)) async for item in read_ahead(stream.items())] == [(1, 1), (2, 2), (3, 3)]

    run(main)


def test_an_error_of_the_stream_comes_after_the_items_before_it() -> None:
    async def main() -> None:
        stream = RecordedStream(2, error=ValueError("broken"))
        ahead = read_ahead(stream.items())
        assert await anext(ahead) == 1
        await stream.complete.wait()  # the error has happened
        assert await anext(ahead) == 2
        with pytest.raises(ValueError, match="broken"):
            await anext(ahead)

    run(main)


def test_an_error_of_the_work_closes_the_stream() -> None:
    async def main() -> None:
        stream = RecordedStream(2, is_endless=True)
        ahead = read_ahead(stream.items())
        await anext(ahead)
        with pytest.raises(ValueError, match="work"):
            await ahead.athrow(ValueError("work"))
        assert stream.is_closed

    run(main)


def test_who_leaves_early_goes_on_when_the_stream_is_closed() -> None:
    async def main() -> None:
        stream = RecordedStream(2, is_endless=True)
        ahead = read_ahead(stream.items())
        await anext(ahead)
        await ahead.aclose()
        assert stream.is_closed

    run(main)


def test_a_reader_who_is_cancelled_while_the_stream_waits_closes_it() -> None:
    async def main() -> None:
        stream = RecordedStream(0, is_endless=True)
        reading = asyncio.create_task(anext(read_ahead(stream.items()), None))
        await stream.complete.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert stream.is_closed
        assert len(asyncio.all_tasks()) == 1  # nothing reads on

    run(main)
