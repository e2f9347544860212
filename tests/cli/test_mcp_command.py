"""`bookbound mcp` serves the official MCP client over standard input and output, and says nothing else there."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import CallToolResult, TextContent, TextResourceContents
from tests.cli.conftest import Run

from bookbound import bootstrap
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE
from bookbound.settings import Settings

PARTS = "What does a harmonic drive consist of?"
GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "use-from-an-mcp-client.md"
DRIVES = "bookbound://books/-/chapters/Drives"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}
Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def books(little_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a book without a name, and of one with a name and two editions."""
    folder = tmp_path_factory.mktemp("mcp")
    bootstrap.index_book(little_book, Settings(index=folder / "index"))
    for edition, legs in (("1.9", "six"), ("1.10", "five")):
        source = folder / edition
        source.mkdir()
        (source / "ants.md").write_text(f"# Ants\n\nAn ant has {legs} legs.\n", encoding="utf-8")
        bootstrap.index_book(source, Settings(index=folder / "index", book="ants", edition=edition))
    return folder / "index"


@pytest.fixture
def connect(environment: dict[str, str], books: Path, tmp_path: Path) -> Connect:
    """Connects the official client to the real process; `errors` gets what the process writes to standard error."""

    @asynccontextmanager
    async def start(*options: str, mode: str = "auto", errors: Path = tmp_path / "errors") -> AsyncIterator[Client]:
        arguments = ["-m", "bookbound", "mcp", "--index", str(books), *options]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=tmp_path)
        with errors.open("w") as file:
            async with Client(stdio_client(server, file), mode=mode) as client:
                yield client

    return start


@pytest.fixture
def connect_here(books: Path, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Connects the official client to what the command runs, in this process."""

    @asynccontextmanager
    async def start(**options: str) -> AsyncIterator[Client]:
        settings = Settings(index=books, reader="fast", **options)  # type: ignore[arg-type]
        async with create_client_server_memory_streams() as (ours, theirs):
            monkeypatch.setattr("mcp.server.stdio.stdio_server", lambda: nullcontext(theirs))
            serving = asyncio.create_task(bootstrap.serve_mcp_stdio(settings))
            async with Client(nullcontext(ours)) as client:
                yield client
            serving.cancel()
            await asyncio.wait([serving])

    return start


def run(use: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(use(), 120))


def read_text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_every_tool_works_with_the_official_client(connect: Connect, mode: str) -> None:
    async def use() -> None:
        async with connect(mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {"search_book", "ask_book", "read_section", "list_books"}
            assert all(tool.output_schema and tool.annotations.read_only_hint for tool in tools)
            listed = await client.call_tool("list_books", {})
            assert [book["book"] for book in listed.structured_content["books"]] == ["", "ants"]
            assert "editions: 1.10, 1.9" in read_text(listed)
            answer = await client.call_tool("ask_book", {"question": PARTS})
            assert not answer.is_error
            assert answer.structured_content["status"] == "answered"
            (source,) = answer.structured_content["sources"]
            assert source["section_id"] == "drives.md#harmonic-drive"
            assert all(quote in answer.structured_content["text"] for quote in source["quotes"])
            assert source["section_id"] in read_text(answer)
            found = await client.call_tool("search_book", {"query": "grease", "k": 1})
            (passage,) = found.structured_content["passages"]
            assert "lubricated" in passage["text"]
            read = await client.call_tool("read_section", {"section": passage["section_id"]})
            assert passage["text"] in read_text(read)
            assert read.structured_content["next_offset"] is None

    run(use)


def test_every_configuration_of_the_guide_starts_the_server(
    environment: dict[str, str], books: Path, tmp_path: Path
) -> None:
    blocks = re.findall(r"```json\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    servers = [server for block in blocks for named in json.loads(block).values() for server in named.values()]
    assert len(servers) == 3

    async def use() -> None:
        for server in servers:
            assert server["command"] == "/path/to/bookbound"
            arguments = [str(books) if each == "/path/to/my-index" else each for each in server["args"]]
            parameters = StdioServerParameters(
                command=sys.executable, args=["-m", "bookbound", *arguments], env=environment, cwd=tmp_path
            )
            async with Client(stdio_client(parameters)) as client:
                assert not (await client.call_tool("list_books", {})).is_error

    run(use)


def test_a_refusal_is_a_normal_result(connect_here: Connect) -> None:
    async def use() -> None:
        async with connect_here() as client:
            refused = await client.call_tool("ask_book", {"question": "Which composer wrote the Flying Dutchman?"})
            assert not refused.is_error
            assert refused.structured_content["status"] == "refused"
            assert read_text(refused).startswith(NOT_IN_BOOK_MESSAGE)

    run(use)


def test_a_book_and_an_edition_can_be_chosen(connect_here: Connect) -> None:
    question = {"question": "How many legs has an ant?"}

    async def use() -> None:
        async with connect_here() as client:
            for choice, legs in (({"book": "ants"}, "five"), ({"book": "ants", "edition": "1.9"}, "six")):
                answer = await client.call_tool("ask_book", question | choice)
                assert legs in answer.structured_content["text"]
            every = await client.call_tool("search_book", {"query": "legs of an ant", "book": "all"})
            first = every.structured_content["passages"][0]
            assert first["book"] == "ants"
            read = await client.call_tool("read_section", {"section": first["section_id"], "book": "all"})
            assert "five legs" in read_text(read)
        async with connect_here(book="ants", edition="1.9") as client:
            assert "six" in (await client.call_tool("ask_book", question)).structured_content["text"]

    run(use)


def test_a_wrong_call_is_told_what_to_do(connect_here: Connect) -> None:
    async def use() -> None:
        async with connect_here() as client:
            for arguments, advice in (
                ({"question": PARTS, "book": "wasps"}, "Choose one of: ants@1.10, ants@1.9. Call list_books"),
                ({"question": PARTS, "book": "no such/name"}, "must begin with a letter or digit"),
                ({"question": ""}, "question: String should have at least 1 character"),
                ({"question": PARTS, "temperature": 1}, "temperature: Extra inputs are not permitted"),
            ):
                result = await client.call_tool("ask_book", arguments)
                assert result.is_error
                assert advice in read_text(result)
            unknown = await client.call_tool("read_section", {"section": "Engines"})
            assert unknown.is_error
            assert "pass the `section_id` of a result" in read_text(unknown)
            with pytest.raises(MCPError, match="Use one of: search_book, ask_book"):
                await client.call_tool("write_book", {})

    run(use)


def test_chapters_are_resources_of_every_book(connect_here: Connect) -> None:
    async def use() -> None:
        async with connect_here() as client:
            resources = (await client.list_resources()).resources
            assert {str(each.uri) for each in resources} >= {DRIVES, "bookbound://books/ants@1.9/chapters/Ants"}
            for each in resources:
                (content,) = (await client.read_resource(each.uri)).contents
                assert isinstance(content, TextResourceContents)
                assert content.text.startswith(f"# {each.name}\n")
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "bookbound://books/{book}/chapters/{title}"
            with pytest.raises(MCPError, match="List the chapters again"):
                await client.read_resource("bookbound://books/ants/chapters/Engines")
            with pytest.raises(MCPError, match="The address of a chapter is bookbound://"):
                await client.read_resource("file:///etc/passwd")

    run(use)


def start_with_pipes(
    environment: dict[str, str], books: Path, folder: Path
) -> tuple[subprocess.Popen[str], IO[str], IO[str]]:
    """Starts the server and returns it with its standard input and output."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bookbound", "mcp", "--index", str(books)],
        env=environment,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    return process, process.stdin, process.stdout


def test_standard_output_has_only_protocol_messages_and_logs_no_text_of_clients(
    environment: dict[str, str], books: Path, tmp_path: Path
) -> None:
    secret = "a question that nobody else may read"
    call = {"name": "ask_book", "arguments": {"question": secret}}
    lines = [
        json.dumps(HELLO),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        f"no JSON but {secret}",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": secret}}),
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": secret, "params": {"text": secret}}),
    ]
    process, stdin, stdout = start_with_pipes(environment, books, tmp_path)
    stdin.write("".join(f"{line}\n" for line in lines))
    stdin.flush()
    replies: dict[int, Any] = {}
    while set(replies) != {1, 2, 3, 4}:
        message = json.loads(stdout.readline())
        assert message["jsonrpc"] == "2.0"
        if message.get("id"):
            replies[message["id"]] = message
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert replies[2]["result"]["structuredContent"]["status"] == "refused"
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert secret not in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_waits_for_a_client(
    environment: dict[str, str], books: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process, stdin, stdout = start_with_pipes(environment, books, tmp_path)
    stdin.write(json.dumps(HELLO) + "\n")
    stdin.flush()
    assert json.loads(stdout.readline())["result"]["serverInfo"]["name"] == "bookbound"
    process.send_signal(number)
    assert process.wait(60) == 0
    process.communicate()


def test_a_missing_index_is_reported_on_standard_error(process: Run, tmp_path: Path) -> None:
    done = process("mcp", "--index", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Index a book first: bookbound index SOURCE --index {tmp_path / 'none'}" in done.stderr


def test_options_of_the_web_server_need_http(bookbound: Run, books: Path) -> None:
    done = bookbound("mcp", "--index", str(books), "--port", "9000")
    assert done.returncode == 2
    assert "--http" in done.stderr


def test_without_its_packages_the_command_says_how_to_install_them(
    bookbound: Run, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("mcp_types", "bookbound.contracts.mcp"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "bookbound.contracts.mcp")
    done = bookbound("mcp", "--index", str(books))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: The command `bookbound mcp` needs more packages. Install them next to Bookbound: "
        'pip install "mcp>=2.3,<3"\n'
    )


def test_the_sdk_logs_no_tracebacks() -> None:
    importlib.import_module("bookbound.contracts.mcp")
    assert not logging.getLogger("mcp.shared.jsonrpc_dispatcher").isEnabledFor(logging.ERROR)


def test_no_other_command_imports_the_packages(environment: dict[str, str], books: Path) -> None:
    script = (
        "import sys; from bookbound.bootstrap.web_app import create_web_app; from bookbound.settings import Settings; "
        "from bookbound import bootstrap, cli; from pathlib import Path; "
        f"create_web_app(Settings(index=Path({str(books)!r}))); print({{'mcp', 'mcp_types'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
