"""The demo, and what a server indexes and prints at start."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.child_process import run_child
from tests.cli.conftest import Run
from tests.server.server_process import run_server_process
from tests.server.thread_server import run_in_thread

from bookbound import bootstrap
from bookbound.cli.serve_commands import (
    DEMO_FOLDER,
    DEMO_QUESTIONS,
    find_key_headers,
    format_book_paths,
    format_invitation,
    open_demo_book,
)
from bookbound.cli.terminal import StyledLine
from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ConfigError
from bookbound.server import api_keys
from bookbound.server.api_keys import ANY_ORIGIN, ApiKey, KeyKind
from bookbound.server.app import create_app
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo runs several times."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def first(bookbound: Run, demo_folder: Path) -> subprocess.CompletedProcess[str]:
    """The demo in an empty folder, with a question from a pipe."""
    return bookbound("demo", "--no-serve", stdin="How many legs has a spider?\n\n", cwd=demo_folder)


def test_the_demo_answers_two_of_its_questions_and_refuses_one(first: subprocess.CompletedProcess[str]) -> None:
    assert (first.returncode, first.stderr) == (0, "")
    own = first.stdout.split("> How many legs has a spider?")[0]
    assert own.count("This information is not available in the book.") == 1
    assert own.count("\n[1] ") == 2


def test_the_demo_takes_questions_from_a_pipe(first: subprocess.CompletedProcess[str]) -> None:
    reply = first.stdout.split("> How many legs has a spider?\n")[1]
    assert reply.startswith("This information is not available in the book.")


@pytest.mark.parametrize("words", ["\n", " quit \nWhat is a gear?\n"])
def test_quit_or_an_empty_line_ends_the_demo_and_its_server(process: Run, demo_folder: Path, words: str) -> None:
    done = process("demo", stdin=words, cwd=demo_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Serving " in done.stdout
    assert done.stdout.count("> ") == len(DEMO_QUESTIONS)


@pytest.mark.slow
def test_after_the_end_of_a_pipe_the_demo_keeps_serving_and_logs_nothing(
    demo_folder: Path, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "bookbound", "demo"]
    with run_child(
        *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=demo_folder, env=environment
    ) as running:
        assert running.stdout is not None
        address = next(match[0] for line in running.stdout if (match := re.search(r"http://[\d.]+:\d+", line)))
        assert httpx.post(f"{address}/ask", json={"question": DEMO_QUESTIONS[0]}, timeout=60).status_code == 200
        assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 130
    assert not log_folder(demo_folder / DEMO_FOLDER).exists()


def test_the_demo_indexes_again_only_if_the_book_changed(little_book: Path, tmp_path: Path) -> None:
    source = shutil.copytree(little_book, tmp_path / "book")
    settings = Settings(index=tmp_path / "index")

    def generation() -> str:
        with open_demo_book(bootstrap, source, settings) as book:
            return book.manifest.generation

    first = generation()
    assert generation() == first
    (source / "drives.md").write_text("# Drives\n\n" + "Other words. " * 30)
    second = generation()
    assert second != first
    (tmp_path / "index" / "current").write_text("damaged")
    assert generation() not in (first, second)


def test_an_interrupted_demo_starts_again(little_book: Path, tmp_path: Path) -> None:
    (tmp_path / "demo-book").write_text("unfinished")
    with open_demo_book(bootstrap, little_book, Settings(index=tmp_path)) as book:
        assert book.manifest.pages == 2


def test_the_demo_does_not_overwrite_another_book(little_book: Path, little_index: Path) -> None:
    before = (little_index / "current").read_text()
    with pytest.raises(ConfigError, match="another book"):
        open_demo_book(bootstrap, little_book, Settings(index=little_index))
    assert (little_index / "current").read_text() == before


def test_the_demo_does_not_use_the_qdrant_server(bookbound: Run, little_index: Path) -> None:
    done = bookbound("demo", "--index", str(little_index), BOOKBOUND_QDRANT_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert "another book" in done.stderr


@pytest.fixture
def ants(tmp_path: Path) -> Path:
    book = tmp_path / "ants"
    book.mkdir()
    (book / "index.md").write_text("# Ants\n\nAn ant has six legs and two feelers.\n")
    return book


def test_a_source_is_indexed_and_served_with_its_name_and_edition(tmp_path: Path, ants: Path) -> None:
    options = ("--source", str(ants), "--book", "ants", "--edition", "1.0")
    with run_server_process({"index": tmp_path / "index"}, tmp_path / "output", *options) as server:
        assert server.client.get("/v1/book").json()["title"] == "Ants"
        assert server.client.get("/books/ants@1.0/v1/book").status_code == 200
        assert server.client.get("/books/bees/v1/book").status_code == 404
    assert (tmp_path / "index" / "books" / "ants@1.0").is_dir()
    assert " stopping: " in (tmp_path / "output").read_text()


def test_the_paths_of_books_with_names_are_shown() -> None:
    (line,) = format_book_paths([BookRef(), BookRef("ants", "1.0"), *(BookRef(f"b{n}") for n in range(10))])
    assert line.text.startswith("Books: /books/ants@1.0, /books/b0, ")
    assert line.text.endswith("/books/b8, and 1 more")
    assert format_book_paths([BookRef()]) == []


def run_pasted(line: StyledLine, secret: str = "") -> dict[str, Any]:
    """The reply to the command, pasted into a shell with a key."""
    command = line.text.removeprefix("Try: ").replace("KEY", secret)
    reply: dict[str, Any] = json.loads(subprocess.check_output(command, shell=True))
    return reply


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
@pytest.mark.parametrize("origin", ["", "https://book.example", ANY_ORIGIN])
def test_the_command_to_try_works_when_it_is_pasted(tmp_path: Path, origin: str) -> None:
    settings = Settings(index=tmp_path / "index", access_mode="keys" if origin else "public")
    secret = ""
    if origin:
        key, secret = ApiKey.new(KeyKind.PUBLISHABLE, "", [origin])
        api_keys.add_key(api_keys.key_file_path(settings), key)
    app = create_app(ScriptedBackend(make_refusal()), settings)
    with run_in_thread(app) as server:
        _, line = format_invitation("Ants", server.url, "What's an ant?", find_key_headers(settings))
        assert f"{server.url}/v1/answers" in line.text
        assert run_pasted(line, secret)["status"] == "refused"
        assert ("Origin: " in line.text) == origin.startswith("https")


def test_the_page_is_offered_only_if_a_browser_may_open_it() -> None:
    for headers, is_offered in (((), True), (("X-API-Key: KEY",), False)):
        first, _ = format_invitation("Ants", "http://127.0.0.1:1", headers=headers)
        assert ("open it in a browser" in str(first)) is is_offered
