"""A pipeline that questions are answered from, until another takes its place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bookbound.ask import Pipeline


class Lease:
    """A pipeline and how many are using it; once it is given up, it is closed with the last of them."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._users = 0
        self._given_up = False

    @property
    def idle(self) -> bool:
        return not self._users

    @contextmanager
    def lent(self) -> Iterator[Pipeline]:
        """The pipeline, which stays open for as long as this lasts."""
        self._users += 1
        try:
            yield self.pipeline
        finally:
            self._users -= 1

    async def give_up(self) -> bool:
        """Close it, unless somebody uses it still; whether it is closed."""
        if self.idle and not self._given_up:
            await self.close()
        return self._given_up

    async def close(self) -> None:
        self._given_up = True
        await self.pipeline.close()
