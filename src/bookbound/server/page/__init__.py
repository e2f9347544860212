"""Serves the widget, which any site loads with a script tag or as a module, and the files of the book's own pages."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path

from fastapi import APIRouter, Request, Response

FOLDER = Path(__file__).parent
WIDGET_FILE, MODULE_FILE = FOLDER / "widget.js", FOLDER / "widget.mjs"
CACHE_SECONDS = 3600
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
ASSETS = tuple(file for file in FOLDER.iterdir() if file.suffix in MEDIA_TYPES)
"""The files that are served as they are; the others of this folder are code and templates."""
ASSET_PATHS = frozenset(f"/{file.name}" for file in ASSETS)
ANY_SITE = {"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin"}
"""Lets every site load the widget."""
REVALIDATED = {"Cache-Control": "no-cache"}


def asset_routes() -> APIRouter:
    router = APIRouter(tags=["page"])
    for file in ASSETS:
        # The scripts of the report import each other, so that all of them must be of the same version.
        more_headers = ANY_SITE if file.stem == "widget" else REVALIDATED if file.stem.startswith("report") else {}
        _add_asset(router, file, more_headers)
    return router


def _add_asset(router: APIRouter, file: Path, more_headers: Mapping[str, str]) -> None:
    content = file.read_bytes()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {
        "Content-Type": MEDIA_TYPES[file.suffix],
        "ETag": tag,
        "Cache-Control": f"public, max-age={CACHE_SECONDS}",
        "Vary": "Accept-Encoding",
        **more_headers,
    }
    compressed = gzip.compress(content, mtime=0)  # without a time, every process sends the same bytes

    @router.api_route(f"/{file.name}", methods=["GET", "HEAD"], include_in_schema=False)
    async def asset(request: Request) -> Response:
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request):
            return Response(compressed, headers=headers | {"Content-Encoding": "gzip"})
        return Response(content, headers=headers)


def accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")
