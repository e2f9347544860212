"""Writes answers with a language model, which may also search the book by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from time import monotonic
from typing import TypeVar

from bookbound.answering.writers import llm_request
from bookbound.answering.writers.llm_request import (
    LANGUAGE_MODEL_SERVICE,
    FinalReply,
    Prompt,
    RequestOptions,
    UnsupportedParameterError,
)
from bookbound.answering.writers.numbered_passages import MAX_SEARCHES, BookSearchTool, NumberedPassages
from bookbound.answering.writers.openai_agents import ModelEndpoint
from bookbound.answering.writers.stream_parser import DraftSentence, MalformedReplyError, StreamParser
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceError, ServiceResponseError
from bookbound.domain.judgement import Judgement
from bookbound.domain.ports import BookSearch
from bookbound.domain.question import Question
from bookbound.domain.reply import MAX_ANSWER_SENTENCES, AnswerSentence, MissingPart, TokenUsage, WriterEvent
from bookbound.services import build_response_error, build_timeout_error, call_with_retry, limit_to_deadline
from bookbound.text.language import is_same_language

DEFAULT_TIMEOUT_SECONDS = 600.0
"""The seconds that all may take that is done for one question, where it has no deadline."""
log = logging.getLogger("bookbound.answering.writers")
Item = TypeVar("Item")


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
        longest: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        self.name, self.temperature = name, temperature
        self._longest = longest
        self._endpoint = ModelEndpoint(name, url, key, responses=api == "responses", longest=longest)
        self._manners = dict.fromkeys((False, True), RequestOptions(temperature))

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    def run(
        self, told: Prompt, manner: RequestOptions, searching: BookSearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[str | TokenUsage | FinalReply]:
        """The text as the model writes it, what each call took, and then the end; every failure is one of ours."""
        agent = self._endpoint.agent(told.instructions, manner, searching)
        return self._endpoint.run(agent, told.message, turns=turns)

    async def pieces(
        self, start: Callable[[RequestOptions], AsyncGenerator[Item]], *, tools: bool = False
    ) -> AsyncGenerator[Item | TokenUsage]:
        """What `start` gives, and last what every try took; begun again as long as it has given nothing else.

        Trouble that may pass is tried again. What an endpoint does not take is left out for this question, and for
        later ones, with tools or without, where it was named and the endpoint takes the rest.
        """
        until, spent = monotonic() + limit_to_deadline(self._longest), TokenUsage()
        manner, refused = self._manners[tools], list[str | None]()

        async def following(pieces: AsyncGenerator[Item]) -> Item | None:
            nonlocal spent
            while isinstance(piece := await anext(pieces, None), TokenUsage):
                spent += piece
            return piece

        async def begin(_: float) -> tuple[Item | None, AsyncGenerator[Item]]:
            nonlocal manner
            while True:
                pieces = start(manner)
                try:
                    first = await following(pieces)
                except UnsupportedParameterError as unfit:
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
            piece, rest = await call_with_retry(begin, service=LANGUAGE_MODEL_SERVICE, most=self._longest)
            async with aclosing(rest):
                while piece is not None:
                    yield piece
                    async with asyncio.timeout(until - monotonic()):
                        piece = await following(rest)
        except TimeoutError:
            yield spent
            raise build_timeout_error(LANGUAGE_MODEL_SERVICE) from None
        except ServiceError:
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


DraftStream = AsyncGenerator[WriterEvent]


class LanguageModelWriter:
    """Has a language model write the answer from the passages, and gives each sentence as soon as it is written.

    Its evidence is the whole of the passages that it names. What is said without naming any has none.
    """

    reads = True

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name

    async def write(self, question: Question, passages: Sequence[Passage], judgement: Judgement) -> DraftStream:
        told = llm_request.build_answer_prompt(question, passages, judgement)

        async def draft(manner: RequestOptions) -> DraftStream:
            book, incoming = NumberedPassages(passages), StreamParser()
            said: list[AnswerSentence] = []
            async with aclosing(self._model.run(told, manner)) as run:
                async for piece in run:
                    if isinstance(piece, TokenUsage):
                        yield piece
                        continue
                    known, drafted = len(said), _feed_parser(incoming, piece)
                    said += _build_sentences(drafted, book, judgement.probability, MAX_ANSWER_SENTENCES - known)
                    # The last waits for the end: the statement that something is missing is a sentence too.
                    for sentence in said[known : MAX_ANSWER_SENTENCES - 1]:
                        yield sentence
            if not (judgement.partial or incoming.missing):
                for sentence in said[MAX_ANSWER_SENTENCES - 1 : MAX_ANSWER_SENTENCES]:
                    yield sentence
            if incoming.missing:
                yield MissingPart()

        async with aclosing(self._model.pieces(draft)) as pieces:
            async for piece in pieces:
                yield piece


class LanguageModelAgent:
    """A language model that searches the book by itself, and answers from what it was given to read there.

    What it says without a search is dropped. Where the first searches give it nothing, it is not asked any further.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name, self.temperature = model.name, model.temperature

    async def converse(self, question: Question, search: BookSearch, *, must_search: bool = True) -> DraftStream:
        async def talk(manner: RequestOptions) -> AsyncGenerator[WriterEvent | Exception]:
            told, incoming = llm_request.build_search_prompt(question), StreamParser()
            searching = BookSearchTool(question, search, told.marks, must=must_search)
            async with aclosing(self._model.run(told, manner, searching, turns=MAX_SEARCHES + 1)) as run:
                try:
                    async for piece in run:
                        if isinstance(piece, TokenUsage):
                            yield piece
                        answered = piece
                except ServiceResponseError:
                    if not searching.trouble:
                        raise
            if searching.trouble:
                yield searching.trouble
                return
            assert isinstance(answered, FinalReply)
            drafted = [] if searching.over else _feed_parser(incoming, answered)
            if len(searching.book):  # what is said without a search rests on nothing
                for sentence in _build_sentences(drafted, searching.book)[
                    : MAX_ANSWER_SENTENCES - bool(incoming.missing)
                ]:
                    yield sentence
                if incoming.missing:
                    yield MissingPart()

        async with aclosing(self._model.pieces(talk, tools=True)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Exception):
                    raise piece  # the search failed, and not the model: it is no use to ask the model again
                yield piece


def _feed_parser(incoming: StreamParser, piece: str | FinalReply) -> list[DraftSentence]:
    """The sentences that are complete with a piece of the reply, or with its end."""
    try:
        if isinstance(piece, str):
            return incoming.feed(piece)
        late = [] if incoming.text else incoming.feed(piece.text)  # an endpoint that gives all at once
        incoming.end()
        return late
    except MalformedReplyError:
        raise build_response_error(LANGUAGE_MODEL_SERVICE) from None


def _build_sentences(
    drafted: list[DraftSentence],
    book: NumberedPassages,
    probability: float | None = None,
    room: int = MAX_ANSWER_SENTENCES,
) -> list[AnswerSentence]:
    """What was drafted as sentences, if there is room; a reply in another language than the book's cannot be used."""
    said = [sentence for each in drafted for sentence in book.sentences(each, probability)]
    sentences = [sentence for sentence in said if any(map(str.isalnum, sentence.text))][:room]
    if not all(is_same_language(sentence.text, book.text) for sentence in sentences):
        raise ServiceResponseError(
            f"The {LANGUAGE_MODEL_SERVICE} did not answer in the language of the book. Try again.",
            service=LANGUAGE_MODEL_SERVICE,
        )
    return sentences
