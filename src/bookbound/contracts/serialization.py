"""Converts replies, passages, manifests and errors to plain JSON values."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import quote

from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import BookboundError, ServiceError
from bookbound.domain.judgement import Evidence, Judgement
from bookbound.domain.manifest import Manifest
from bookbound.domain.question import Retrieval
from bookbound.domain.reply import Answer, AnswerSentence, Refusal, Reply, Trace

HIGHLIGHT_EDGE_WORDS = 6
JsonObject = dict[str, Any]
UNEXPECTED_ERROR_MESSAGE = "Something unforeseen went wrong ({}). Set BOOKBOUND_DEBUG=1 to see where, and report it."


def serialize_reply(reply: Reply) -> JsonObject:
    """An answer or a refusal with everything it rests on."""
    answer = reply if isinstance(reply, Answer) else None
    return {
        "status": "answered" if answer else "refused",
        "answer": answer.text if answer else None,
        "partial": answer.partial if answer else False,
        "sure": answer.sure if answer else False,
        "reservation": (answer.reservation or None) if answer else None,
        "degraded": reply.trace.degraded,
        "refusal": {"kind": reply.kind.value, "message": reply.text} if isinstance(reply, Refusal) else None,
        "sentences": [serialize_sentence(each) for each in answer.sentences] if answer else [],
        "citations": [serialize_citation(evidence) for evidence in reply.citations],
        "judgement": serialize_judgement(reply.judgement),
        "passages": serialize_passages(reply.trace.retrieval),
        "trace": _serialize_trace(reply.trace),
    }


def serialize_citation(evidence: Evidence) -> JsonObject:
    """Words of the book and their address; `hash` tells whether the words there are still the same."""
    return {
        "chunk_id": evidence.chunk_id,
        "quote": evidence.text,
        **serialize_place(evidence.place),
        "link": build_highlight_link(evidence.place, evidence.text),
        "hash": hashlib.sha256(evidence.text.encode()).hexdigest(),
        "probability": round(evidence.probability, 4),
    }


def build_highlight_link(place: Place, words: str) -> str:
    """A link that opens the page with the words highlighted, where the browser knows text fragments.

    Marks of items, bars between cells, quotes and dashes may look otherwise on the page, so the words around them are
    named: the first and the last that stand together.
    """
    runs = [run.split() for run in _RENDERED_DIFFERENTLY.split(words) if run.strip()]
    if not place.url or not runs:
        return place.link
    whole = len(runs) == 1 and len(runs[0]) <= 2 * HIGHLIGHT_EDGE_WORDS
    ends = runs if whole else [runs[0][:HIGHLIGHT_EDGE_WORDS], runs[-1][-HIGHLIGHT_EDGE_WORDS:]]
    text = ",".join(quote(" ".join(end), safe="").replace("-", "%2D") for end in ends)
    return f"{place.url}#{place.anchor}:~:text={text}"


def serialize_passages(retrieval: Retrieval) -> list[JsonObject]:
    """What a search found, best first."""
    return [_serialize_passage(rank, passage) for rank, passage in enumerate(retrieval.passages, 1)]


def serialize_place(place: Place) -> JsonObject:
    """An address for people (path, url) and for machines (file, characters)."""
    return {
        "chapter": place.chapter,
        "title": place.title,
        "section": place.section,
        "path": list(place.path),
        "url": place.link,
        "file": place.file,
        "start": place.start,
        "end": place.end,
        "page": place.page,
        "label": place.label,
        "book": place.book,
    }


def serialize_manifest(manifest: Manifest) -> JsonObject:
    """What an index says of itself."""
    inner = ("source", "sheets")  # of use to whoever indexes again, and as long as the book
    return {name: value for name, value in asdict(replace(manifest, sheets=())).items() if name not in inner}


def serialize_error(trouble: Exception) -> JsonObject:
    """What went wrong and what to do; of an error that is not ours only its type is told."""
    kind = type(trouble).__name__
    if isinstance(trouble, BookboundError):
        message = str(trouble)
    elif isinstance(trouble, OSError) and trouble.strerror:
        message = f"{trouble.strerror}: {trouble.filename}" if trouble.filename else trouble.strerror
    else:
        message = UNEXPECTED_ERROR_MESSAGE.format(kind)
    told: JsonObject = {"type": kind, "message": message}
    if isinstance(trouble, ServiceError):
        told |= {"service": trouble.service, "retry_after": trouble.retry_after}
    return {"error": told}


def serialize_sentence(sentence: AnswerSentence) -> JsonObject:
    """A sentence with the words it rests on."""
    return {
        "text": sentence.text,
        "support": round(sentence.support, 4),
        "citations": [serialize_citation(evidence) for evidence in sentence.evidence],
    }


def _serialize_passage(rank: int, passage: Passage) -> JsonObject:
    chunk = passage.chunk
    return {
        "rank": rank,
        "score": round(passage.score, 4),
        "chunk_id": chunk.id,
        "text": chunk.text,
        **serialize_place(chunk.place),
        "hash": chunk.hash,
    }


def serialize_judgement(judgement: Judgement) -> JsonObject:
    """The finding that a reply rests on."""
    return {
        "probability": round(judgement.probability, 4),
        "answer_present": judgement.answer_present,
        "quality": judgement.quality,
        "relevant": list(judgement.relevant),
        "evidence": [serialize_citation(evidence) for evidence in judgement.evidence],
    }


def _serialize_trace(trace: Trace) -> JsonObject:
    found = trace.retrieval
    timings = {"embed": found.embed_ms, "search": found.search_ms, **trace.timings}
    return {
        "generation": trace.generation,
        "embedder": trace.embedder,
        "writer": trace.writer,
        "tools": list(trace.tools),
        "usage": asdict(trace.usage),
        "edition": trace.edition,
        "differs": list(trace.differs),
        "selection": serialize_place(found.selection) if found.selection else None,
        "milliseconds": {name: round(value, 2) for name, value in timings.items()},
    }


_RENDERED_DIFFERENTLY = re.compile(
    r"(?:^|\n)\s*(?:[-*+•]|\d+[.)])\s|\s\|\s|\S*(?:['\"`]|--|\.\.\.)\S*|(?<=\s)[-–—](?=\s)"
)
