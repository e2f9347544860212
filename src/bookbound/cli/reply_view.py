"""Formats replies and passages as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bookbound.cli.block_view import format_block, format_completed_question
from bookbound.cli.terminal import (
    BLANK_LINE,
    StyledLine,
    StyledText,
    escape_line_breaks,
    format_count,
    format_table,
    styled,
)
from bookbound.contracts.serialization import build_highlight_link
from bookbound.domain.book_ref import UNNAMED_EDITION_LABEL
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Evidence, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, QuestionKind, Retrieval
from bookbound.domain.reply import (
    Answer,
    AnswerSentence,
    Refusal,
    Reply,
    Source,
    Unsure,
    find_source_numbers,
    group_by_section,
    shorten,
)
from bookbound.domain.reply_blocks import build_blocks
from bookbound.domain.trace import SentenceCounts, Trace

if TYPE_CHECKING:
    from bookbound.contracts.agent import AgentResponse
    from bookbound.contracts.grounded_agent import AgentResponse as GroundedResponse

MAX_EXCERPT_CHARS = 240
REFUSAL_EXPLANATIONS = {
    RefusalReason.EMPTY_RETRIEVAL: "Nothing in the index is close to the question.",
    RefusalReason.LOW_RELEVANCE: "No passage is close enough to the question.",
    RefusalReason.INSUFFICIENT_GROUNDING: "Some passages come close, but none states the answer clearly enough.",
    RefusalReason.SELECTED_TEXT_MISSING: "Only the selected text was read. Select more of it, or nothing.",
}
MODEL_FAILED_MESSAGE = "The language model gave no usable answer; this is the book's own wording."
MODEL_INTERRUPTED_MESSAGE = "The language model failed before it had finished this answer."
MODEL_MISSED_MESSAGE = "The language model failed; it might have found an answer."


def format_agent_reply(reply: AgentResponse, verbose: bool) -> Iterator[StyledLine]:
    yield from _format_answer_text(reply.answer, reply.has_relevant_context)
    for number, source in enumerate(reply.sources, 1):
        names = " › ".join(dict.fromkeys(name for name in (source.chapter, source.section) if name))
        yield _format_numbered(f"[{number}] ", "cyan", names, format_similarity(source.relevance_score))
        yield styled((source.url, "dim"), indent=4, no_wrap=True)
    if verbose:
        yield BLANK_LINE
        yield from format_table(_build_timing_rows(reply))


def format_grounded_agent_reply(reply: GroundedResponse, verbose: bool) -> Iterator[StyledLine]:
    yield from _format_answer_text(reply.answer, reply.grounded)
    for citation in reply.citations:
        yield styled((citation.format(), "dim"), no_wrap=True)
    if verbose:
        yield BLANK_LINE
        yield from format_table([*_build_timing_rows(reply), ("Tools", ", ".join(reply.tool_calls))])


def _format_answer_text(text: str, is_answered: bool) -> Iterator[StyledLine]:
    yield styled((text, "" if is_answered else "bold yellow"), no_wrap="\n" in text)
    if is_answered:
        yield BLANK_LINE


def _build_timing_rows(reply: AgentResponse | GroundedResponse) -> list[tuple[str, str]]:
    times = (reply.retrieval_time_ms, reply.generation_time_ms, reply.total_time_ms)
    return [(name, f"{time:.1f} ms") for name, time in zip(("Retrieval", "Generation", "Total"), times, strict=True)]


def format_reply(reply: Reply, verbose: bool = False, threshold: float = 0.0) -> Iterator[StyledLine]:
    """An answer with its citations, or the closest passages or sections; `verbose` adds judgement and timings."""
    trace = reply.trace
    yield from format_completed_question(trace.completed_question)
    if trace.note:
        yield from (styled((trace.note, "dim")), BLANK_LINE)
    if isinstance(reply, Answer):
        yield from format_answer(reply)
    elif trace.question_kind not in (QuestionKind.SMALL_TALK, QuestionKind.OTHER_LANGUAGE):
        yield from format_unsure(reply) if isinstance(reply, Unsure) else format_refusal(reply, threshold)
        yield from (BLANK_LINE, styled((reply.reservation, "bold yellow"))) if reply.reservation else ()
    yield from _format_selection(reply.trace.retrieval)
    if verbose:
        yield from _format_trace(reply)


def format_answer(answer: Answer) -> Iterator[StyledLine]:
    """The blocks, the numbers of their sources after the last block with the same ones, then notes, then sources."""
    sources = answer.sources
    blocks = [(block, _format_numbers(block.evidence, sources)) for block in answer.blocks]
    for (block, numbers), (following, next_numbers) in zip(blocks, [*blocks[1:], (None, "")], strict=True):
        by_item = [_format_numbers([item.quote], sources) for item in block.items]
        continues = following is not None and block.is_verified and following.is_verified
        cited = "" if continues and numbers == next_numbers else numbers
        yield from format_block(block, cited, answer.find_marks(block), by_item if len({*by_item}) > 1 else ())
        yield BLANK_LINE
    notes = (answer.reservation, answer.verification_note, _describe_model_failure(answer))
    for note in (*notes, _describe_edition_differences(answer)):
        if note:
            yield styled((note, "bold yellow"))
            yield BLANK_LINE
    shown = {quote.text for sentence in answer.sentences for quote in sentence.evidence if quote.text in sentence.text}
    shown |= {
        sentence.evidence[0].text for sentence in answer.sentences if sentence.evidence and not sentence.is_verified
    }
    for source in sources:
        yield from _format_source(source)
        for quote in source.quotes:
            if quote.text not in shown:
                yield styled(("“" + quote.text + "”", "italic"), indent=4, no_wrap="\n" in quote.text)


def _format_numbers(quotes: Sequence[Evidence | None], sources: Sequence[Source]) -> str:
    return "".join(f"[{number}]" for number in find_source_numbers(quotes, sources))


def format_unsure(unsure: Unsure) -> Iterator[StyledLine]:
    """The statement, then the quotes that come closest, each section with its place."""
    yield styled((unsure.text, "bold yellow"))
    if unsure.trace.degraded:
        yield styled(MODEL_MISSED_MESSAGE)
    for source in group_by_section(unsure.closest):
        yield BLANK_LINE
        for at, block in enumerate(build_blocks(AnswerSentence(quote.text, (quote,)) for quote in source.quotes)):
            yield from [BLANK_LINE] * bool(at)
            yield from format_block(block)
        yield from _format_source(source)


def format_refusal(refusal: Refusal, threshold: float = 0.0) -> Iterator[StyledLine]:
    """The refusal, its reason, and the closest sections."""
    found = [passage for passage in refusal.trace.retrieval.passages if passage.chunk.id != SELECTION_CHUNK_ID]
    reason = MODEL_MISSED_MESSAGE if refusal.trace.degraded else _explain_refusal(refusal.kind, found, threshold)
    yield styled((refusal.text, "bold yellow"))
    yield styled(reason)
    if refusal.closest:
        yield BLANK_LINE
        yield styled(("The closest sections:", "dim"))
    for place in refusal.closest:
        yield styled((_join_path(place), "dim"), indent=2)
        yield styled((place.link, "dim"), indent=4, no_wrap=True)


def format_passages(passages: Sequence[Passage]) -> Iterator[StyledLine]:
    """Search results: rank, similarity, address and the beginning of the text."""
    for rank, passage in enumerate(passages, 1):
        place = passage.chunk.place
        yield _format_numbered(f"{rank}. ", "bold", _join_path(place), format_similarity(passage.score))
        yield from _format_address(place, indent=3)
        yield styled(shorten(passage.chunk.text, MAX_EXCERPT_CHARS), indent=3)
        yield BLANK_LINE


def format_similarity(score: float) -> StyledText:
    """The similarity of a passage to the question, which is not what orders the passages."""
    return f"  similarity {score:.2f}", "cyan"


def _format_numbered(number: str, style: str, title: str, *more: StyledText) -> StyledLine:
    return styled((number, style), (title, "bold"), *more, hanging_indent=len(number))


def _join_path(place: Place) -> str:
    return " › ".join(place.heading_path)


def _format_source(source: Source) -> Iterator[StyledLine]:
    yield _format_numbered(f"[{source.number}] ", "cyan", _join_path(source.place))
    yield from _format_address(source.place, indent=4, words=source.quotes[0].text)


def _format_address(place: Place, indent: int, words: str = "") -> Iterator[StyledLine]:
    """A link for people, then file and characters for machines; text that is not from the book has neither.

    In a terminal that knows links it opens the page with the words highlighted.
    """
    if place.file:
        target = f" link {build_highlight_link(place, words)}" if urlsplit(place.url).scheme else ""
        yield styled((place.link, f"dim{target}"), indent=indent, no_wrap=True)
        file = escape_line_breaks(place.file).partition("#page=")[0]
        page = f", page {escape_line_breaks(place.page_label or str(place.page))}" if place.page is not None else ""
        yield styled((f"{file}, characters {place.start}-{place.end}{page}", "dim"), indent=indent, no_wrap=True)


def _format_selection(retrieval: Retrieval) -> Iterator[StyledLine]:
    """Where the selected text is in the book, or that it is not from the book."""
    if not any(passage.chunk.id == SELECTION_CHUNK_ID for passage in retrieval.passages):
        return
    yield BLANK_LINE
    if retrieval.selection:
        yield styled((f"The selected text is in {_join_path(retrieval.selection)}", "dim"))
        yield from _format_address(retrieval.selection, indent=2)
    else:
        yield styled(("The selected text is not from this book.", "dim"))


def _explain_refusal(reason: RefusalReason, found: Sequence[Passage], threshold: float) -> str:
    best = max((passage.score for passage in found), default=0.0)
    if reason is RefusalReason.LOW_RELEVANCE and best < threshold:
        shown = floor(best * 100) / 100  # rounded down, so that it is never shown as equal to the threshold
        return f"The highest similarity of a passage is {shown:.2f}, below the threshold {threshold:g}."
    return REFUSAL_EXPLANATIONS[reason]


def _describe_model_failure(answer: Answer) -> str:
    if not answer.trace.degraded:
        return ""
    return MODEL_FAILED_MESSAGE if answer.trace.writer == "quotes" else MODEL_INTERRUPTED_MESSAGE


def _describe_edition_differences(answer: Answer) -> str:
    others = answer.trace.differing_editions
    edition = answer.trace.edition or UNNAMED_EDITION_LABEL
    return f"Other editions do not say this word for word: {', '.join(others)} (asked: {edition})." if others else ""


def _format_trace(reply: Reply) -> Iterator[StyledLine]:
    """The judgement, the passages and the time of each stage."""
    judgement, trace = reply.judgement, reply.trace
    verdict = f"{judgement.explain(reply.status)}; retrieval quality {judgement.quality}"
    relevant = f"{len(judgement.relevant_chunk_ids)} of {format_count(len(trace.retrieval.passages), 'passage')}"
    yield BLANK_LINE
    rows = [
        ("Judgement", verdict),
        ("Relevant", relevant),
        ("Time", ", ".join(f"{name} {value:.1f} ms" for name, value in trace.milliseconds.items())),
        ("Writer", _describe_writer(trace)),
        *([("Sentences", _describe_counts(trace.sentences))] if any(trace.sentences) else []),
    ]
    yield from format_table([*rows, ("Embedder", trace.embedder), ("Generation", trace.generation)])
    yield BLANK_LINE
    yield from format_passages(trace.retrieval.passages)


def _describe_counts(counts: SentenceCounts) -> str:
    shown = (
        "none of them shown" if counts.is_withheld else f"{counts.unverified} not verified, {counts.dropped} dropped"
    )
    return f"{counts.verified} verified, {shown}"


def _describe_writer(trace: Trace) -> str:
    used = trace.usage
    took = f"{format_count(used.calls, 'call')}, {used.input_tokens} input tokens, {used.output_tokens} output tokens"
    return f"{trace.writer} ({took})" if used.calls else trace.writer
