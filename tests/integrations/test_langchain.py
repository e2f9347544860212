"""The retriever in LangChain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.integrations.conftest import ANSWERED, UNANSWERED

from bookbound.domain.errors import IndexNotFoundError, InvalidInputError
from bookbound.integrations import describe_passage
from bookbound.library import Book

pytest.importorskip("langchain_core", reason="LangChain is not installed: make test-integrations")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableLambda

from bookbound.integrations.langchain import BookboundRetriever


class RetrieverEvents(BaseCallbackHandler):
    """Notes what a tracer is told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def on_retriever_start(
        self,
        serialized: dict[str, Any],
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.events.append((query, tags, metadata))

    def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        self.events.append(tuple(documents))

    def on_retriever_error(self, error: BaseException, **kwargs: Any) -> None:
        self.events.append((type(error),))


def test_documents_are_the_passages_of_a_search_with_their_metadata_and_scores(book: Book) -> None:
    found = BookboundRetriever(book=book).invoke(ANSWERED)
    passages = book.search(ANSWERED)
    assert found == [
        Document(each.chunk.text, id=each.chunk.id, metadata=describe_passage(book, each) | {"score": each.score})
        for each in passages
    ]
    assert "four seconds" in found[0].page_content


def test_k_can_be_set_for_the_retriever_and_for_one_call(book: Book) -> None:
    retriever = BookboundRetriever(book=book, k=2)
    assert len(retriever.invoke(ANSWERED)) == 2
    assert len(retriever.invoke(ANSWERED, k=1)) == 1
    assert len(asyncio.run(retriever.ainvoke(ANSWERED, k=1))) == 1


def test_only_answerable_retrieves_nothing_if_bookbound_would_not_answer(book: Book) -> None:
    retriever = BookboundRetriever(book=book, only_answerable=True)
    assert "four seconds" in retriever.invoke(ANSWERED)[0].page_content
    assert retriever.invoke(UNANSWERED) == []
    assert BookboundRetriever(book=book).invoke(UNANSWERED)


def test_several_questions_can_be_awaited_at_once(book: Book) -> None:
    retriever = BookboundRetriever(book=book)
    questions = [ANSWERED, "How often is the wick trimmed?"]

    async def retrieve() -> list[list[Document]]:
        return list(await asyncio.gather(*(retriever.ainvoke(question) for question in questions)))

    assert asyncio.run(retrieve()) == retriever.batch(questions)


def test_it_is_a_part_of_a_chain(book: Book) -> None:
    def list_urls(found: list[Document]) -> list[str]:
        return [each.metadata["url"] for each in found]

    chain = BookboundRetriever(book=book, k=1) | RunnableLambda(list_urls)
    assert chain.invoke(ANSWERED) == ["/lamp#the-fog-horn"]


def test_a_configurable_field_uses_the_same_open_book(book: Book) -> None:
    retriever = BookboundRetriever(book=book).configurable_fields(k=ConfigurableField(id="k"))
    assert len(retriever.with_config(configurable={"k": 2}).invoke(ANSWERED)) == 2
    assert len(book.search(ANSWERED)) == 3


def test_callbacks_get_the_question_the_tags_and_the_documents(book: Book) -> None:
    seen = RetrieverEvents()
    retriever = BookboundRetriever(book=book, k=1, tags=["lamps"], metadata={"shelf": 3})
    found = retriever.invoke(ANSWERED, config={"callbacks": [seen], "tags": ["test"]})
    (query, tags, metadata), documents = seen.events
    assert (query, set(tags)) == (ANSWERED, {"lamps", "test"})
    assert metadata.items() >= {"shelf": 3, "ls_retriever_name": "bookbound"}.items()
    assert list(documents) == found


def test_a_question_that_breaks_a_rule_is_an_error_that_callbacks_get(book: Book) -> None:
    seen = RetrieverEvents()
    with pytest.raises(InvalidInputError, match="1 to 2000 characters"):
        BookboundRetriever(book=book).invoke(" ", config={"callbacks": [seen]})
    assert seen.events[-1] == (InvalidInputError,)


def test_it_opens_a_book_of_an_index(index: Path) -> None:
    retriever = BookboundRetriever.from_index(index, book="lights", edition="1.9", k=1)
    try:
        (found,) = retriever.invoke("How often is the wick trimmed?")
    finally:
        retriever.book.close()
    assert "8 hours" in found.page_content
    assert found.metadata["edition"] == "1.9"


def test_a_folder_without_an_index_is_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFoundError):
        BookboundRetriever.from_index(tmp_path)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": 21}, {"top_k": 3}])
def test_a_wrong_field_is_an_error_and_closes_what_was_opened(
    index: Path, wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Book] = []
    close = Book.close

    def note(book: Book) -> None:
        closed.append(book)
        close(book)

    monkeypatch.setattr(Book, "close", note)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BookboundRetriever.from_index(index, book="lights", **wrong)
    assert len(closed) == 1
