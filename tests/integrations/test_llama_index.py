"""The retriever in LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.integrations.conftest import ANSWERED, PAGE, UNANSWERED

from bookbound.domain.errors import IndexNotFoundError, InvalidInputError
from bookbound.integrations import describe_passage
from bookbound.library import Book

pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed: make test-integrations")

from llama_index.core import get_response_synthesizer
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeRelationship, QueryBundle, RelatedNodeInfo, TextNode

from bookbound.integrations.llama_index import BookboundRetriever


def test_nodes_are_the_passages_of_a_search_with_their_scores_and_metadata(book: Book) -> None:
    found = BookboundRetriever(book).retrieve(ANSWERED)
    passages = book.search(ANSWERED)
    assert [(each.node_id, each.text, each.score) for each in found] == [
        (each.chunk.id, each.chunk.text, each.score) for each in passages
    ]
    assert [each.metadata for each in found] == [describe_passage(book, each) for each in passages]
    assert "four seconds" in found[0].text


def test_a_node_has_its_span_and_its_page_as_the_source(book: Book) -> None:
    node = BookboundRetriever(book).retrieve(QueryBundle(ANSWERED))[0].node
    assert isinstance(node, TextNode)
    assert PAGE.format(hours=12)[node.start_char_idx : node.end_char_idx] == node.get_content()
    source = node.relationships[NodeRelationship.SOURCE]
    assert isinstance(source, RelatedNodeInfo)
    assert (source.node_id, source.metadata, node.ref_doc_id) == ("lamp.md", {"url": "/lamp"}, "lamp.md")


def test_a_language_model_reads_the_place_for_people_alone(book: Book) -> None:
    node = BookboundRetriever(book).retrieve(ANSWERED)[0].node
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        text = node.get_content(mode)
        assert "section: The fog horn" in text
        assert "four seconds" in text
        assert "span_start" not in text
        assert node.node_id not in text


def test_the_number_of_nodes_can_be_set(book: Book) -> None:
    assert len(BookboundRetriever(book, similarity_top_k=2).retrieve(ANSWERED)) == 2


def test_only_answerable_retrieves_nothing_if_bookbound_would_not_answer(book: Book) -> None:
    retriever = BookboundRetriever(book, only_answerable=True)
    assert "four seconds" in retriever.retrieve(ANSWERED)[0].text
    assert retriever.retrieve(UNANSWERED) == []
    assert BookboundRetriever(book).retrieve(UNANSWERED)


def test_awaiting_gives_the_same_and_leaves_the_loop_free(book: Book) -> None:
    retriever = BookboundRetriever(book)
    ticks = 0

    async def retrieve() -> list[str]:
        nonlocal ticks
        asking = asyncio.ensure_future(retriever.aretrieve(ANSWERED))
        while not asking.done():
            ticks += 1
            await asyncio.sleep(0)
        return [each.node_id for each in await asking]

    assert asyncio.run(retrieve()) == [each.node_id for each in retriever.retrieve(ANSWERED)]
    assert ticks > 2


def test_callbacks_get_the_nodes(book: Book) -> None:
    seen = LlamaDebugHandler(print_trace_on_end=False)
    retriever = BookboundRetriever(book, callback_manager=CallbackManager([seen]))
    found = retriever.retrieve(ANSWERED)
    ((_, end),) = seen.get_event_pairs(CBEventType.RETRIEVE)
    assert end.payload is not None
    assert end.payload["nodes"] == found


def test_a_query_engine_reads_the_passages(book: Book) -> None:
    synthesizer = get_response_synthesizer(llm=MockLLM())
    engine = RetrieverQueryEngine(BookboundRetriever(book, similarity_top_k=1), response_synthesizer=synthesizer)
    response = engine.query(ANSWERED)
    assert "four seconds" in str(response)
    assert [each.metadata["url"] for each in response.source_nodes] == ["/lamp#the-fog-horn"]


def test_an_engine_without_passages_asks_no_language_model(book: Book) -> None:
    retriever = BookboundRetriever(book, only_answerable=True)
    synthesizer = get_response_synthesizer(llm=MockLLM())
    response = RetrieverQueryEngine(retriever, response_synthesizer=synthesizer).query(UNANSWERED)
    assert (str(response), response.source_nodes) == ("Empty Response", [])


def test_a_passage_that_two_questions_find_is_one_node_after_fusion(book: Book) -> None:
    """The fusion compares hashes of nodes, so nothing in the metadata may depend on the question."""
    retrievers = [BookboundRetriever(book), BookboundRetriever(book)]
    one = {each.node_id: each.node.hash for each in retrievers[0].retrieve(ANSWERED)}
    two = {each.node_id: each.node.hash for each in retrievers[0].retrieve("How often is the wick trimmed?")}
    assert one == two
    fused = QueryFusionRetriever(list(retrievers), llm=MockLLM(), similarity_top_k=20, num_queries=1, use_async=False)
    assert len(fused.retrieve(ANSWERED)) == len(one)


def test_a_number_of_nodes_that_breaks_a_rule_is_an_error(book: Book) -> None:
    with pytest.raises(InvalidInputError, match="1 to 20, not 21"):
        BookboundRetriever(book, similarity_top_k=21).retrieve(ANSWERED)


def test_it_opens_a_book_of_an_index(index: Path, tmp_path: Path) -> None:
    retriever = BookboundRetriever.from_index(index, book="lights", edition="1.9", similarity_top_k=1)
    try:
        (found,) = retriever.retrieve("How often is the wick trimmed?")
    finally:
        retriever.book.close()
    assert "8 hours" in found.text
    assert found.metadata["edition"] == "1.9"
    with pytest.raises(IndexNotFoundError):
        BookboundRetriever.from_index(tmp_path)
