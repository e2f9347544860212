"""Serves the widget, which any site loads with one script tag."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from fastapi import APIRouter, Request, Response

WIDGET_PATH = "/widget.js"
WIDGET_FILE = Path(__file__).with_name("widget.js")
CACHE_SECONDS = 3600


def widget_routes() -> APIRouter:
    router, script = APIRouter(tags=["widget"]), WIDGET_FILE.read_bytes()
    compressed = gzip.compress(script, mtime=0)
    tag = f'"{hashlib.sha256(script).hexdigest()[:32]}"'
    headers = {
        "Content-Type": "text/javascript; charset=utf-8",
        "ETag": tag,
        "Cache-Control": f"public, max-age={CACHE_SECONDS}",
        "Vary": "Accept-Encoding",
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
    }

    @router.head(WIDGET_PATH, include_in_schema=False)
    @router.get(WIDGET_PATH, include_in_schema=False)
    async def widget(request: Request) -> Response:
        """The built widget; every site may load it."""
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed, headers=headers | {"Content-Encoding": "gzip"})
        return Response(script, headers=headers)

    return router
