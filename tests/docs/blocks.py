"""Collects every block of code of the documents, and says which test runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/**/*.md")
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:bookbound|make|pip|python) ")

RUN_ELSEWHERE = {
    ("README.md", "bash"): "tests/test_readme.py",
    ("README.md", "python"): "tests/test_readme.py",
    ("docs/guides/conversations.md", "python"): "tests/test_readme.py",
    ("docs/guides/put-it-on-your-site.md", "html"): "tests/server/page/test_documentation.py",
    ("docs/guides/put-it-on-your-site.md", "js"): "tests/server/page/test_documentation.py",
    ("docs/guides/site-generators.md", "js"): "tests/server/page/test_widget_module.py",
    ("docs/guides/site-generators.md", "html"): "tests/server/page/site_generators.py",
    ("docs/guides/site-generators.md", "python"): "tests/server/page/site_generators.py",
    ("docs/guides/site-generators.md", "text"): "tests/server/page/test_generated_sites.py",
    ("docs/guides/site-generators.md", "yaml"): "tests/server/page/site_generators.py",
    ("docs/guides/test-your-integration.md", "python"): "tests/testing/test_scripted_services.py",
    ("docs/guides/use-as-a-retriever.md", "python"): "tests/integrations/test_retriever_guide.py",
    ("docs/guides/use-from-an-mcp-client.md", "json"): "tests/cli/test_mcp_command.py",
    ("docs/guides/use-openai-clients.md", "python"): "tests/server/test_real_server.py",
    ("docs/guides/use-openai-clients.md", "yaml"): "tests/server/test_chat_front_end.py",
    ("docs/guides/use-the-library.md", "python"): "tests/test_readme.py",
    ("docs/reference/cli.md", "console"): "tests/test_reference_pages.py",
    ("docs/reference/library.md", "python"): "tests/test_reference_pages.py",
}
"""The blocks that the test of their own subject runs, or compares with the code that they come from."""
RUN_HERE = {"bash", "python"}
"""The languages that tests/docs/test_blocks.py runs in every other document."""
NOT_RUN = {
    "json": "data, such as a body or a line of a log: it is parsed",
    "nginx": "the configuration of a program that is not installed: its braces and semicolons are checked",
    "text": "output, headers, formulas and diagrams",
    "yaml": "the configuration of Prometheus, which is not installed: it is parsed",
}
"""The languages that cannot run, and why."""
STAND_INS = {
    "claude": "needs an account",
    "docker": "needs a daemon; tests/deploy reads the files that it uses",
    "kubectl": "needs a cluster; tests/deploy reads the files that it uses",
    "llm": "need not be installed; tests/server/test_chat_front_end.py runs it if it is",
    "make": "would install everything again: only its targets are checked",
    "pip": "needs a package index; tests/release builds the wheels and installs them",
    "pipx": "needs a package index",
    "python": "would measure for minutes: only its module is checked",
    "qdrant": "needs the other nodes; tests/indexing/store starts real ones where the executable is installed",
    "uv": "needs a package index",
}
"""The programs of commands that do not run, and why: a stand-in checks that the files they name exist."""


@dataclass(frozen=True, slots=True)
class Block:
    document: str
    heading: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def runs_elsewhere(self) -> bool:
        is_custom_contract = (self.document, self.heading) == ("docs/reference/contracts.md", "Adding a contract")
        return is_custom_contract or (self.document, self.language) in RUN_ELSEWHERE


def list_documents() -> list[Path]:
    return sorted(path for pattern in DOCUMENTS for path in REPOSITORY.glob(pattern))


def list_blocks() -> list[Block]:
    return [
        block
        for path in list_documents()
        for block in read_blocks(path.relative_to(REPOSITORY).as_posix(), path.read_text(encoding="utf-8"))
    ]


def read_blocks(document: str, text: str) -> Iterator[Block]:
    """Yields the blocks between fences and the indented ones."""
    heading = ""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before and before.type == "heading_open":
            heading = token.content
        if token.type in ("fence", "code_block"):
            language = token.info.split()[0] if token.info.split() else guess_language(token)
            yield Block(document, heading, (token.map or [0])[0] + 1, language, token.content)


def guess_language(token: Token) -> str:
    """The language of an indented block; a fence must name its own."""
    if token.type == "fence":
        return ""
    if token.content.startswith("{"):
        return "json"
    is_command = all(COMMAND.match(line) for line in token.content.splitlines())
    return "bash" if is_command else "text"
