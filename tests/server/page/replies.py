"""Makes replies of `/v1/answers` with any text in any field, as a stream of events."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def make_block(kind: str = "paragraph", text: str = "", **fields: Any) -> Json:
    block: Json = {"kind": kind, "text": text, "items": [], "header": None, "rows": [], "cut": False}
    return block | {"sources": [], "marks": [], "markdown": text} | fields


def make_place(**fields: Any) -> Json:
    place = {"path": ["Chapter", "Section"], "section": "Section", "url": "https://book.example/a#b", "page": None}
    return place | {"label": "", "link": "https://book.example/a#b"} | fields


def make_reply(status: str = "answered", **fields: Any) -> Json:
    reply: Json = {"status": status, "answer": "An answer.", "partial": False, "reservation": None, "degraded": False}
    reply |= {"unsure": None, "closest": [], "refusal": None, "blocks": [], "sources": []}
    return reply | {"trace": {"selection": None}, "request_id": "r1"} | fields


def stream(*events: tuple[str, Json]) -> str:
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
