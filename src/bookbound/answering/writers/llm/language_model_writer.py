"""Writes answers with a language model, which may also search the book by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from time import monotonic
from typing import Generic, TypeVar

from bookbound.answering.writers.llm.numbered_passages import MAX_SEARCHES, BookSearchTool, NumberedPassages
from bookbound.answering.writers.llm.prompts import DataDelimiters, build_answer_prompt, build_search_prompt
from bookbound.answering.writers.llm.stream_parser import DraftSentence, MalformedReplyError, StreamParser
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceResponseError
from bookbound.domain.judgement import Judgement
from bookbound.domain.language_model import (
    LANGUAGE_MODEL_SERVICE,
    FinalReply,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.domain.ports import BookSearch, LanguageModel
from bookbound.domain.question import NO_DEADLINE, Deadline, Question, Understanding
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence, MissingPart, WriterEvent
from bookbound.domain.trace import TokenUsage
from bookbound.languages.detection import is_same_language
from bookbound.services import build_response_error, build_timeout_error, call_with_retry

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

    An endpoint that rejects an option is asked without it. If it named the option and accepts the rest, later
    questions leave it out too.
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
                self._open, service=LANGUAGE_MODEL_SERVICE, seconds=self._seconds, deadline=self._deadline
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


class LanguageModelWriter:
    """Has a language model write the answer from the passages, and yields each sentence as soon as it is complete.

    The evidence of a sentence is the whole of the passages that it names.
    """

    can_refuse = True

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._accepted = AcceptedOptions(model)
        self.name = model.name

    async def write(
        self,
        understanding: Understanding,
        passages: Sequence[Passage],
        judgement: Judgement,
        deadline: Deadline = NO_DEADLINE,
    ) -> AsyncGenerator[WriterEvent]:
        prompt = build_answer_prompt(understanding.question, passages, judgement, DataDelimiters.create())

        async def draft(options: RequestOptions) -> AsyncGenerator[WriterEvent]:
            numbered, parser = NumberedPassages(passages), StreamParser()
            sentences: list[AnswerSentence] = []
            async with aclosing(self._model.run(prompt, options)) as run:
                async for piece in run:
                    if isinstance(piece, TokenUsage):
                        yield piece
                        continue
                    known, drafted = len(sentences), _feed_parser(parser, piece)
                    room = MAX_ANSWER_SENTENCES - known
                    sentences += _build_sentences(drafted, numbered, judgement.probability, room)
                    # The last one waits for the end: the statement that something is missing is a sentence too.
                    for sentence in sentences[known : MAX_ANSWER_SENTENCES - 1]:
                        yield sentence
            if not (judgement.is_partial or parser.missing):
                for sentence in sentences[MAX_ANSWER_SENTENCES - 1 : MAX_ANSWER_SENTENCES]:
                    yield sentence
            if parser.missing:
                yield MissingPart()

        async with aclosing(RetriedStream(self._accepted, draft, deadline).items()) as events:
            async for event in events:
                yield event


class LanguageModelAgent:
    """A language model that searches the book by itself and answers from the passages that it finds.

    Sentences that it writes without a search are dropped. If its first searches find nothing, the conversation ends.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._accepted = AcceptedOptions(model)
        self.name = model.name
        self.temperature = model.temperature

    async def converse(
        self, question: Question, search: BookSearch, deadline: Deadline = NO_DEADLINE, *, must_search: bool = True
    ) -> AsyncGenerator[WriterEvent]:
        async def talk(options: RequestOptions) -> AsyncGenerator[WriterEvent | Exception]:
            delimiters, parser = DataDelimiters.create(), StreamParser()
            prompt = build_search_prompt(question, delimiters)
            tool = BookSearchTool(question, search, delimiters, must_search=must_search)
            async with aclosing(self._model.run(prompt, options, tool, turns=MAX_SEARCHES + 1)) as run:
                try:
                    async for piece in run:
                        if isinstance(piece, TokenUsage):
                            yield piece
                        last = piece
                except ServiceResponseError:
                    if not tool.error:
                        raise
            if tool.error:
                yield tool.error
                return
            assert isinstance(last, FinalReply)
            drafted = [] if tool.found_nothing else _feed_parser(parser, last)
            if len(tool.passages):  # without a search the sentences have no evidence
                room = MAX_ANSWER_SENTENCES - bool(parser.missing)
                for sentence in _build_sentences(drafted, tool.passages)[:room]:
                    yield sentence
                if parser.missing:
                    yield MissingPart()

        async with aclosing(RetriedStream(self._accepted, talk, deadline).items()) as events:
            async for event in events:
                if isinstance(event, Exception):
                    raise event  # the search failed, not the model, so another attempt would not help
                yield event


def _feed_parser(parser: StreamParser, piece: str | FinalReply) -> list[DraftSentence]:
    """Returns the sentences that are complete with a piece of the reply, or with its end."""
    try:
        if isinstance(piece, str):
            return parser.feed(piece)
        drafted = [] if parser.text else parser.feed(piece.text)  # some endpoints send everything at once
        parser.end()
        return drafted
    except MalformedReplyError:
        raise build_response_error(LANGUAGE_MODEL_SERVICE) from None


def _build_sentences(
    drafted: list[DraftSentence],
    numbered: NumberedPassages,
    probability: float | None = None,
    room: int = MAX_ANSWER_SENTENCES,
) -> list[AnswerSentence]:
    """Returns at most `room` sentences with their evidence; a reply in another language than the book's is an error."""
    built = [sentence for draft in drafted for sentence in numbered.build_sentences(draft, probability)]
    sentences = [sentence for sentence in built if any(map(str.isalnum, sentence.text))][:room]
    if not all(is_same_language(sentence.text, numbered.text) for sentence in sentences):
        raise ServiceResponseError(
            f"The {LANGUAGE_MODEL_SERVICE} did not answer in the language of the book. Try again.",
            service=LANGUAGE_MODEL_SERVICE,
        )
    return sentences
