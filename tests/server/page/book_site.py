"""Serves pages of the example book as a site that carries the widget."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from markdown_it import MarkdownIt

STRICT_POLICY = (
    "default-src 'none'; script-src {server}; connect-src {server}; style-src 'self'; "
    "require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'"
)
_FRONT_MATTER = re.compile(r"\A---.*?---\n", re.DOTALL)
_HEADING = re.compile(r"<h(\d)>(.*?)(?:\s*\{#([\w-]+)\})?</h\1>")


def render_markdown(file: Path) -> str:
    """The page as Docusaurus renders it, as far as the widget sees: text, tables, and headings with their anchors."""

    def add_anchor(found: re.Match[str]) -> str:
        level, text, anchor = found.groups()
        anchor = anchor or re.sub(r"[^\w -]", "", re.sub(r"<.*?>", "", text).lower()).strip().replace(" ", "-")
        return f'<h{level} id="{anchor}">{text}</h{level}>'

    html = MarkdownIt("commonmark").enable("table").render(_FRONT_MATTER.sub("", file.read_text(encoding="utf-8")))
    return _HEADING.sub(add_anchor, re.sub(r' style="[^"]*"', "", html))


class BookSite:
    """Pages at paths of one origin; each has the policy that it was added with."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, tuple[str, str]] = {}

    def add(
        self,
        path: str,
        content: str,
        server: str,
        *,
        attributes: Mapping[str, str] | None = None,
        html: str = 'lang="en"',
        head: str = "",
        style: str = "",
        script: str | None = None,
        strict: bool = False,
    ) -> str:
        """Add a page that carries the widget of a server, by its tag or by a script, and return its URL."""
        data = "".join(f' data-{name}="{escape(value)}"' for name, value in (attributes or {}).items())
        tag = f'<script src="{server}/widget.js"{data} defer></script>'
        page = (
            f"<!doctype html><html {html}><head><meta charset=utf-8><title>A page of the book</title>"
            '<meta name=viewport content="width=device-width, initial-scale=1">'
            f"{head}{f'<style>{style}</style>' if style else ''}</head><body><main>{content}</main>"
            f"{script or tag}</body></html>"
        )
        origin = "/".join(server.split("/")[:3])
        self.pages[path] = page, STRICT_POLICY.format(server=origin) if strict else ""
        return self.address + path


@contextmanager
def run_site() -> Iterator[BookSite]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            page, policy = site.pages.get(self.path.partition("?")[0], ("", ""))
            self.send_response(200 if page else 204 if self.path == "/favicon.ico" else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(page.encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = BookSite(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
