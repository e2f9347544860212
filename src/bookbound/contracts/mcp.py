"""Implements the Model Context Protocol: tools to search, ask and read books, and their chapters as resources."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from bookbound.contracts import book_sections, http_contract, mcp_tools
from bookbound.contracts.book_list import BookLister, describe_books
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.book_ref import UNNAMED_BOOK, BookRef
from bookbound.domain.errors import BookboundError, BookNotFoundError
from bookbound.domain.question import Question

URI_PREFIX, UNNAMED_PART, MARKDOWN_TYPE = "bookbound://books/", "-", "text/markdown"
CHAPTER_TEMPLATE = f"{URI_PREFIX}{{book}}/chapters/{{title}}"
RESOURCES_PER_PAGE = 200
INSTRUCTIONS = (
    "Bookbound answers from indexed books and nothing else, and cites every sentence. Use ask_book for a question, "
    "search_book to find passages, read_section to read on, and list_books to see which books there are. If ask_book "
    "is unsure or refuses, tell the user that the book does not clearly say it instead of answering from memory."
)
INVALID_MESSAGE = "This is not an MCP message. Send one JSON-RPC 2.0 message, such as a tools/call request."
BOOK_NOT_FOUND = "There is no such book or edition.{} Call list_books to see all of them."
UNKNOWN_TOOL = "There is no such tool. Use one of: {}"
UNKNOWN_RESOURCE = f"There is no such resource. The address of a chapter is {CHAPTER_TEMPLATE}."
log = logging.getLogger("bookbound.mcp")
# The SDK logs tracebacks of what it cannot handle, and their messages can contain text of clients.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class BookAccess:
    """What the tools work on; `default` is the book that answers if none is named."""

    backend: http_contract.AnswerBackend
    open_index: http_contract.IndexOpener
    list_books: BookLister
    default: BookRef


ContextFinder = Callable[[Any], RequestContext]
"""Returns the context of the HTTP request that a message came with, or of a message without one."""
QuestionGate = Callable[[Any], Awaitable[None]]
"""Counts a question of an HTTP request against the rate limits, and raises a problem beyond them."""


def find_message_error(body: bytes) -> dict[str, object] | None:
    """Returns the reply to a body that is not a message of the protocol, without its words."""
    try:
        types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError as error:
        is_json = error.errors()[0]["type"] != "json_invalid"
        code = types.INVALID_REQUEST if is_json else types.PARSE_ERROR
        return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": INVALID_MESSAGE}}
    return None


def build_mcp_server(
    access: BookAccess, version: str, find_context: ContextFinder, admit_question: QuestionGate | None = None
) -> Server[Any]:
    """The server for every transport."""
    handlers = McpHandlers(access, find_context, admit_question)
    return Server(
        "bookbound",
        version=version,
        title="Bookbound",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class McpHandlers:
    """Handles the requests of MCP clients; an error of a tool is a result that says what to do."""

    def __init__(self, access: BookAccess, find_context: ContextFinder, admit_question: QuestionGate | None) -> None:
        self._access, self._find_context, self._admit_question = access, find_context, admit_question

    async def list_tools(self, _: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        tools = [
            types.Tool(
                name=name,
                description=tool.description,
                input_schema=tool.arguments.model_json_schema(),
                output_schema=tool.result.model_json_schema(mode="serialization"),
                annotations=hints,
            )
            for name, tool in mcp_tools.TOOLS.items()
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            # An error is a result here, because a model reads results and can correct itself.
            result = await self._run(params.name, params.arguments or {}, ctx.request)
        except Exception as error:
            return types.CallToolResult(content=[types.TextContent(type="text", text=_explain(error))], is_error=True)
        content = types.TextContent(type="text", text=result.readable)
        return types.CallToolResult(content=[content], structured_content=result.model_dump(mode="json"))

    async def _run(self, name: str, arguments: dict[str, Any], request: Any) -> mcp_tools.ToolResult:
        tool, access, context = mcp_tools.TOOLS.get(name), self._access, self._find_context(request)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=UNKNOWN_TOOL.format(", ".join(mcp_tools.TOOLS)))
        if self._admit_question and tool.is_question:
            await self._admit_question(request)
        given = tool.arguments.model_validate(arguments)
        if isinstance(given, mcp_tools.BookChoice):
            context = self._choose_book(context, BookRef(given.book or "", given.edition or ""))
        match given:
            case mcp_tools.SearchBookInput():
                question = Question(given.query, k=given.k)
                return mcp_tools.SearchBookResult.from_retrieval(await access.backend.search(question, context))
            case mcp_tools.AskBookInput():
                return mcp_tools.AskBookResult.from_reply(await access.backend.ask(given.to_question(), context))
            case mcp_tools.ReadSectionInput():
                async with access.open_index(context) as index:
                    found = await book_sections.read_section(index, given.section)
                return mcp_tools.ReadSectionResult.from_text(found, given.offset)
            case _:
                return mcp_tools.ListBooksResult(books=describe_books(await access.list_books(), access.default))

    def _choose_book(self, context: RequestContext, named: BookRef) -> RequestContext:
        """The context with the book that the arguments name, else that of the request, else the default."""
        default = context.book or self._access.default
        ref = BookRef(named.book or default.book, named.edition or ("" if named.book else default.edition))
        return replace(context, book=ref.validated())

    async def list_resources(self, _: Any, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        cursor = (params.cursor if params else None) or "0"
        if not (cursor.isascii() and cursor.isdecimal()):
            raise MCPError(code=types.INVALID_PARAMS, message="The cursor is invalid. Begin without one.")
        start = int(cursor)
        try:
            published = await self._access.list_books()
        except Exception as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=_explain(error)) from None
        chapters = [
            types.Resource(
                uri=f"{URI_PREFIX}{ref if ref != UNNAMED_BOOK else UNNAMED_PART}/chapters/{quote(title, safe='')}",
                name=title,
                title=f"{manifest.title} {ref.edition}".rstrip() + f": {title}",
                mime_type=MARKDOWN_TYPE,
            )
            for ref, manifest in published.items()
            for title in (chapter.title for chapter in manifest.chapters)
        ]
        end = start + RESOURCES_PER_PAGE
        return types.ListResourcesResult(
            resources=chapters[start:end], next_cursor=str(end) if end < len(chapters) else None
        )

    async def list_templates(
        self, _: Any, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=CHAPTER_TEMPLATE,
            name="chapter",
            title="A chapter of a book",
            description="`book` is NAME or NAME@EDITION from list_books, or - for the book without a name.",
            mime_type=MARKDOWN_TYPE,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        book, found, title = str(params.uri).removeprefix(URI_PREFIX).partition("/chapters/")
        if not found or not str(params.uri).startswith(URI_PREFIX):
            raise MCPError(code=types.INVALID_PARAMS, message=UNKNOWN_RESOURCE)
        try:
            ref = UNNAMED_BOOK if book == UNNAMED_PART else BookRef.parse(unquote(book))
            async with self._access.open_index(replace(self._find_context(ctx.request), book=ref)) as index:
                chapter = await book_sections.read_chapter(index, unquote(title))
        except Exception as error:
            raise MCPError(code=types.INVALID_PARAMS, message=_explain(error)) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN_TYPE, text=chapter.text)
        return types.ReadResourceResult(contents=[contents])


def _explain(error: Exception) -> str:
    """What went wrong and what to do; nothing about an error that is not ours, which is logged by its type."""
    if isinstance(error, MCPError):
        raise error
    if isinstance(error, ValidationError):
        problem = http_contract.problem_from_validation_errors([dict(each) for each in error.errors()], 400)
        return f"The arguments are invalid. {problem.broken_rules}."
    if isinstance(error, BookNotFoundError):
        return BOOK_NOT_FOUND.format(f" Choose one of: {', '.join(error.books[:10])}." if error.books else "")
    if isinstance(error, http_contract.ProblemError):
        return error.problem.message
    if not isinstance(error, BookboundError):
        log.error("a request failed: %s", type(error).__name__)
        return http_contract.INTERNAL_ERROR_MESSAGE
    return http_contract.problem_from_error(error, 400).message
