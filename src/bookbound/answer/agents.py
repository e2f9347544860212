"""A writer and an agent on the OpenAI Agents SDK, for OpenAI and every endpoint that speaks as it does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bookbound.answer import prompt
from bookbound.answer.agents_model import LanguageModel
from bookbound.answer.incoming import Drafted, Incoming, Malformed
from bookbound.answer.language import same_language
from bookbound.answer.manner import SERVICE, Answered, Manner
from bookbound.answer.numbered import Numbered
from bookbound.answer.searching import MOST_SEARCHES, Searching
from bookbound.book import Passage
from bookbound.dialogue import MOST_SENTENCES, Question, Sentence, Usage
from bookbound.errors import BadReply
from bookbound.finding import Judgement
from bookbound.ports import Search
from bookbound.upstream import unusable

Pieces = AsyncGenerator[Sentence | Usage]


class AgentsWriter:
    """Has a language model write the answer from the passages, and gives each sentence as soon as it is written.

    Its evidence is the whole of the passages that it names. What is said without naming any has none.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name

    async def write(self, question: Question, passages: Sequence[Passage], judgement: Judgement) -> Pieces:
        told = prompt.to_answer(question, passages, judgement)
        # The statement that this is only part of the answer is a sentence too.
        room = MOST_SENTENCES - judgement.partial

        async def draft(manner: Manner) -> Pieces:
            book, incoming, said = Numbered(passages), Incoming(), 0
            async with aclosing(self._model.run(told, manner)) as run:
                async for piece in run:
                    for sentence in _sentences(_complete(incoming, piece), book, judgement.probability):
                        said += 1
                        if said <= room:
                            yield sentence
                    if isinstance(piece, Answered):
                        yield piece.usage

        async with aclosing(self._model.pieces(draft)) as pieces:
            async for piece in pieces:
                yield piece


class SearchingAgent:
    """A language model that searches the book by itself, and answers from what it was given to read there.

    It must search before it answers. Where the first searches give it nothing, it is not asked any further.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name

    async def converse(self, question: Question, search: Search) -> Pieces:
        async def talk(manner: Manner) -> AsyncGenerator[Sentence | Usage | Exception]:
            told = prompt.to_search(question)
            searching = Searching(question, search, told.marks)
            async with aclosing(self._model.run(told, manner, searching, turns=MOST_SEARCHES + 1)) as run:
                try:
                    async for piece in run:
                        answered = piece
                except BadReply:
                    if not searching.trouble:
                        raise
            if searching.trouble:
                yield searching.trouble
                return
            assert isinstance(answered, Answered)
            drafted = [] if searching.over else _complete(Incoming(), answered)
            if len(searching.book):  # what is said without a search rests on nothing
                for sentence in _sentences(drafted, searching.book)[:MOST_SENTENCES]:
                    yield sentence
            yield answered.usage

        async with aclosing(self._model.pieces(talk, tools=True)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Exception):
                    raise piece  # the search failed, and not the model: it is no use to ask the model again
                yield piece


def _complete(incoming: Incoming, piece: str | Answered) -> list[Drafted]:
    """The sentences that are complete with a piece of the reply, or with its end."""
    try:
        if isinstance(piece, str):
            return incoming.feed(piece)
        late = [] if incoming.text else incoming.feed(piece.text)  # an endpoint that gives all at once
        incoming.end()
        return late
    except Malformed:
        raise unusable(SERVICE) from None


def _sentences(drafted: list[Drafted], book: Numbered, probability: float | None = None) -> list[Sentence]:
    """What was drafted as sentences; a reply in another language than the book's cannot be used."""
    sentences = [book.sentence(each, probability) for each in drafted]
    if not all(same_language(sentence.text, book.text) for sentence in sentences):
        raise BadReply(f"The {SERVICE} did not answer in the language of the book. Try again.", service=SERVICE)
    return [sentence for sentence in sentences if any(map(str.isalnum, sentence.text))]
