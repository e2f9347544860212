"""Finds the passages that may answer a question."""

from __future__ import annotations

from time import perf_counter

from bookbound.answering.retrieve.selection import locate_selection
from bookbound.domain.chunk import Passage
from bookbound.domain.ports import Embedder, Index
from bookbound.domain.question import MAX_PASSAGES, AnswerScope, Question, Retrieval


async def retrieve_passages(question: Question, embedder: Embedder, index: Index) -> Retrieval:
    """The passages an answer may rest on: the selection, the book's best, or the one and then the other.

    Of the book's there are as many as anyone may ask for, since reading them decides which are the best.
    """
    selection = await locate_selection(question.selection, index) if question.selection else None
    first = (Passage(selection, 1.0),) if selection and question.scope is not AnswerScope.BOOK else ()
    place = selection.place if selection and selection.place.file else None
    if question.scope is AnswerScope.SELECTION:
        return Retrieval(first, place)
    start = perf_counter()
    vector = await embedder.embed_question(question.text)
    embedded = perf_counter()
    found = await index.search(question.text, vector, MAX_PASSAGES)
    searched = perf_counter()
    return Retrieval((*first, *found), place, (embedded - start) * 1000, (searched - embedded) * 1000)
