"""Implements contract 004: an agent that searches the book and returns a grounded answer or a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bookbound.contracts.grounded_agent_models import (
    DEFAULT_K,
    DEFAULT_SCORE_THRESHOLD,
    MAX_ANSWER_LENGTH,
    MAX_CITATIONS,
    MAX_K,
    MIN_CHUNKS_FOR_ANSWER,
    MIN_K,
    OFF_TOPIC_SCORE,
    PUBLISHED_TITLE,
    REFUSAL_LOW_SCORE,
    REFUSAL_NO_CONTEXT,
    REFUSAL_OFF_TOPIC,
    AgentConfig,
    AgentResponse,
    AssembledContext,
    Citation,
    GroundingContext,
    RetrievalResult,
    RetrievedChunk,
    validate_config,
)
from bookbound.contracts.serialization import fit_answer
from bookbound.contracts.source_url import build_source_url
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import Answer
from bookbound.library import Book, ConversationOptions

__all__ = [
    "DEFAULT_K",
    "DEFAULT_SCORE_THRESHOLD",
    "MAX_ANSWER_LENGTH",
    "MAX_CITATIONS",
    "MAX_K",
    "MIN_CHUNKS_FOR_ANSWER",
    "MIN_K",
    "REFUSAL_LOW_SCORE",
    "REFUSAL_NO_CONTEXT",
    "REFUSAL_OFF_TOPIC",
    "AgentConfig",
    "AgentResponse",
    "AssembledContext",
    "Citation",
    "GroundingContext",
    "RetrievalResult",
    "RetrievedChunk",
    "ask",
    "assemble_context",
    "decide_grounding",
    "format_chunks_for_agent",
    "get_temperature",
    "require_valid_config",
    "search_knowledge_base",
    "validate_config",
]


def ask(question: str, book: Book, config: AgentConfig | None = None) -> AgentResponse:
    """Answer with a citation for every sentence, or refuse in the contract's words.

    A language model, if there is one, searches the book and reads only what `decide_grounding` accepts.
    """
    config = require_valid_config(config or AgentConfig(temperature=get_temperature(book)))
    if not isinstance(question, str):
        raise InvalidInputError("The question must be text.")
    query = Question(question).text
    options = _choose_options(config, book)
    if config.tool_choice == "none":
        return AgentResponse(REFUSAL_NO_CONTEXT, [], query, grounded=False, refused=True)

    def build_context(retrieval: Retrieval) -> GroundingContext:
        result = RetrievalResult(query, _to_retrieved_chunks(retrieval.passages), config.collection_name)
        return decide_grounding(result, config.score_threshold)

    def format_passages(retrieval: Retrieval) -> list[str]:
        context = build_context(retrieval)
        return [format_chunks_for_agent([chunk]) for chunk in context.chunks] if context.has_context else []

    reply = book.converse(
        query,
        format_passages,
        k=config.k,
        threshold=config.score_threshold,
        must_search=config.tool_choice == "required",
        options=options,
    )
    context = build_context(reply.trace.retrieval)
    if isinstance(reply, Answer) and context.has_context:
        answer, citations = _build_answer(reply)
    else:
        answer, citations = _refusal_message(context, reply.trace.book_title), []
    return AgentResponse(
        answer,
        citations,
        query,
        grounded=bool(citations),
        refused=not citations,
        retrieval_time_ms=reply.trace.retrieval_ms,
        generation_time_ms=reply.trace.total_ms - reply.trace.retrieval_ms,
        tool_calls=list(reply.trace.tool_calls),
    )


def require_valid_config(config: AgentConfig) -> AgentConfig:
    """The configuration; breaking a rule raises `InvalidInputError`."""
    if not isinstance(config, AgentConfig):
        raise InvalidInputError("The configuration must be an AgentConfig.")
    _, problem = validate_config(config)
    if problem:
        raise InvalidInputError(problem)
    return config


def _choose_options(config: AgentConfig, book: Book) -> ConversationOptions | None:
    """What the configuration changes for this call; the contract's default model and collection mean the book's own."""
    default, agent, temperature = AgentConfig(), book.pipeline.engine.agent, get_temperature(book)
    model = "" if config.model in (default.model, agent.name if agent else "") else config.model
    if agent is None and (model or config.temperature != temperature):
        raise InvalidInputError(
            "There is no language model: answers are quotes. Set `llm_model` to choose a model and a temperature."
        )
    options = ConversationOptions(
        model,
        None if config.temperature == temperature else config.temperature,
        "" if config.collection_name == default.collection_name else config.collection_name,
    )
    return None if options == ConversationOptions() else options


def get_temperature(book: Book) -> float:
    """The temperature of the language model; without one, answers are always the same."""
    return book.pipeline.engine.agent.temperature if book.pipeline.engine.agent else 0.0


def search_knowledge_base(query: str, k: int, book: Book) -> RetrievalResult:
    """The chunks nearest to a query, without a judgement."""
    require_valid_config(AgentConfig(k=k))
    query = Question(query).text
    return RetrievalResult(query, _to_retrieved_chunks(book.search(query, k=k)))


def decide_grounding(result: RetrievalResult, threshold: float) -> GroundingContext:
    """Decide whether the retrieved chunks may be used for an answer."""
    if result.count < MIN_CHUNKS_FOR_ANSWER:
        reason = "No content retrieved from knowledge base"
        return GroundingContext([], "", should_refuse=True, refusal_reason=reason, query=result.query)
    best = max(chunk.score for chunk in result.chunks)
    low = best < threshold
    return GroundingContext(
        chunks=result.chunks,
        formatted_text="" if low else format_chunks_for_agent(result.chunks),
        should_refuse=low,
        refusal_reason=(
            f"All retrieved content has low relevance (max score: {best:.2f} < threshold: {threshold})" if low else ""
        ),
        max_score=best,
        query=result.query,
    )


def format_chunks_for_agent(chunks: Sequence[RetrievedChunk]) -> str:
    """Chunks as blocks for a language model: citation, then text."""
    return "\n\n".join(f"{_to_citation(chunk).format()}\n{chunk.text}" for chunk in chunks)


def assemble_context(result: RetrievalResult) -> AssembledContext:
    """All chunks as one text, with its length and each source once."""
    text = format_chunks_for_agent(result.chunks)
    sources = dict.fromkeys(chunk.source_url for chunk in result.chunks)
    return AssembledContext(text, result.count, len(text), list(sources))


def _to_retrieved_chunks(passages: Iterable[Passage]) -> list[RetrievedChunk]:
    return [
        RetrievedChunk(
            text=passage.chunk.text,
            score=passage.score,
            source_url=build_source_url(passage.chunk.place),
            chunk_index=passage.chunk.position,
            chunk_id=passage.chunk.id,
            chapter=passage.chunk.place.chapter,
            section=passage.chunk.place.section,
            title=passage.chunk.place.title,
        )
        for passage in passages
    ]


def _to_citation(chunk: RetrievedChunk) -> Citation:
    return Citation(chunk.source_url, chunk.chapter, chunk.section, chunk.score, chunk.chunk_index)


def _refusal_message(context: GroundingContext, title: str) -> str:
    """Say whether nothing was found, nothing in the book is near, nothing is relevant enough, or nothing answers."""
    if context.chunks and context.max_score < OFF_TOPIC_SCORE:
        return REFUSAL_OFF_TOPIC.replace(PUBLISHED_TITLE, title)
    return REFUSAL_LOW_SCORE if context.chunks and context.should_refuse else REFUSAL_NO_CONTEXT


def _build_answer(answer: Answer) -> tuple[str, list[Citation]]:
    text, shown = fit_answer(answer, MAX_ANSWER_LENGTH, MAX_CITATIONS)
    chunks = {chunk.chunk_id: chunk for chunk in _to_retrieved_chunks(answer.passages)}
    cited = list(dict.fromkeys(evidence.chunk_id for evidence in shown.citations))
    return text, [_to_citation(chunks[chunk_id]) for chunk_id in cited[:MAX_CITATIONS]]
