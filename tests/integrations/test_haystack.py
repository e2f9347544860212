"""The retriever in Haystack."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.integrations.conftest import ANSWERED, UNANSWERED

from bookbound.domain.errors import BookIndexError, IndexNotFoundError, InvalidInputError
from bookbound.integrations import describe_passage
from bookbound.library import Book

pytest.importorskip("haystack", reason="Haystack is not installed: make test-integrations")

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder

from bookbound.integrations.haystack import BookboundRetriever

MODULE = "bookbound.integrations.haystack"
TEMPLATE = "{% for each in documents %}{{ each.content }} ({{ each.meta.url }}){% endfor %}"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Book]:
    """The books that a test opens."""
    books: list[Book] = []
    init = Book.__init__

    def note(self: Book, *args: Any) -> None:
        books.append(self)
        init(self, *args)

    monkeypatch.setattr(Book, "__init__", note)
    return books


def build_pipeline(retriever: Any) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    pipeline.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    return pipeline


def test_documents_are_the_passages_of_a_search_with_their_scores_and_metadata(book: Book) -> None:
    found = BookboundRetriever(book=book).run(query=ANSWERED)["documents"]
    assert found == [
        Document(id=each.chunk.id, content=each.chunk.text, meta=describe_passage(book, each), score=each.score)
        for each in book.search(ANSWERED)
    ]
    assert "four seconds" in str(found[0].content)


def test_top_k_can_be_set_for_the_component_and_for_one_run(book: Book) -> None:
    retriever = BookboundRetriever(book=book, top_k=2)
    assert len(retriever.run(query=ANSWERED)["documents"]) == 2
    assert len(retriever.run(query=ANSWERED, top_k=1)["documents"]) == 1
    with pytest.raises(InvalidInputError, match="1 to 20, not 0"):
        retriever.run(query=ANSWERED, top_k=0)


def test_only_answerable_retrieves_nothing_if_bookbound_would_not_answer(book: Book) -> None:
    retriever = BookboundRetriever(book=book, only_answerable=True)
    assert "four seconds" in str(retriever.run(query=ANSWERED)["documents"][0].content)
    assert retriever.run(query=UNANSWERED) == {"documents": []}
    assert BookboundRetriever(book=book).run(query=UNANSWERED)["documents"]


def test_awaiting_gives_the_same(book: Book) -> None:
    retriever = BookboundRetriever(book=book)
    assert asyncio.run(retriever.run_async(query=ANSWERED, top_k=2)) == retriever.run(query=ANSWERED, top_k=2)


def test_a_pipeline_opens_the_book_and_closes_it(index: Path, opened: list[Book]) -> None:
    pipeline = build_pipeline(BookboundRetriever(index, book="lights", edition="1.9", top_k=1))
    done = pipeline.run({"retriever": {"query": "How often is the wick trimmed?"}})
    assert done["prompt"]["prompt"] == "The wick of the lamp is trimmed every 8 hours. (/lamp#the-wick)"
    assert len(opened) == 1
    pipeline.close()
    with pytest.raises(BookIndexError, match="closed"):
        opened[0].search(ANSWERED)


def test_warming_up_twice_opens_one_book_and_a_closed_component_opens_it_again(index: Path, opened: list[Book]) -> None:
    retriever = BookboundRetriever(index, book="lights")
    assert opened == []
    retriever.warm_up()
    retriever.warm_up()
    retriever.run(query=ANSWERED)
    assert len(opened) == 1
    retriever.close()
    retriever.close()
    with pytest.raises(BookIndexError, match="closed"):
        opened[0].search(ANSWERED)
    assert retriever.run(query=ANSWERED)["documents"]
    retriever.close()
    assert len(opened) == 2


def test_a_book_that_was_given_stays_open(book: Book) -> None:
    retriever = BookboundRetriever(book=book)
    retriever.warm_up()
    retriever.close()
    assert book.search(ANSWERED)


def test_a_saved_pipeline_works_after_it_is_loaded(index: Path) -> None:
    retriever = BookboundRetriever(index, book="lights", edition="1.9", top_k=1, only_answerable=True)
    saved = build_pipeline(retriever).dumps()
    loaded = Pipeline.loads(saved, allowed_modules=[MODULE])
    assert loaded.dumps() == saved
    asked = loaded.run({"retriever": {"query": "How often is the wick trimmed?"}})
    assert "8 hours" in asked["prompt"]["prompt"]
    assert loaded.run({"retriever": {"query": UNANSWERED}})["prompt"]["prompt"] == ""
    loaded.close()


def test_a_component_is_saved_as_its_parameters(index: Path) -> None:
    saved = BookboundRetriever(index, book="lights").to_dict()
    parameters = {"index": str(index), "book": "lights", "edition": None, "top_k": 5, "only_answerable": False}
    assert saved == {"type": f"{MODULE}.BookboundRetriever", "init_parameters": parameters}
    assert BookboundRetriever.from_dict(saved).to_dict() == saved
    assert BookboundRetriever().to_dict()["init_parameters"]["index"] is None


def test_an_open_book_cannot_be_saved_or_combined_with_an_index(book: Book, index: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        BookboundRetriever(book=book).to_dict()
    with pytest.raises(InvalidInputError, match="Leave `index` and `edition` out"):
        BookboundRetriever(index, book=book)
    with pytest.raises(InvalidInputError, match="Leave `index` and `edition` out"):
        BookboundRetriever(book=book, edition="2.0")


def test_a_folder_without_an_index_is_reported_when_the_component_warms_up(tmp_path: Path) -> None:
    retriever = BookboundRetriever(tmp_path)
    with pytest.raises(IndexNotFoundError):
        retriever.warm_up()
