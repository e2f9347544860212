"""One language model, asked patiently."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import monotonic
from typing import TypeVar

from bookbound.answer.agents_reply import Endpoint
from bookbound.answer.manner import SERVICE, Answered, Manner, Unfit
from bookbound.answer.prompt import Told
from bookbound.answer.searching import Searching
from bookbound.errors import ServiceTrouble
from bookbound.patience import left, patiently
from bookbound.trace import Usage
from bookbound.upstream import late

LONGEST = 600.0
"""The seconds that all may take that is done for one question, where it has no deadline."""

log = logging.getLogger("bookbound.answer")

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
        self.name, self.temperature = name, temperature
        self._longest = longest
        self._endpoint = Endpoint(name, url, key, responses=api == "responses", longest=longest)
        self._manners = dict.fromkeys((False, True), Manner(temperature))

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def run(
        self, told: Told, manner: Manner, searching: Searching | None = None, *, turns: int = 1
    ) -> AsyncGenerator[str | Usage | Answered]:
        """The text as the model writes it, what each call took, and then the end; every failure is one of ours."""
        agent = self._endpoint.agent(told.instructions, manner, searching)
        return self._endpoint.run(agent, told.message, turns=turns)

    async def pieces(
        self, start: Callable[[Manner], AsyncGenerator[Piece]], *, tools: bool = False
    ) -> AsyncGenerator[Piece | Usage]:
        """What `start` gives, and last what every try took; begun again as long as it has given nothing else.

        Trouble that may pass is tried again. What an endpoint does not take is left out for this question, and for
        later ones, with tools or without, where it was named and the endpoint takes the rest.
        """
        until, spent = monotonic() + left(self._longest), Usage()
        manner, refused = self._manners[tools], list[str | None]()

        async def following(pieces: AsyncGenerator[Piece]) -> Piece | None:
            nonlocal spent
            while isinstance(piece := await anext(pieces, None), Usage):
                spent += piece
            return piece

        async def begin(_: float) -> tuple[Piece | None, AsyncGenerator[Piece]]:
            nonlocal manner
            while True:
                pieces = start(manner)
                try:
                    first = await following(pieces)
                except Unfit as unfit:
                    named = manner.without(unfit.parameter) != manner
                    eased = manner.without(unfit.parameter) if named else manner.plain
                    if eased == manner:
                        raise
                    manner = eased
                    refused.append(unfit.parameter if named else None)
                else:
                    self._remember(refused, tools)
                    return first, pieces

        try:
            piece, rest = await patiently(begin, service=SERVICE, most=self._longest)
            async with aclosing(rest):
                while piece is not None:
                    yield piece
                    async with asyncio.timeout(until - monotonic()):
                        piece = await following(rest)
        except TimeoutError:
            yield spent
            raise late(SERVICE) from None
        except ServiceTrouble:
            yield spent
            raise
        yield spent

    def _remember(self, refused: list[str | None], tools: bool) -> None:
        """Leave out from now on what an endpoint has refused by name, if that was all it took."""
        for parameter in refused if all(refused) else ():
            eased = self._manners[tools].without(parameter)
            if eased != self._manners[tools]:
                self._manners[tools] = eased
                log.info("The language model does not take `%s`, and is asked without it from now on.", parameter)
