"""Lets a language model search the book by itself and answer from the passages that it finds."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from bookbound.answering.writers.llm import prompts
from bookbound.answering.writers.llm.model_requests import AcceptedOptions, RetriedStream
from bookbound.answering.writers.llm.numbered_passages import NumberedPassages
from bookbound.answering.writers.llm.reply_reader import ReplyReader
from bookbound.answering.writers.llm.unicode_guard import strip_invisible
from bookbound.domain.errors import ServiceResponseError
from bookbound.domain.language_model import FinalReply, RequestOptions
from bookbound.domain.ports import BookSearch, LanguageModel
from bookbound.domain.question import MAX_QUESTION_CHARS, NO_DEADLINE, Deadline, Question
from bookbound.domain.reply import SEARCH_TOOL_NAME, MissingPart, WriterEvent
from bookbound.domain.trace import TokenUsage
from bookbound.languages import LANGUAGE

MAX_SEARCHES = 3
MIN_SEARCH_PASSAGES = 3
MAX_SEARCH_PASSAGES = 8
"""The limits of a search, whatever the model asks for."""
_COUNT = re.compile(r"\s{0,9}[0-9]{1,4}\s{0,9}")


class BookSearchTool:
    """The tool with which a model searches the book a few times; a search gives at most the question's `k` passages."""

    name = SEARCH_TOOL_NAME
    description = prompts.SEARCH_TOOL_DESCRIPTION

    def __init__(
        self, question: Question, search: BookSearch, delimiters: prompts.DataDelimiters, *, must_search: bool
    ) -> None:
        self.passages = NumberedPassages()
        self.must_search = must_search
        self.error: Exception | None = None
        self._max_passages = _clamp(question.k, MAX_SEARCH_PASSAGES)
        self._question, self._search, self._delimiters = question, search, delimiters
        self._count = 0

    @property
    def arguments_schema(self) -> Mapping[str, Any]:
        return prompts.build_search_schema(MIN_SEARCH_PASSAGES, self._max_passages)

    @property
    def can_search(self) -> bool:
        return self._count < MAX_SEARCHES

    @property
    def found_nothing(self) -> bool:
        return self._count > 0 and not len(self.passages)

    async def run(self, arguments: str) -> str:
        """Searches with arguments in JSON, and returns what the model reads."""
        if not self.can_search:
            return prompts.NO_MORE_SEARCHES_MESSAGE
        self._count += 1
        query, k = _parse_arguments(arguments)
        wanted = self._max_passages if k is None else _clamp(k, self._max_passages)
        try:
            retrieval, texts = await self._search(query or self._question.text, wanted)
            found = list(zip(retrieval.passages, texts, strict=True)) if texts else []
        except Exception as error:
            self.error = error
            raise
        new = [(number, text) for passage, text in found if (number := self.passages.add(passage))]
        if new:
            return prompts.format_numbered_passages(self._delimiters, new)
        return prompts.NOTHING_NEW_MESSAGE if found else prompts.NOTHING_FOUND_MESSAGE


def _parse_arguments(arguments: str) -> tuple[str, int | None]:
    """Returns the query and the number of passages, if the model gives one."""
    values = json.loads(arguments)
    query, k = values["query"], values.get("k")
    if isinstance(k, str) and _COUNT.fullmatch(k):
        k = int(k)
    if not isinstance(query, str) or not (k is None or type(k) is int):
        raise ValueError("The model's search has no query, or a number of passages that is not a number.")
    return strip_invisible(query).strip()[:MAX_QUESTION_CHARS].strip(), k


def _clamp(k: int, maximum: int) -> int:
    return min(max(k, MIN_SEARCH_PASSAGES), maximum)


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
            delimiters = prompts.DataDelimiters.create()
            prompt = prompts.build_search_prompt(question, LANGUAGE.name, delimiters)
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
            if not len(tool.passages):
                return  # without a search the sentences have no evidence
            reader = ReplyReader(question.text, tool.passages.text)
            for sentence in tool.passages.build_sentences([*reader.feed(last.text), *reader.end()]):
                yield sentence
            if reader.is_missing_part:
                yield MissingPart()

        async with aclosing(RetriedStream(self._accepted, talk, deadline).items()) as events:
            async for event in events:
                if isinstance(event, Exception):
                    raise event  # the search failed, not the model, so another attempt would not help
                yield event
