"""A writer and an agent on the OpenAI Agents SDK, for OpenAI and every endpoint that speaks as it does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from bookbound.answer import prompt
from bookbound.answer.agents_model import LanguageModel
from bookbound.answer.incoming import Drafted, Incoming, Malformed
from bookbound.answer.manner import SERVICE, Answered, Manner
from bookbound.answer.numbered import Numbered
from bookbound.answer.searching import MOST_SEARCHES, Searching
from bookbound.book import Passage
from bookbound.dialogue import MOST_SENTENCES, Missing, Piece, Question, Sentence
from bookbound.errors import BadReply
from bookbound.finding import Judgement
from bookbound.language import same_language
from bookbound.ports import Search
from bookbound.trace import Usage
from bookbound.upstream import unusable

Pieces = AsyncGenerator[Piece]


class AgentsWriter:
    """Has a language model write the answer from the passages, and gives each sentence as soon as it is written.

    Its evidence is the whole of the passages that it names. What is said without naming any has none.
    """

    reads = True

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name = model.name

    async def write(self, question: Question, passages: Sequence[Passage], judgement: Judgement) -> Pieces:
        told = prompt.to_answer(question, passages, judgement)

        async def draft(manner: Manner) -> Pieces:
            book, incoming = Numbered(passages), Incoming()
            said: list[Sentence] = []
            async with aclosing(self._model.run(told, manner)) as run:
                async for piece in run:
                    if isinstance(piece, Usage):
                        yield piece
                        continue
                    known, drafted = len(said), _complete(incoming, piece)
                    said += _sentences(drafted, book, judgement.probability, MOST_SENTENCES - known)
                    # The last waits for the end: the statement that something is missing is a sentence too.
                    for sentence in said[known : MOST_SENTENCES - 1]:
                        yield sentence
            if not (judgement.partial or incoming.missing):
                for sentence in said[MOST_SENTENCES - 1 : MOST_SENTENCES]:
                    yield sentence
            if incoming.missing:
                yield Missing()

        async with aclosing(self._model.pieces(draft)) as pieces:
            async for piece in pieces:
                yield piece


class SearchingAgent:
    """A language model that searches the book by itself, and answers from what it was given to read there.

    What it says without a search is dropped. Where the first searches give it nothing, it is not asked any further.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name, self.temperature = model.name, model.temperature

    async def converse(self, question: Question, search: Search, *, must_search: bool = True) -> Pieces:
        async def talk(manner: Manner) -> AsyncGenerator[Piece | Exception]:
            told, incoming = prompt.to_search(question), Incoming()
            searching = Searching(question, search, told.marks, must=must_search)
            async with aclosing(self._model.run(told, manner, searching, turns=MOST_SEARCHES + 1)) as run:
                try:
                    async for piece in run:
                        if isinstance(piece, Usage):
                            yield piece
                        answered = piece
                except BadReply:
                    if not searching.trouble:
                        raise
            if searching.trouble:
                yield searching.trouble
                return
            assert isinstance(answered, Answered)
            drafted = [] if searching.over else _complete(incoming, answered)
            if len(searching.book):  # what is said without a search rests on nothing
                for sentence in _sentences(drafted, searching.book)[: MOST_SENTENCES - bool(incoming.missing)]:
                    yield sentence
                if incoming.missing:
                    yield Missing()

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


def _sentences(
    drafted: list[Drafted], book: Numbered, probability: float | None = None, room: int = MOST_SENTENCES
) -> list[Sentence]:
    """What was drafted as sentences, if there is room; a reply in another language than the book's cannot be used."""
    said = [sentence for each in drafted for sentence in book.sentences(each, probability)]
    sentences = [sentence for sentence in said if any(map(str.isalnum, sentence.text))][:room]
    if not all(same_language(sentence.text, book.text) for sentence in sentences):
        raise BadReply(f"The {SERVICE} did not answer in the language of the book. Try again.", service=SERVICE)
    return sentences
