"""A question becomes passages."""

from __future__ import annotations

from time import perf_counter

from bookbound.book import Passage
from bookbound.dialogue import MOST_PASSAGES, Question, Retrieval, Scope
from bookbound.ports import Embedder, Index
from bookbound.retrieve.selection import selected


async def retrieve(question: Question, embedder: Embedder, index: Index) -> Retrieval:
    """The passages an answer may rest on: the selection, the book's best, or the one and then the other.

    Of the book's there are as many as anyone may ask for, since reading them decides which are the best.
    """
    selection = await selected(question.selection, index) if question.selection else None
    first = (Passage(selection, 1.0),) if selection and question.scope is not Scope.BOOK else ()
    place = selection.place if selection and selection.place.file else None
    if question.scope is Scope.SELECTION:
        return Retrieval(first, place)
    start = perf_counter()
    vector = await embedder.embed_question(question.text)
    embedded = perf_counter()
    found = await index.search(question.text, vector, MOST_PASSAGES)
    searched = perf_counter()
    return Retrieval((*first, *found), place, (embedded - start) * 1000, (searched - embedded) * 1000)
