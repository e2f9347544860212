"""Writes answers with a language model, which may also search the book by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from time import monotonic
from typing import Generic, TypeVar

from bookbound.answering.writers import llm_request
from bookbound.answering.writers.llm_request import (
    LANGUAGE_MODEL_SERVICE,
    FinalReply,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.answering.writers.numbered_passages import MAX_SEARCHES, BookSearchTool, NumberedPassages
from bookbound.answering.writers.openai_agents import LanguageModel
from bookbound.answering.writers.stream_parser import DraftSentence, MalformedReplyError, StreamParser
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceResponseError
from bookbound.domain.judgement import Judgement
from bookbound.domain.ports import BookSearch
from bookbound.domain.question import NO_DEADLINE, Deadline, Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence, MissingPart, WriterEvent
from bookbound.domain.trace import TokenUsage
from bookbound.languages.detection import is_same_language
from bookbound.services import build_response_error, build_timeout_error, call_with_retry

Item = TypeVar("Item")


class RetriedStream(Generic[Item]):
    """A stream from a model that starts again after an error that may pass, as long as it has yielded nothing.

    An endpoint that rejects an option is asked without it. If it named the option and accepts the rest, later
    questions, with tools or without, leave it out too.
    """

    def __init__(
        self,
        model: LanguageModel,
        start: Callable[[RequestOptions], AsyncGenerator[Item]],
        deadline: Deadline,
        *,
        with_tools: bool = False,
    ) -> None:
        self._model, self._start, self._deadline, self._with_tools = model, start, deadline, with_tools
        self._options = model.options[with_tools]
        self._rejected: list[str | None] = []
        self._usage = TokenUsage()

    async def items(self) -> AsyncGenerator[Item | TokenUsage]:
        """Yields the items, and last the token usage of every attempt."""
        seconds = self._deadline.limit(self._model.timeout_seconds)
        end = monotonic() + seconds
        try:
            item, stream = await call_with_retry(
                self._open, service=LANGUAGE_MODEL_SERVICE, seconds=seconds, deadline=self._deadline
            )
            async with aclosing(stream):
                while item is not None:
                    yield item
                    async with asyncio.timeout(end - monotonic()):
                        item = await self._next_item(stream)
        except TimeoutError:
            yield self._usage
            raise build_timeout_error(LANGUAGE_MODEL_SERVICE) from None
        except ServiceError:
            yield self._usage
            raise
        yield self._usage

    async def _open(self, _: float) -> tuple[Item | None, AsyncGenerator[Item]]:
        """Starts the stream with the options that the endpoint accepts, and returns its first item."""
        while True:
            stream = self._start(self._options)
            try:
                first = await self._next_item(stream)
            except UnsupportedParameterError as error:
                reduced = self._options.without(error.parameter)
                named = reduced != self._options
                reduced = reduced if named else self._options.plain
                if reduced == self._options:
                    raise
                self._options = reduced
                self._rejected.append(error.parameter if named else None)
            else:
                rejected = [parameter for parameter in self._rejected if parameter]
                if len(rejected) == len(self._rejected):
                    self._model.disable_options(rejected, self._with_tools)
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
        self.name = model.name

    async def write(
        self,
        question: Question,
        passages: Sequence[Passage],
        judgement: Judgement,
        deadline: Deadline = NO_DEADLINE,
    ) -> AsyncGenerator[WriterEvent]:
        prompt = llm_request.build_answer_prompt(question, passages, judgement)

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

        async with aclosing(RetriedStream(self._model, draft, deadline).items()) as events:
            async for event in events:
                yield event


class LanguageModelAgent:
    """A language model that searches the book by itself and answers from the passages that it finds.

    Sentences that it writes without a search are dropped. If its first searches find nothing, the conversation ends.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name, self.temperature = model.name, model.temperature

    async def converse(
        self, question: Question, search: BookSearch, deadline: Deadline = NO_DEADLINE, *, must_search: bool = True
    ) -> AsyncGenerator[WriterEvent]:
        async def talk(options: RequestOptions) -> AsyncGenerator[WriterEvent | Exception]:
            prompt, parser = llm_request.build_search_prompt(question), StreamParser()
            tool = BookSearchTool(question, search, prompt.delimiters, must_search=must_search)
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

        async with aclosing(RetriedStream(self._model, talk, deadline, with_tools=True).items()) as events:
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
