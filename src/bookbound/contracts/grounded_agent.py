"""Implements contract 004: an agent that searches the book and returns a grounded answer or a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bookbound.contracts.grounded_agent_models import (
    DEFAULT_K,
    DEFAULT_SCORE_THRESHOLD,
    MAX_ANSWER_LENGTH,
    MAX_CITATIONS,
    MAX_K,
    MIN_CHUNKS_FOR_ANSWER,
    MIN_K,
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
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import InvalidInputError
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, join_sentences
from bookbound.library import Book

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
    """The book's answer, or a refusal in the contract's words; every sentence of an answer has its citation.

    Where a language model is connected, it searches the book by itself and is told what `decide_grounding` lets pass.
    Without a configuration all is as the contract has it, at the temperature of what is connected.
    """
    config = require_valid_config(config or AgentConfig(temperature=get_temperature(book)))
    if not isinstance(question, str):
        raise InvalidInputError("A question is text.")
    query = Question(question).text
    _check_model_settings(config, book)
    if config.tool_choice == "none":
        return AgentResponse(REFUSAL_NO_CONTEXT, [], query, grounded=False, refused=True)

    def grounding(found: Retrieval) -> GroundingContext:
        result = RetrievalResult(query, _to_retrieved_chunks(found.passages), config.collection_name)
        return decide_grounding(result, config.score_threshold)

    def briefing(found: Retrieval) -> list[str]:
        context = grounding(found)
        return [format_chunks_for_agent([chunk]) for chunk in context.chunks] if context.has_context else []

    must = config.tool_choice == "required"
    reply = book.converse(query, briefing, k=config.k, threshold=config.score_threshold, must_search=must)
    context = grounding(reply.trace.retrieval)
    answer, citations = (
        _fit_answer(reply) if isinstance(reply, Answer) and context.has_context else (_refusal_message(context), [])
    )
    return AgentResponse(
        answer,
        citations,
        query,
        grounded=bool(citations),
        refused=not citations,
        retrieval_time_ms=reply.trace.retrieval_ms,
        generation_time_ms=reply.trace.generation_ms,
        tool_calls=list(reply.trace.tools),
    )


def require_valid_config(config: AgentConfig) -> AgentConfig:
    """The configuration; one that breaks a rule is `InvalidInput`."""
    _, problem = validate_config(config)
    if problem:
        raise InvalidInputError(problem)
    return config


def _check_model_settings(config: AgentConfig, book: Book) -> None:
    """That a configuration names no other language model, nor another temperature, than what is connected.

    The contract's own default names no model: it stands for whatever the settings say.
    """
    usual, agent = AgentConfig(), book.pipeline.agent
    if config.model not in (usual.model, agent.name if agent else usual.model):
        connected = f"is {agent.name}" if agent else "is none, and the answers are quotations"
        raise InvalidInputError(f"The language model {connected}. Choose another with the setting `model`, not here.")
    if config.temperature != get_temperature(book):
        freely = f"{get_temperature(book):g}, by the setting `temperature`" if agent else "0, for quotations"
        raise InvalidInputError(f"The temperature is {freely}. Name that, or choose another in the settings.")


def get_temperature(book: Book) -> float:
    """That of the language model which is connected; where there is none, what is said is always the same."""
    return book.pipeline.agent.temperature if book.pipeline.agent else 0.0


def search_knowledge_base(query: str, k: int, book: Book) -> RetrievalResult:
    """The chunks nearest to a query, without a judgement."""
    require_valid_config(AgentConfig(k=k))
    query = Question(query).text
    return RetrievalResult(query, _to_retrieved_chunks(book.search(query, k=k)))


def decide_grounding(result: RetrievalResult, threshold: float) -> GroundingContext:
    """Whether an answer may rest on what was found, and why not."""
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
    """Chunks as blocks for a language model: the citation, then the words as they are."""
    return "\n\n".join(f"{_to_citation(chunk).format()}\n{chunk.text}" for chunk in chunks)


def assemble_context(result: RetrievalResult) -> AssembledContext:
    """All that was found as one text, with its length and each source once, in the order of the chunks."""
    text = format_chunks_for_agent(result.chunks)
    sources = dict.fromkeys(chunk.source_url for chunk in result.chunks)
    return AssembledContext(text, result.count, len(text), list(sources))


def _to_retrieved_chunks(passages: Iterable[Passage]) -> list[RetrievedChunk]:
    return [
        RetrievedChunk(
            text=passage.chunk.text,
            score=passage.score,
            source_url=passage.chunk.place.link,
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


def _refusal_message(context: GroundingContext) -> str:
    """The refusal message: nothing was found, nothing near enough, or nothing that answers."""
    if not context.should_refuse:
        return REFUSAL_OFF_TOPIC
    return REFUSAL_LOW_SCORE if context.chunks else REFUSAL_NO_CONTEXT


def _fit_answer(answer: Answer) -> tuple[str, list[Citation]]:
    """As many sentences as both limits hold beside the reservation, and the chunks that these rest on."""
    told = f"\n\n{answer.reservation}" if answer.reservation else ""
    room = MAX_ANSWER_LENGTH - len(told)
    said: list[AnswerSentence] = []
    used: dict[str, None] = {}
    for sentence in answer.sentences:
        more = used | dict.fromkeys(evidence.chunk_id for evidence in sentence.evidence)
        if said and (len(join_sentences([*said, sentence])) > room or len(more) > MAX_CITATIONS):
            break
        said.append(sentence)
        used = more
    chunks = {chunk.chunk_id: chunk for chunk in _to_retrieved_chunks(answer.passages)}
    said = [replace(said[0], text=_truncate_sentence(said[0].text, room)), *said[1:]]
    return join_sentences([*said, answer.reservation] if told else said), [_to_citation(chunks[name]) for name in used][
        :MAX_CITATIONS
    ]


def _truncate_sentence(text: str, room: int) -> str:
    """The text, or where a single sentence is too long, its beginning up to a word's end."""
    if len(text) <= room:
        return text
    return re.sub(r"\s+\S*$", "", text[: room - 2]) + " …"
