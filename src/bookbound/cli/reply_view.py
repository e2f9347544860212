"""Formats replies, refusals and passages as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import floor
from typing import TYPE_CHECKING

from bookbound.cli import terminal
from bookbound.cli.terminal import StyledLine, StyledText, escape_line_breaks, format_count, format_table
from bookbound.domain.book_ref import UNNAMED_EDITION_LABEL
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.judgement import Evidence, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, Trace

if TYPE_CHECKING:
    from bookbound.contracts.agent import AgentResponse
    from bookbound.contracts.grounded_agent import AgentResponse as GroundedResponse


def format_agent_reply(reply: AgentResponse, verbose: bool) -> Iterator[StyledLine]:
    yield from _format_answer_text(reply.answer, reply.has_relevant_context)
    for number, source in enumerate(reply.sources, 1):
        names = " › ".join(dict.fromkeys(name for name in (source.chapter, source.section) if name))
        mark = f"[{number}] "
        yield StyledLine.of((mark, "cyan"), (names, "bold"), format_similarity(source.relevance_score), hang=len(mark))
        yield StyledLine.of((source.url, "dim"), indent=4, whole=True)
    if verbose:
        yield StyledLine()
        yield from terminal.format_table(_build_timing_rows(reply))


def format_grounded_agent_reply(reply: GroundedResponse, verbose: bool) -> Iterator[StyledLine]:
    yield from _format_answer_text(reply.answer, reply.grounded)
    for citation in reply.citations:
        yield StyledLine.of((citation.format(), "dim"), whole=True)
    if verbose:
        yield StyledLine()
        yield from terminal.format_table([*_build_timing_rows(reply), ("Tools", ", ".join(reply.tool_calls))])


def _format_answer_text(text: str, answered: bool) -> Iterator[StyledLine]:
    yield StyledLine.of((text, "" if answered else "bold yellow"), whole="\n" in text)
    if answered:
        yield StyledLine()


def _build_timing_rows(reply: AgentResponse | GroundedResponse) -> list[tuple[str, str]]:
    return [
        ("Retrieval", f"{reply.retrieval_time_ms:.1f} ms"),
        ("Generation", f"{reply.generation_time_ms:.1f} ms"),
        ("Total", f"{reply.total_time_ms:.1f} ms"),
    ]


MAX_NEAREST_SECTIONS, MAX_EXCERPT_CHARS = 3, 240
REFUSAL_EXPLANATIONS = {
    RefusalReason.EMPTY_RETRIEVAL: "Nothing in the index comes near the question.",
    RefusalReason.LOW_RELEVANCE: "No passage of the book is about this.",
    RefusalReason.INSUFFICIENT_GROUNDING: "Some passages come near, but none states the answer surely enough to give it.",
    RefusalReason.SELECTED_TEXT_MISSING: "Only the selected text was read.",
}
MODEL_FAILED_MESSAGE = "The language model gave no answer that can be used; this is the book's own wording."
MODEL_INTERRUPTED_MESSAGE = "The language model broke off; the end of the answer may be missing."
MODEL_UNREACHABLE_MESSAGE = "The language model could not be reached; it might have found an answer."


def format_reply(reply: Reply, verbose: bool = False, threshold: float = 0.0) -> Iterator[StyledLine]:
    """An answer with its citations, or a refusal with the nearest sections; all that led to it when `verbose`."""
    yield from format_answer(reply) if isinstance(reply, Answer) else format_refusal(reply, threshold)
    yield from _format_selection(reply.trace.retrieval)
    if verbose:
        yield from _format_trace(reply)


def format_answer(answer: Answer) -> Iterator[StyledLine]:
    """The sentences, each with the numbers of its citations, what is to be said of them all, and the citations."""
    numbers = {evidence: number for number, evidence in enumerate(answer.citations, 1)}
    for manner, sentences in groupby(answer.sentences, _choose_layout):
        if manner == "prose":
            pairs = [(f"{sentence.text} ", _format_citation_marks(sentence, numbers), " ") for sentence in sentences]
            yield StyledLine.of(*[piece for pair in pairs for piece in pair][:-1])
        elif manner == "shown":
            for number, sentence in enumerate(sentences):
                yield from [StyledLine()] * bool(number)
                yield StyledLine.of(sentence.text, whole=True)
                yield StyledLine.of(_format_citation_marks(sentence, numbers))
        else:
            for sentence in sentences:
                yield StyledLine.of(
                    f"{sentence.text} ", _format_citation_marks(sentence, numbers), whole=sentence.kind == "row"
                )
        yield StyledLine()
    for told in filter(
        None, (answer.reservation, _describe_model_failure(answer), _describe_edition_differences(answer))
    ):
        yield StyledLine.of((told, "bold yellow"))
        yield StyledLine()
    spoken = {sentence.text for sentence in answer.sentences}
    for evidence, number in numbers.items():
        yield from _format_citation(number, evidence, quoted=evidence.text not in spoken)


def format_refusal(refusal: Refusal, threshold: float = 0.0) -> Iterator[StyledLine]:
    """The refusal, why, and where the reader may want to look."""
    found = [passage for passage in refusal.trace.retrieval.passages if passage.chunk.id != SELECTION_CHUNK_ID]
    yield StyledLine.of((refusal.text, "bold yellow"))
    yield StyledLine.of(
        MODEL_UNREACHABLE_MESSAGE if refusal.trace.degraded else _explain_refusal(refusal.kind, found, threshold)
    )
    nearest = list({passage.chunk.place.link: passage.chunk.place for passage in found}.values())[:MAX_NEAREST_SECTIONS]
    if nearest:
        yield StyledLine()
        yield StyledLine.of(("The nearest sections, and the words there that may bear on it:", "dim"))
    for place in nearest:
        yield StyledLine.of((" › ".join(place.path), "dim"), indent=2)
        yield StyledLine.of((place.link, "dim"), indent=4, whole=True)
        near = next((each for each in refusal.judgement.evidence if each.place.link == place.link), None)
        if near:
            yield StyledLine.of(("“" + _shorten_text(near.text) + "”", "italic"), indent=4)


def format_passages(passages: Sequence[Passage]) -> Iterator[StyledLine]:
    """What a search found: rank, similarity, address and the beginning of the words."""
    for rank, passage in enumerate(passages, 1):
        place, number = passage.chunk.place, f"{rank}. "
        path = " › ".join(place.path)
        yield StyledLine.of((number, "bold"), (path, "bold"), format_similarity(passage.score), hang=len(number))
        yield from _format_address(place, indent=3)
        yield StyledLine.of(_shorten_text(passage.chunk.text), indent=3)
        yield StyledLine()


def format_similarity(score: float) -> StyledText:
    """A passage's cosine to the question; the order of passages counts their words as well."""
    return f"  similarity {score:.2f}", "cyan"


def _explain_refusal(kind: RefusalReason, found: Sequence[Passage], threshold: float) -> str:
    best = max((passage.score for passage in found), default=0.0)
    if kind is RefusalReason.LOW_RELEVANCE and best < threshold:
        # Rounded down, so that it reads as the smaller of the two whatever the threshold is.
        return (
            f"The highest similarity of a passage is {floor(best * 100) / 100:.2f}, below the threshold {threshold:g}."
        )
    return REFUSAL_EXPLANATIONS[kind]


def _describe_model_failure(answer: Answer) -> str:
    """What became of an answer that a language model failed to write, or to finish."""
    if not answer.trace.degraded:
        return ""
    quoted = all(any(each.text == sentence.text for each in sentence.evidence) for sentence in answer.sentences)
    return MODEL_FAILED_MESSAGE if quoted else MODEL_INTERRUPTED_MESSAGE


def _describe_edition_differences(answer: Answer) -> str:
    """Which other editions do not hold the words that are cited."""
    others = answer.trace.differs
    if not others:
        return ""
    asked = answer.trace.edition or UNNAMED_EDITION_LABEL
    return f"Another edition says this otherwise, or not at all: {', '.join(others)} (asked: {asked})."


def _choose_layout(sentence: AnswerSentence) -> str:
    """How a sentence is set: prose runs on, items and rows stand line by line, all else stands by itself."""
    if sentence.kind in ("item", "row"):
        return sentence.kind + sentence.evidence[0].chunk_id
    return "shown" if sentence.kind != "sentence" or "\n" in sentence.text else "prose"


def _format_citation_marks(sentence: AnswerSentence, numbers: dict[Evidence, int]) -> StyledText:
    return "".join(f"[{numbers[evidence]}]" for evidence in dict.fromkeys(sentence.evidence)), "cyan"


def _format_citation(number: int, evidence: Evidence, quoted: bool) -> Iterator[StyledLine]:
    mark = f"[{number}] "
    yield StyledLine.of((mark, "cyan"), (" › ".join(evidence.place.path), "bold"), hang=len(mark))
    yield from _format_address(evidence.place, indent=4)
    if quoted:
        yield StyledLine.of(("“" + evidence.text + "”", "italic"), indent=4, whole="\n" in evidence.text)


def _format_address(place: Place, indent: int) -> Iterator[StyledLine]:
    """A link for people, and file and characters for machines; words that are not of the book have neither."""
    if place.file:
        yield StyledLine.of((place.link, "dim"), indent=indent, whole=True)
        file = escape_line_breaks(place.file).partition("#page=")[0]
        page = f", page {escape_line_breaks(place.label or str(place.page))}" if place.page is not None else ""
        yield StyledLine.of((f"{file}:{place.start}-{place.end}{page}", "dim"), indent=indent, whole=True)


def _shorten_text(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_EXCERPT_CHARS else words[:MAX_EXCERPT_CHARS].rpartition(" ")[0] + " …"


def _format_selection(retrieval: Retrieval) -> Iterator[StyledLine]:
    """Where the reader's selection stands in the book, or that it is not from the book."""
    if not any(passage.chunk.id == SELECTION_CHUNK_ID for passage in retrieval.passages):
        return
    yield StyledLine()
    if retrieval.selection:
        yield StyledLine.of(("The selection stands in ", "dim"), (" › ".join(retrieval.selection.path), "dim"))
        yield from _format_address(retrieval.selection, indent=2)
    else:
        yield StyledLine.of(("The selection was not found in this book.", "dim"))


def _format_trace(reply: Reply) -> Iterator[StyledLine]:
    """How the reply came to be: the judgement, the passages and the time each part took."""
    judgement, trace = reply.judgement, reply.trace
    timings = {"embed": trace.retrieval.embed_ms, "search": trace.retrieval.search_ms, **trace.timings}
    yield StyledLine()
    yield from format_table(
        [
            ("Judgement", f"{judgement.probability:.2f} probably answered, retrieval {judgement.quality}"),
            ("Relevant", f"{len(judgement.relevant)} of {format_count(len(trace.retrieval.passages), 'passage')}"),
            ("Time", ", ".join(f"{name} {value:.1f} ms" for name, value in timings.items())),
            ("Writer", _describe_writer(trace)),
            ("Embedder", trace.embedder),
            ("Generation", trace.generation),
        ]
    )
    yield StyledLine()
    yield from format_passages(trace.retrieval.passages)


def _describe_writer(trace: Trace) -> str:
    used = trace.usage
    took = f"{format_count(used.calls, 'call')}, {used.read} tokens read, {used.written} written"
    return f"{trace.writer} ({took})" if used.calls else trace.writer
