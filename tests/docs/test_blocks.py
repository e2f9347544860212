"""Every block of code of the documents is run by a test, or is of a kind that cannot run and is checked."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.docs.blocks import (
    NOT_RUN,
    REPOSITORY,
    RUN_ELSEWHERE,
    RUN_HERE,
    STAND_INS,
    Block,
    list_blocks,
    read_blocks,
)
from tests.docs.qdrant_node import NODE, run_node
from tests.docs.sandbox import Sandbox, make_sandbox
from tests.server.page.test_generated_sites import serve_folder
from tests.server.server_process import run_fast_server

BLOCKS = list_blocks()
COMMANDS = [block for block in BLOCKS if block.language == "bash" and not block.runs_elsewhere]
PYTHON = [block for block in BLOCKS if block.language == "python" and not block.runs_elsewhere]

ALTERNATIVES = {"docs/guides/index-a-website.md", "docs/guides/index-pdfs-and-epubs.md"}
"""Documents whose commands each index another book: they run one by one without an index."""


def find_unknown(blocks: list[Block]) -> list[str]:
    return [
        f"{block}: no test runs `{block.language or 'a block without a language'}` here"
        for block in blocks
        if not block.runs_elsewhere and block.language not in RUN_HERE | set(NOT_RUN)
    ]


def test_every_block_is_run_by_a_test_or_is_of_a_kind_that_cannot_run() -> None:
    assert find_unknown(BLOCKS) == []


@pytest.mark.parametrize("language", ["", "js", "toml"])
def test_a_planted_block_that_no_test_runs_is_found(language: str) -> None:
    planted = list(read_blocks("docs/guides/deploy.md", f"# A\n\n```{language}\nx\n```\n"))
    assert len(find_unknown(planted)) == 1


def test_every_entry_of_the_lists_is_used() -> None:
    kinds = Counter((block.document, block.language) for block in BLOCKS)
    assert [entry for entry in RUN_ELSEWHERE if not kinds[entry]] == []
    languages = {block.language for block in BLOCKS if not block.runs_elsewhere}
    assert set(NOT_RUN) | RUN_HERE <= languages
    commands = "\n".join(block.code for block in COMMANDS)
    assert [name for name in STAND_INS if not re.search(rf"(?:^|=\"|\$\(|\| ){name} ", commands, re.MULTILINE)] == []


@pytest.mark.parametrize(("entry", "test"), RUN_ELSEWHERE.items(), ids=lambda each: str(each[0]))
def test_the_test_that_runs_the_blocks_of_a_document_reads_it(entry: tuple[str, str], test: str) -> None:
    code = (REPOSITORY / test).read_text(encoding="utf-8")
    name = Path(entry[0])
    assert name.stem in code or {"GENERATED", "read_snippets", "GUIDE"} & set(re.findall(r"\w+", code))


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "json"], ids=str)
def test_data_can_be_parsed(block: Block) -> None:
    try:
        json.loads(block.code)
    except ValueError:
        assert all(json.loads(line) for line in block.code.splitlines())


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "yaml"], ids=str)
def test_configuration_can_be_parsed(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.code), dict | list)


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "nginx"], ids=str)
def test_the_configuration_of_nginx_is_well_formed(block: Block) -> None:
    assert block.code.count("{") == block.code.count("}")
    lines = [line.strip() for line in block.code.splitlines() if line.strip()]
    assert [line for line in lines if not line.endswith(("{", "}", ";"))] == []


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "python"], ids=str)
def test_python_can_be_parsed(block: Block) -> None:
    ast.parse(block.code)


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.language == "bash"], ids=str)
def test_commands_can_be_parsed(block: Block) -> None:
    done = subprocess.run(["bash", "-n"], input=block.code, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def server(example_index: Path) -> Iterator[str]:
    with run_fast_server(example_index) as address:
        yield address


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    with run_node() as address:
        yield address


@pytest.fixture(scope="module")
def website(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A website of two pages, for the commands that crawl."""
    folder = tmp_path_factory.mktemp("website")
    (folder / "guide").mkdir()
    for page in (folder / "index.html", folder / "guide" / "index.html"):
        page.write_text("<title>Pumps</title><main><h1>Pumps</h1><p>A pump needs four drops of oil a year.</p></main>")
    with serve_folder(folder) as address:
        yield address


@pytest.fixture
def sandbox(example_book: Path, example_index: Path, tmp_path: Path) -> Sandbox:
    return make_sandbox(tmp_path, example_book, example_index)


@pytest.mark.slow
@pytest.mark.timeout(600)  # a block may index, calibrate and serve
@pytest.mark.parametrize("block", COMMANDS, ids=str)
def test_commands_run(block: Block, sandbox: Sandbox, server: str, website: str, node: str) -> None:
    if "curl" in block.code and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    code = re.sub(r"http://127\.0\.0\.1:80[08]0(?=/\S)", server, block.code).replace("/tmp/", f"{sandbox.folder}/")
    code, variables = NODE.sub(node, code), {}
    if "--site" in code:
        host = website.removeprefix("http://")
        code = block.code.replace("https://book.example", website).replace("127.0.0.1:8000", host)
        variables = {"BOOKBOUND_CRAWL_ALLOWED_HOSTS": host}
    for commands in code.splitlines() if block.document in ALTERNATIVES else [code]:
        if block.document in ALTERNATIVES:
            shutil.rmtree(sandbox.folder / ".bookbound", ignore_errors=True)
        done = sandbox.run(["bash", "-euo", "pipefail", "-c", commands], **variables)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)  # the sandbox gives each block 300 seconds
@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block: Block, sandbox: Sandbox) -> None:
    done = sandbox.run([sys.executable, "-W", "error", "-c", block.code])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_command_that_does_not_exist_fails(sandbox: Sandbox) -> None:
    assert sandbox.run(["bash", "-euo", "pipefail", "-c", "bookbound nonsense"]).returncode == 2
    assert sandbox.run(["bash", "-euo", "pipefail", "-c", "kubectl apply --filename nowhere.yaml"]).returncode == 1
    assert sandbox.run(["bash", "-euo", "pipefail", "-c", "make nonsense"]).returncode != 0
