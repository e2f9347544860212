"""One language model, asked patiently."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import monotonic
from typing import TypeVar

from bookbound.answer.agents_reply import Endpoint
from bookbound.answer.manner import SERVICE, Answered, Manner, Unfit
from bookbound.answer.prompt import Told
from bookbound.answer.searching import Searching
from bookbound.patience import left, patiently
from bookbound.upstream import late

LONGEST = 600.0
"""The seconds that all may take that is done for one question, where it has no deadline."""

Piece = TypeVar("Piece")


class LanguageModel:
    """A model by its name at an endpoint by its URL; OpenAI's, where none is given."""

    def __init__(
        self,
        name: str,
        *,
        url: str | None = None,
        key: str | None = None,
        api: str = "chat",
        temperature: float = 0.0,
        longest: float = LONGEST,
    ) -> None:
        self.name = name
        self._longest = longest
        self._endpoint = Endpoint(name, url, key, responses=api == "responses", longest=longest)
        self._manners = dict.fromkeys((False, True), Manner(temperature))

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def run(
        self, told: Told, manner: Manner, searching: Searching | None = None, *, turns: int = 1
    ) -> AsyncGenerator[str | Answered]:
        """The text as the model writes it, and then the end; every failure is one of ours."""
        agent = self._endpoint.agent(told.instructions, manner, searching)
        return self._endpoint.run(agent, told.message, turns=turns)

    async def pieces(
        self, start: Callable[[Manner], AsyncGenerator[Piece]], *, tools: bool = False
    ) -> AsyncGenerator[Piece]:
        """What `start` gives; begun again after trouble that may pass, as long as it has given nothing.

        The manner that an endpoint takes, with tools or without, is remembered.
        """
        until = monotonic() + left(self._longest)

        async def begin(_: float) -> tuple[Piece | None, AsyncGenerator[Piece]]:
            manner: Manner | None = self._manners[tools]
            while manner:
                pieces = start(manner)
                try:
                    first = await anext(pieces, None)
                except Unfit as unfit:
                    if not (manner := manner.eased(unfit.parameter)):
                        raise
                else:
                    self._manners[tools] = manner
                    return first, pieces
            raise AssertionError("a manner is eased or the trouble is raised")

        piece, rest = await patiently(begin, service=SERVICE, most=self._longest)
        async with aclosing(rest):
            while piece is not None:
                yield piece
                try:
                    async with asyncio.timeout(until - monotonic()):
                        piece = await anext(rest, None)
                except TimeoutError:
                    raise late(SERVICE) from None
