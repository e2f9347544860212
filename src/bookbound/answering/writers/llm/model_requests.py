"""Asks a language model again after errors that may pass, without the options that its endpoint rejects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from time import monotonic
from typing import Generic, TypeVar

from bookbound.domain.errors import ServiceError
from bookbound.domain.language_model import (
    LANGUAGE_MODEL_SERVICE,
    FinalReply,
    Prompt,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.domain.ports import LanguageModel
from bookbound.domain.question import Deadline
from bookbound.domain.trace import TokenUsage
from bookbound.services import build_timeout_error, call_with_retry

Item = TypeVar("Item")
log = logging.getLogger("bookbound.answering.writers")


class AcceptedOptions:
    """The options that an endpoint accepts, as far as it is known; it may accept fewer together with a tool."""

    def __init__(self, model: LanguageModel) -> None:
        self.current = RequestOptions(model.temperature)
        self.timeout_seconds = model.timeout_seconds

    def leave_out(self, rejected: Sequence[UnsupportedParameterError]) -> None:
        """Leaves these options out of later requests, because the endpoint rejected them."""
        for error in rejected:
            if (reduced := self.current.without(error.option)) != self.current:
                self.current = reduced
                log.info("The language model does not accept `%s`; later requests leave it out.", error.parameter)


class RetriedStream(Generic[Item]):
    """A stream from a model that starts again after an error that may pass, as long as it has yielded nothing.

    A reply that cannot be used is not asked for again: the same request would get the same reply. An endpoint that
    rejects an option is asked without it. If it named the option and accepts the rest, later questions leave it out
    too.
    """

    def __init__(
        self, accepted: AcceptedOptions, start: Callable[[RequestOptions], AsyncGenerator[Item]], deadline: Deadline
    ) -> None:
        self._accepted, self._start, self._deadline = accepted, start, deadline
        self._seconds = deadline.limit(accepted.timeout_seconds)
        self._options = accepted.current
        self._rejected: list[UnsupportedParameterError] = []
        self._is_known = True
        self._usage = TokenUsage()

    async def items(self) -> AsyncGenerator[Item | TokenUsage]:
        """Yields the items, and last the token usage of every attempt."""
        end = monotonic() + self._seconds
        try:
            item, stream = await call_with_retry(
                self._open,
                service=LANGUAGE_MODEL_SERVICE,
                seconds=self._seconds,
                deadline=self._deadline,
                retries_replies=False,
            )
            async with aclosing(stream):
                while item is not None:
                    yield item
                    async with asyncio.timeout(end - monotonic()):
                        item = await self._next_item(stream)
        except (TimeoutError, ServiceError) as error:
            yield self._usage
            if isinstance(error, TimeoutError):
                raise build_timeout_error(LANGUAGE_MODEL_SERVICE) from None
            raise
        yield self._usage

    async def _open(self, _: float) -> tuple[Item | None, AsyncGenerator[Item]]:
        """Starts the stream with the options that the endpoint accepts, and returns its first item."""
        while True:
            stream = self._start(self._options)
            try:
                first = await self._next_item(stream)
            except UnsupportedParameterError as error:
                reduced = self._options.without(error.option)
                if reduced == self._options:
                    # The plain options leave out more than what was rejected, so nothing is known about each.
                    reduced, self._is_known = self._options.plain, False
                if reduced == self._options:
                    raise
                self._options = reduced
                self._rejected.append(error)
            else:
                self._accepted.leave_out(self._rejected if self._is_known else ())
                return first, stream

    async def _next_item(self, stream: AsyncGenerator[Item]) -> Item | None:
        while isinstance(item := await anext(stream, None), TokenUsage):
            self._usage += item
        return item


class ModelClient:
    """Asks a language model for short texts, within the options that its endpoint accepts."""

    def __init__(self, model: LanguageModel) -> None:
        self.model, self.accepted = model, AcceptedOptions(model)

    async def complete(self, prompt: Prompt, deadline: Deadline) -> tuple[str, TokenUsage]:
        """Returns the whole text of one reply, and what it cost."""

        async def run(options: RequestOptions) -> AsyncGenerator[FinalReply | TokenUsage]:
            async with aclosing(self.model.run(prompt, options)) as events:
                async for event in events:
                    if not isinstance(event, str):
                        yield event

        text, usage = "", TokenUsage()
        async with aclosing(RetriedStream(self.accepted, run, deadline).items()) as items:
            async for item in items:
                if isinstance(item, TokenUsage):
                    usage += item
                else:
                    text = item.text
        return text, usage
