"""Implements contract 004: an agent that searches the book and returns a grounded answer or a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bookbound.contracts import grounded_agent_models as models
from bookbound.contracts.grounded_agent_models import *  # noqa: F403  (callers find the entities of the contract here)
from bookbound.contracts.serialization import fit_answer
from bookbound.contracts.source_url import build_source_url
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question, QuestionKind, Retrieval
from bookbound.domain.reply import Answer, Reply
from bookbound.library import Book, ConversationOptions


def ask(question: str, book: Book, config: models.AgentConfig | None = None) -> models.AgentResponse:
    """Answer with a citation for every sentence, or refuse in the contract's words.

    A language model, if there is one, searches the book and reads only what `decide_grounding` accepts.
    """
    config = require_valid_config(config or models.AgentConfig(temperature=get_temperature(book)))
    if not isinstance(question, str):
        raise InvalidInputError("The question must be text.")
    query = Question(question).text
    options = _choose_options(config, book)
    if config.tool_choice == "none":
        return models.AgentResponse(models.REFUSAL_NO_CONTEXT, [], query, grounded=False, refused=True)

    def build_context(retrieval: Retrieval) -> models.GroundingContext:
        result = models.RetrievalResult(query, _to_retrieved_chunks(retrieval.passages), config.collection_name)
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
        answer, citations = _describe_refusal(reply, context), []
    return models.AgentResponse(
        answer,
        citations,
        query,
        grounded=bool(citations),
        refused=not citations,
        retrieval_time_ms=reply.trace.retrieval_ms,
        generation_time_ms=reply.trace.total_ms - reply.trace.retrieval_ms,
        tool_calls=list(reply.trace.tool_calls),
    )


def require_valid_config(config: models.AgentConfig) -> models.AgentConfig:
    """The configuration; breaking a rule raises `InvalidInputError`."""
    if not isinstance(config, models.AgentConfig):
        raise InvalidInputError("The configuration must be an AgentConfig.")
    _, problem = models.validate_config(config)
    if problem:
        raise InvalidInputError(problem)
    return config


def _choose_options(config: models.AgentConfig, book: Book) -> ConversationOptions | None:
    """What the configuration changes for this call; the contract's default model and collection mean the book's own."""
    default, agent, temperature = models.AgentConfig(), book.pipeline.engine.agent, get_temperature(book)
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


def search_knowledge_base(query: str, k: int, book: Book) -> models.RetrievalResult:
    """The chunks nearest to a query, without a judgement."""
    require_valid_config(models.AgentConfig(k=k))
    query = Question(query).text
    return models.RetrievalResult(query, _to_retrieved_chunks(book.search(query, k=k)))


def decide_grounding(result: models.RetrievalResult, threshold: float) -> models.GroundingContext:
    """Decide whether the retrieved chunks may be used for an answer."""
    if result.count < models.MIN_CHUNKS_FOR_ANSWER:
        reason = "No content retrieved from knowledge base"
        return models.GroundingContext([], "", should_refuse=True, refusal_reason=reason, query=result.query)
    best = max(chunk.score for chunk in result.chunks)
    low = best < threshold
    return models.GroundingContext(
        chunks=result.chunks,
        formatted_text="" if low else format_chunks_for_agent(result.chunks),
        should_refuse=low,
        refusal_reason=(
            f"All retrieved content has low relevance (max score: {best:.2f} < threshold: {threshold})" if low else ""
        ),
        max_score=best,
        query=result.query,
    )


def format_chunks_for_agent(chunks: Sequence[models.RetrievedChunk]) -> str:
    """Chunks as blocks for a language model: citation, then text."""
    return "\n\n".join(f"{_to_citation(chunk).format()}\n{chunk.text}" for chunk in chunks)


def assemble_context(result: models.RetrievalResult) -> models.AssembledContext:
    """All chunks as one text, with its length and each source once."""
    text = format_chunks_for_agent(result.chunks)
    sources = dict.fromkeys(chunk.source_url for chunk in result.chunks)
    return models.AssembledContext(text, result.count, len(text), list(sources))


def _to_retrieved_chunks(passages: Iterable[Passage]) -> list[models.RetrievedChunk]:
    return [
        models.RetrievedChunk(
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


def _to_citation(chunk: models.RetrievedChunk) -> models.Citation:
    return models.Citation(chunk.source_url, chunk.chapter, chunk.section, chunk.score, chunk.chunk_index)


def _describe_refusal(reply: Reply, context: models.GroundingContext) -> str:
    """Say whether nothing was found, nothing in the book is near, nothing is relevant enough, or nothing answers.

    Nothing was searched for a question in another language, so none of the published sentences is true.
    """
    if reply.trace.question_kind is QuestionKind.OTHER_LANGUAGE:
        return reply.text
    if context.chunks and context.max_score < models.OFF_TOPIC_SCORE:
        return models.REFUSAL_OFF_TOPIC.replace(models.PUBLISHED_TITLE, reply.trace.book_title)
    return models.REFUSAL_LOW_SCORE if context.chunks and context.should_refuse else models.REFUSAL_NO_CONTEXT


def _build_answer(answer: Answer) -> tuple[str, list[models.Citation]]:
    text, shown = fit_answer(answer, models.MAX_ANSWER_LENGTH, models.MAX_CITATIONS)
    chunks = {chunk.chunk_id: chunk for chunk in _to_retrieved_chunks(answer.passages)}
    cited = list(dict.fromkeys(evidence.chunk_id for evidence in shown.citations))
    return text, [_to_citation(chunks[chunk_id]) for chunk_id in cited[: models.MAX_CITATIONS]]
