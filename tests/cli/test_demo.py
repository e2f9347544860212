"""The demo and its index."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from bookbound import bootstrap
from bookbound.cli.serve_commands import DEMO_FOLDER, DEMO_QUESTIONS, open_demo_book
from bookbound.domain.errors import ConfigError
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo is run again and again."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def first(bookbound: Run, demo_folder: Path) -> subprocess.CompletedProcess[str]:
    """The demo in a fresh folder, with a question from a pipe."""
    return bookbound("demo", "--no-serve", stdin="How many legs has a spider?\n\n", cwd=demo_folder)


def test_the_demo_answers_two_of_its_questions_and_refuses_one(first: subprocess.CompletedProcess[str]) -> None:
    assert (first.returncode, first.stderr) == (0, "")
    own = first.stdout.split("> How many legs has a spider?")[0]
    assert own.count("This information is not available in the book.") == 1
    assert own.count("\n[1] ") == 2


def test_the_demo_takes_questions_from_a_pipe(first: subprocess.CompletedProcess[str]) -> None:
    reply = first.stdout.split("> How many legs has a spider?\n")[1]
    assert reply.startswith("This information is not available in the book.")


@pytest.mark.parametrize("words", ["quit\n", "\n", " quit \nWhat is a gear?\n"])
def test_quit_or_an_empty_line_from_a_pipe_ends_the_demo_and_its_server(
    bookbound: Run, demo_folder: Path, words: str
) -> None:
    done = bookbound("demo", stdin=words, cwd=demo_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Serving " in done.stdout
    assert done.stdout.count("> ") == len(DEMO_QUESTIONS)


def test_at_the_end_of_a_pipe_the_demo_goes_on_serving_until_it_is_told_to_end_and_logs_nothing(
    demo_folder: Path, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "bookbound", "demo"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, cwd=demo_folder, env=environment
    ) as running:
        assert running.stdout is not None
        address = next(match[0] for line in running.stdout if (match := re.search(r"http://[\d.]+:\d+", line)))
        assert httpx.post(f"{address}/ask", json={"question": DEMO_QUESTIONS[0]}, timeout=60).status_code == 200
        assert running.poll() is None
        running.send_signal(signal.SIGTERM)
    assert running.returncode == 130
    assert not log_folder(demo_folder / DEMO_FOLDER).exists()


def test_an_index_of_the_same_words_is_used_again_and_another_is_made_anew(little_book: Path, tmp_path: Path) -> None:
    source = shutil.copytree(little_book, tmp_path / "book")
    chosen = Settings(index=tmp_path / "index")

    def generation() -> str:
        with open_demo_book(bootstrap, source, chosen) as book:
            return book.manifest.generation

    first = generation()
    assert generation() == first
    (source / "drives.md").write_text("# Drives\n\nOther words.\n")
    second = generation()
    assert second != first
    (tmp_path / "index" / "current").write_text("damaged")
    assert generation() not in (first, second)


def test_a_demo_that_was_interrupted_is_begun_again(little_book: Path, tmp_path: Path) -> None:
    (tmp_path / "demo-book").write_text("unfinished")
    with open_demo_book(bootstrap, little_book, Settings(index=tmp_path)) as book:
        assert book.manifest.pages == 2


def test_the_demo_does_not_write_over_another_book(little_book: Path, little_index: Path) -> None:
    before = (little_index / "current").read_text()
    with pytest.raises(ConfigError, match="another book"):
        open_demo_book(bootstrap, little_book, Settings(index=little_index))
    assert (little_index / "current").read_text() == before


def test_the_demo_leaves_a_readers_server_alone(bookbound: Run, little_index: Path) -> None:
    done = bookbound("demo", "--index", str(little_index), BOOKBOUND_QDRANT_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert "another book" in done.stderr
