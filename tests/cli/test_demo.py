"""The demo and its index."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bookbound import wire
from bookbound.cli.demo import opened
from bookbound.errors import BadSetup
from bookbound.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def first(bookbound: Run, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The demo in a fresh folder, with a question from a pipe."""
    return bookbound("demo", stdin="How many legs has a spider?\n\n", cwd=tmp_path_factory.mktemp("demo"))


def test_the_demo_answers_two_of_its_questions_and_refuses_one(first: subprocess.CompletedProcess[str]) -> None:
    assert (first.returncode, first.stderr) == (0, "")
    own = first.stdout.split("> How many legs has a spider?")[0]
    assert own.count("This information is not available in the book.") == 1
    assert own.count("\n[1] ") == 2


def test_the_demo_takes_questions_from_a_pipe(first: subprocess.CompletedProcess[str]) -> None:
    reply = first.stdout.split("> How many legs has a spider?\n")[1]
    assert reply.startswith("This information is not available in the book.")


def test_an_index_of_the_same_words_is_used_again_and_another_is_made_anew(little_book: Path, tmp_path: Path) -> None:
    source = shutil.copytree(little_book, tmp_path / "book")
    chosen = Settings(index=tmp_path / "index")

    def generation() -> str:
        with opened(wire, source, chosen) as book:
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
    with opened(wire, little_book, Settings(index=tmp_path)) as book:
        assert book.manifest.pages == 2


def test_the_demo_does_not_write_over_another_book(little_book: Path, little_index: Path) -> None:
    before = (little_index / "current").read_text()
    with pytest.raises(BadSetup, match="another book"):
        opened(wire, little_book, Settings(index=little_index))
    assert (little_index / "current").read_text() == before


def test_the_demo_leaves_a_readers_server_alone(bookbound: Run, little_index: Path) -> None:
    done = bookbound("demo", "--index", str(little_index), BOOKBOUND_QDRANT_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert "another book" in done.stderr
