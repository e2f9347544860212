"""Shows the book in a browser: its pages with contents and assistant, and a shelf if there are several books."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.types import Scope

from bookbound.contracts.book_list import BookLister, describe_books
from bookbound.contracts.http_contract import Context, IndexOpener, Problem, ProblemError, ProblemKind
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.book_ref import BookRef
from bookbound.domain.chunk import Chunk
from bookbound.domain.outline import Outline, OutlinePage
from bookbound.domain.ports import Index
from bookbound.evaluation.html_report import render_template
from bookbound.languages.detection import detect_foreign_language
from bookbound.server.page import accepts_gzip
from bookbound.server.page.page_content import (
    BookLinks,
    build_sections,
    list_chapters,
    page_path,
    split_list,
    split_table,
)
from bookbound.server.page.page_search import find_sections

START_PATH, READ_PATH, REPORT_PATH = "/", "/read", "/report"
FILE_PATH = f"{READ_PATH}/{{file:path}}"
PAGE_ROUTES = frozenset((START_PATH, READ_PATH, FILE_PATH, REPORT_PATH))
"""The routes whose errors are pages."""
MAX_SEARCH_CHARS = 200
MAX_OPEN_PAGES = 40
"""A book with more pages shows only the pages of the open chapter at first."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        "require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
UNKNOWN_PAGE = "This book has no such page. It may have been renamed: look for it in the contents of the book."
EMPTY_BOOK = "This book has no pages. Index it again."
KEY_REQUIRED = (
    "This server shows its book only with a key, and a browser sends none. Read and ask on the book's own site, "
    "or ask the operator to make the book public."
)
MAX_LANGUAGE_CHARS = 20_000
"""So much of a page shows its language."""
UNKNOWN_TAG = "und"
_TAGS = dict(
    pair.split(":")
    for pair in (
        "German:de French:fr Spanish:es Portuguese:pt Italian:it Dutch:nl Swedish:sv Danish:da Norwegian:no Finnish:fi"
        " Polish:pl Czech:cs Hungarian:hu Romanian:ro Turkish:tr Indonesian:id Vietnamese:vi Korean:ko Greek:el"
        " Hebrew:he Thai:th Hindi:hi Japanese:ja Chinese:zh"
    ).split()
)
_RIGHT_TO_LEFT = frozenset({"Hebrew", "Arabic script", "Syriac script", "Thaana script"})
_URDU_LETTERS, _PERSIAN_LETTERS = frozenset("ٹڈڑے"), frozenset("پچژگ")


class TypedWordsModel(BaseModel):
    """What a reader has typed into the search box."""

    model_config = ConfigDict(extra="forbid")

    words: Annotated[str, StringConstraints(strict=True, max_length=MAX_SEARCH_CHARS)]


def find_root(scope: Scope) -> str:
    """The way from the requested page to the root of the server, which may be below a path that a proxy removes."""
    path: bytes = scope.get("raw_path") or scope["path"].encode()  # as the browser sees it, with its last slash
    return "/".join([".."] * (path.count(b"/") - 1)) or "."


def book_page_routes(open_index: IndexOpener, list_books: BookLister | None, default: BookRef) -> APIRouter:
    """The pages; `default` is the book of requests that name none."""
    router = APIRouter(tags=["page"])

    async def show_page(request: Request, context: RequestContext, file: str = "") -> HTMLResponse:
        async with open_index(context) as index:
            return respond_with_page(request, await render_page(index, context.book, file, find_root(request.scope)))

    @router.api_route(START_PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def start(request: Request, context: Context) -> HTMLResponse:
        """The first page of the book, or all books if there are several."""
        books = describe_books(await list_books(), default) if list_books and not context.book else []
        if len(books) > 1:
            shown = [book for book in books if book.book or book.default]
            content = render_page_template("shelf.html.j2", find_root(request.scope), books=shown)
            return respond_with_page(request, content)
        return await show_page(request, context)

    @router.api_route(READ_PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def first_page(request: Request, context: Context) -> HTMLResponse:
        return await show_page(request, context)

    @router.api_route(FILE_PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request, context: Context, file: str) -> HTMLResponse:
        return await show_page(request, context, file)

    @router.post("/search", include_in_schema=False)
    async def search(body: TypedWordsModel, context: Context) -> list[dict[str, Any]]:
        """The sections for the words in the search box; they are in the body, because proxies log addresses."""
        async with open_index(context) as index:
            found = await find_sections(index, body.words)
        return [section._asdict() for section in found]

    return router


async def render_page(index: Index, book: BookRef | None, file: str = "", root: str = ".") -> str:
    """The page of a file, or the first one; everything in it is text, and `root` is the way to the server's root."""
    outline = await index.outline()
    files = [page.opening.place.file for page in outline.pages]
    if not files or (file and file not in files):
        raise ProblemError(Problem(ProblemKind.NOT_FOUND, 404, UNKNOWN_PAGE if files else EMPTY_BOOK))
    at = files.index(file) if file else 0
    # In a thread, because highlighting long code takes a while.
    return await asyncio.to_thread(
        _render_book_page, root, index.manifest.title, book, outline, at, await index.chunks(files[at])
    )


def _render_book_page(
    root: str, book_title: str, book: BookRef | None, outline: Outline, at: int, chunks: Sequence[Chunk]
) -> str:
    prefix, current = f"{root}/books/{book}" if book else root, outline.pages[at]
    place = current.opening.place
    links = BookLinks((page.opening.place for page in outline.pages), place, prefix)

    def link(page: OutlinePage) -> dict[str, str]:
        return {"title": page.opening.place.title, "href": page_path(page.opening.place, prefix)}

    return render_page_template(
        "book.html.j2",
        root,
        language=detect_page_language("\n".join([place.title, *(chunk.text for chunk in chunks)])),
        book_title=book_title,
        book=str(book or ""),
        prefix=prefix,
        title=place.title or place.file,
        chapter=place.chapter if place.chapter != place.title else "",
        site_url=place.url if place.url.startswith(("https://", "http://")) else "",
        chapters=list(list_chapters(outline, current, prefix)),
        opens_all=len(outline.pages) <= MAX_OPEN_PAGES,
        sections=list(build_sections(chunks, links.resolve)),
        previous=link(outline.pages[at - 1]) if at else None,
        next=link(outline.pages[at + 1]) if at + 1 < len(outline.pages) else None,
        split_list=split_list,
        split_table=split_table,
    )


def render_problem(problem: Problem, scope: Scope, headers: Mapping[str, str]) -> HTMLResponse:
    """The page that says what went wrong and what to do; it contains nothing of the book."""
    message = KEY_REQUIRED if problem.status == HTTPStatus.UNAUTHORIZED else problem.message
    heading = HTTPStatus(problem.status).phrase
    content = render_page_template(
        "problem.html.j2", find_root(scope), heading=heading, message=message, has_start=problem.status == 404
    )
    return HTMLResponse(content, problem.status, HEADERS | {"Cache-Control": "no-store"} | dict(headers))


def render_page_template(template: str, root: str, **values: Any) -> str:
    return render_template(f"server/page/{template}", root=root, **({"language": PageLanguage()} | values))


def respond_with_page(request: Request, content: str) -> HTMLResponse:
    if accepts_gzip(request):
        return HTMLResponse(gzip.compress(content.encode()), headers=HEADERS | {"Content-Encoding": "gzip"})
    return HTMLResponse(content, headers=HEADERS)


class PageLanguage(NamedTuple):
    """A tag of BCP 47 and `ltr` or `rtl`."""

    tag: str = "en"
    direction: str = "ltr"


def detect_page_language(text: str) -> PageLanguage:
    """The language of a text; English if it is not clear."""
    start = text[:MAX_LANGUAGE_CHARS]
    language = detect_foreign_language(start)
    if not language:
        return PageLanguage()
    tag = _tag_arabic_script(start) if language == "Arabic script" else _TAGS.get(language, UNKNOWN_TAG)
    return PageLanguage(tag, "rtl" if language in _RIGHT_TO_LEFT else "ltr")


def _tag_arabic_script(text: str) -> str:
    letters = set(text)
    if letters & _URDU_LETTERS:
        return "ur"
    # Other languages have the letters of Persian, too, but none of the Arabic ones.
    return UNKNOWN_TAG if letters & _PERSIAN_LETTERS else "ar"
