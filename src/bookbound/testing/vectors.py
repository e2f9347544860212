"""The formats of embeddings (OpenAI and Cohere) and of reranking (Cohere), with vectors made of hashed words."""

from __future__ import annotations

import json
import math
import re
from array import array
from base64 import b64encode
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from bookbound.testing.faults import Fault

Vector = Callable[[str, int], list[float]]
"""The vector of a text, of so many dimensions."""

Relevance = Callable[[str, str], float]
"""How relevant a document is to a query, from 0 to 1."""

COHERE_BATCH = 96


def of_words(text: str, dimension: int) -> list[float]:
    """A vector of length one in which each word of the text has its place: texts that share words are near."""
    vector = [0.0] * dimension
    for word in _words(text) or ["\0"]:
        number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")
        # Long words say more about a text than short ones do.
        vector[(number >> 1) % dimension] += len(word) * (1 if number & 1 else -1)
    length = math.sqrt(sum(value * value for value in vector))
    if not length:  # two words took each other's place
        return [1.0] + [0.0] * (dimension - 1)
    return [value / length for value in vector]


def shared_words(query: str, document: str) -> float:
    """The share of the query's words that the document has."""
    wanted = set(_words(query))
    return len(wanted & set(_words(document))) / len(wanted) if wanted else 0.0


def openai_embeddings(asked: dict[str, Any], fault: Fault | None, vector: Vector) -> bytes:
    """The reply of OpenAI's endpoint for embeddings."""
    given = asked.get("input", "")
    texts = given if isinstance(given, list) else [given]
    dimension = asked.get("dimensions") or (3072 if "-large" in asked.get("model", "") else 1536)
    rows: list[Any] = _rows(texts, dimension, fault, vector)
    if asked.get("encoding_format") == "base64":
        rows = [_base64(row) for row in rows]
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    read = sum(len(_words(str(text))) for text in texts)
    usage = {"prompt_tokens": read, "total_tokens": read}
    return json.dumps({"object": "list", "data": data, "model": asked.get("model"), "usage": usage}).encode()


def cohere_texts(asked: dict[str, Any]) -> list[str]:
    """The texts that a request to Cohere's endpoint for embeddings holds."""
    inputs = [part.get("text", "") for each in asked.get("inputs") or [] for part in each.get("content", [])]
    return [*(asked.get("texts") or []), *inputs]


def cohere_embed(asked: dict[str, Any], fault: Fault | None, vector: Vector) -> bytes:
    """The reply of Cohere's endpoint for embeddings: by type, or plain as its first version gives them."""
    texts = cohere_texts(asked)
    rows = _rows(texts, asked.get("output_dimension") or 1024, fault, vector)
    kinds = asked.get("embedding_types")
    by_type = {"float": rows, "base64": [_base64(row) for row in rows] if "base64" in (kinds or ()) else []}
    body = {
        "id": "scripted",
        "response_type": "embeddings_by_type" if kinds else "embeddings_floats",
        "embeddings": {kind: by_type.get(kind, []) for kind in kinds} if kinds else rows,
        "texts": texts,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": sum(map(len, map(_words, texts)))}},
    }
    return json.dumps(body).encode()


def cohere_rerank(asked: dict[str, Any], fault: Fault | None, relevance: Relevance) -> bytes:
    """The reply of Cohere's endpoint for reranking, best first."""
    texts = [each if isinstance(each, str) else each.get("text", "") for each in asked.get("documents", [])]
    results = [{"index": place, "relevance_score": relevance(asked["query"], text)} for place, text in enumerate(texts)]
    results.sort(key=lambda result: -result["relevance_score"])
    results = _spoilt(results[: asked.get("top_n") or len(texts)], fault)
    if fault is Fault.NOT_NUMBERS:
        results = [result | {"relevance_score": math.nan} for result in results]
    meta = {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}
    return json.dumps({"id": "scripted", "results": results, "meta": meta}).encode()


def openai_models(fault: Fault | None) -> bytes:
    """The reply of OpenAI's endpoint that lists its models."""
    models = [{"id": "scripted", "object": "model", "created": 1_767_225_600, "owned_by": "scripted"}]
    return json.dumps({"object": "list", "data": _spoilt(models, fault)}).encode()


def _rows(texts: list[str], dimension: int, fault: Fault | None, vector: Vector) -> list[list[float]]:
    dimension //= 2 if fault is Fault.WRONG_DIMENSION else 1
    rows = [[math.nan] * dimension if fault is Fault.NOT_NUMBERS else vector(str(text), dimension) for text in texts]
    return _spoilt(rows, fault)


def _spoilt(rows: list[Any], fault: Fault | None) -> list[Any]:
    return [] if fault is Fault.EMPTY else rows[:-1] if fault is Fault.TOO_FEW else rows


def _base64(row: list[float]) -> str:
    return b64encode(array("f", row).tobytes()).decode()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
