"""Converts replies, passages, manifests and errors to plain JSON values, and shortens texts to a limit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from bookbound.domain.chunk import Place
from bookbound.domain.errors import BookboundError, ServiceError
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Retrieval
from bookbound.domain.reply import (
    Answer,
    AnswerSentence,
    Refusal,
    Reply,
    Source,
    Unsure,
    find_source_numbers,
    join_sentences,
)
from bookbound.domain.reply_blocks import ReplyBlock, build_blocks
from bookbound.domain.reply_markdown import render_markdown
from bookbound.domain.trace import SentenceCounts, Trace

# A link with only the first and last words of a long quote stays short and survives a change between them.
HIGHLIGHT_EDGE_WORDS = 6
MIN_CUT_CHARS = 40
"""A sentence is not cut shorter than this."""
JsonObject = dict[str, Any]
UNEXPECTED_ERROR_MESSAGE = "An unexpected error occurred ({}). Set BOOKBOUND_DEBUG=1 to see where, and report it."
_RENDERED_DIFFERENTLY = re.compile(
    r"(?:^|\n)\s*(?:[-*+•]|\d+[.)])\s|\s\|\s|\S*(?:['\"`]|--|\.\.\.)\S*|(?<=\s)[-–—](?=\s)"
)


def serialize_reply(reply: Reply) -> JsonObject:
    """An answer, an unsure reply or a refusal with its evidence."""
    answer = reply if isinstance(reply, Answer) else None
    sources = answer.sources if answer else ()
    return {
        "status": reply.status.value,
        "answer": answer.text if answer else None,
        "note": reply.trace.note or None,
        "partial": answer.is_partial if answer else False,
        "sure": answer is not None,
        "reservation": reply.reservation or None,
        "degraded": reply.trace.degraded,
        "verification": serialize_counts(reply.trace.sentences),
        "completed_question": reply.trace.completed_question or None,
        "unsure": {"kind": reply.kind.value, "message": reply.text} if isinstance(reply, Unsure) else None,
        "closest": [_serialize_closest(each) for each in reply.closest] if isinstance(reply, Unsure) else [],
        "refusal": _serialize_refusal(reply) if isinstance(reply, Refusal) else None,
        "blocks": [_serialize_block(block, sources, answer) for block in answer.blocks] if answer else [],
        "sources": [_serialize_source(source) for source in sources],
        "sentences": [serialize_sentence(each) for each in answer.sentences] if answer else [],
        "citations": [serialize_citation(evidence) for evidence in reply.citations],
        "judgement": serialize_judgement(reply.judgement),
        "passages": serialize_passages(reply.trace.retrieval),
        "trace": _serialize_trace(reply.trace),
    }


def serialize_counts(counts: SentenceCounts) -> JsonObject:
    """The verified, unverified and dropped sentences of a language model."""
    return {
        "verified": counts.verified,
        "unverified": counts.unverified,
        "dropped": counts.dropped,
        "withheld": counts.is_withheld,
    }


def _serialize_refusal(refusal: Refusal) -> JsonObject:
    sections = [serialize_place(place) for place in refusal.closest]
    return {"kind": refusal.kind.value, "message": refusal.text, "sections": sections}


def _serialize_closest(evidence: Evidence) -> JsonObject:
    blocks = build_blocks([AnswerSentence(evidence.text, (evidence,))])
    return serialize_citation(evidence) | {"blocks": [_serialize_block(block) for block in blocks]}


def _serialize_block(block: ReplyBlock, sources: Sequence[Source] = (), answer: Answer | None = None) -> JsonObject:
    """A block with the numbers of its sources and the spans of the words that answer."""
    number = partial(find_source_numbers, sources=sources)
    return {
        "kind": block.kind,
        "text": block.text,
        "items": [
            {
                "text": item.text,
                "number": item.number,
                "level": item.level,
                "sources": number([item.quote]),
                "unverified": _serialize_unverified(item.is_verified, item.quote),
            }
            for item in block.items
        ],
        "header": list(block.rows[0]) if block.has_header else None,
        "rows": [list(row) for row in block.rows[block.has_header :]],
        "cut": block.cut_start or block.cut_end,
        "sources": number(block.evidence),
        "marks": [list(span) for span in answer.find_marks(block)] if answer else [],
        "unverified": _serialize_unverified(block.is_verified, block.closest),
        "unverified_rows": [
            {"row": row.at - block.has_header, "closest": row.closest.text if row.closest else ""}
            for row in block.unverified_rows
        ],
        "markdown": render_markdown([block]),
    }


def _serialize_unverified(is_verified: bool, closest: Evidence | None) -> JsonObject | None:
    """The words of the book that are closest to what a language model says and the book does not prove."""
    return None if is_verified else {"closest": closest.text if closest else ""}


def _serialize_source(source: Source) -> JsonObject:
    """A cited section; its link opens the page with the first quote highlighted."""
    quotes = [quote.text for quote in source.quotes]
    link = build_highlight_link(source.place, quotes[0])
    return {"number": source.number, **serialize_place(source.place), "link": link, "quotes": quotes}


def serialize_citation(evidence: Evidence) -> JsonObject:
    """A quote and its address; `hash` shows whether the words there are still the same."""
    return {
        "chunk_id": evidence.chunk_id,
        "quote": evidence.text,
        **serialize_place(evidence.place),
        "link": build_highlight_link(evidence.place, evidence.text),
        "hash": hashlib.sha256(evidence.text.encode()).hexdigest(),
        "probability": round(evidence.probability, 4),
    }


def build_highlight_link(place: Place, words: str) -> str:
    """A link that opens the page with the words highlighted, if the browser supports text fragments.

    List markers, cell borders, quotation marks and dashes may be rendered differently, so a fragment contains none.
    """
    phrases = [phrase.split() for phrase in _RENDERED_DIFFERENTLY.split(words) if phrase.strip()]
    if not place.url or not place.is_web_page or not phrases:
        return place.link
    whole = len(phrases) == 1 and len(phrases[0]) <= 2 * HIGHLIGHT_EDGE_WORDS
    ends = phrases if whole else [phrases[0][:HIGHLIGHT_EDGE_WORDS], phrases[-1][-HIGHLIGHT_EDGE_WORDS:]]
    text = ",".join(quote(" ".join(end), safe="").replace("-", "%2D") for end in ends)
    return f"{place.url}#{place.anchor}:~:text={text}"


def serialize_passages(retrieval: Retrieval) -> list[JsonObject]:
    """The passages that a search found, best first."""
    return [
        {
            "rank": rank,
            "score": round(passage.score, 4),
            "chunk_id": passage.chunk.id,
            "text": passage.chunk.text,
            **serialize_place(passage.chunk.place),
            "hash": passage.chunk.hash,
        }
        for rank, passage in enumerate(retrieval.passages, 1)
    ]


def serialize_place(place: Place) -> JsonObject:
    """The address of a place for people (path, url) and for machines (file, characters)."""
    return {
        "chapter": place.chapter,
        "title": place.title,
        "section": place.section,
        "path": list(place.heading_path),
        "url": place.link,
        "file": place.file,
        "anchor": place.anchor,
        "start": place.start,
        "end": place.end,
        "page": place.page,
        "label": place.page_label,
        "book": place.book,
    }


def serialize_manifest(manifest: Manifest) -> JsonObject:
    """The description of an index, without the parts that only indexing needs."""
    fields = asdict(replace(manifest, page_fingerprints=()))
    return {name: value for name, value in fields.items() if name not in ("source_fingerprint", "page_fingerprints")}


def serialize_error(error: Exception) -> JsonObject:
    """What went wrong and what to do; an error that is not ours shows only its type."""
    kind = type(error).__name__
    if isinstance(error, BookboundError):
        message = str(error)
    elif isinstance(error, OSError) and error.strerror:
        message = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    else:
        message = UNEXPECTED_ERROR_MESSAGE.format(kind)
    details: JsonObject = {"type": kind, "message": message}
    if isinstance(error, ServiceError):
        details |= {"service": error.service, "retry_after": error.retry_after}
    return {"error": details}


def serialize_sentence(sentence: AnswerSentence) -> JsonObject:
    """A sentence with its citations."""
    return {
        "text": sentence.text,
        "support": round(sentence.support, 4),
        "label": sentence.label.value,
        "citations": [serialize_citation(evidence) for evidence in sentence.evidence],
    }


def serialize_judgement(judgement: Judgement) -> JsonObject:
    """The judgement behind a reply."""
    return {
        "probability": round(judgement.probability, 4),
        "answer_present": judgement.answer_present,
        "unsure": judgement.is_unsure,
        "quality": judgement.quality,
        "relevant": list(judgement.relevant_chunk_ids),
        "evidence": [serialize_citation(evidence) for evidence in judgement.evidence],
    }


def _serialize_trace(trace: Trace) -> JsonObject:
    selection, usage = trace.retrieval.selection, trace.usage
    return {
        "generation": trace.generation,
        "embedder": trace.embedder,
        "writer": trace.writer,
        "tools": list(trace.tool_calls),
        "usage": {"calls": usage.calls, "read": usage.input_tokens, "written": usage.output_tokens},
        "edition": trace.edition,
        "differs": list(trace.differing_editions),
        "completed_question": trace.completed_question or None,
        "selection": serialize_place(selection) if selection else None,
        "milliseconds": {name: round(value, 2) for name, value in trace.milliseconds.items()},
    }


def fit_answer(answer: Answer, max_chars: int, max_sources: int | None = None) -> tuple[str, Answer]:
    """The text of as many sentences as fit with our own statements, and the answer reduced to these sentences.

    What only introduces others is not the end of an answer.
    """

    def render(sentences: Sequence[AnswerSentence]) -> str:
        return join_sentences(sentences, answer.trace.note, answer.reservation)

    at = next(at for at, sentence in enumerate(answer.sentences) if sentence.makes_claim)
    first, kept = answer.sentences[at], answer.sentences[: at + 1]
    if len(render(kept)) > max_chars:
        kept = (first,)
    for sentence in answer.sentences[at + 1 :]:
        more = (*kept, sentence)
        sources = {evidence.chunk_id for each in more for evidence in each.evidence}
        if len(render(more)) > max_chars or (max_sources and len(sources) > max_sources):
            break
        kept = more
    while not kept[-1].makes_claim:
        kept = kept[:-1]
    limit = max_chars
    # Markdown escapes characters and our own statements need room, so one cut may not be enough.
    while len(text := render(kept)) > max_chars and limit > MIN_CUT_CHARS:
        limit = len(kept[0].text) - (len(text) - max_chars)
        kept = (replace(first, text=truncate(first.text, limit)),)
    return truncate(text, max_chars), replace(answer, sentences=kept)


def truncate(text: str, max_chars: int) -> str:
    """A text of at most `max_chars` characters, cut between two words if it is longer."""
    if len(text) <= max_chars:
        return text
    words = re.match(r"(?s).*\S(?=\s)", text[: max_chars - 2])
    return f"{words.group() if words else text[: max_chars - 3]}..."
