"""What every retriever says about a passage, and what it says if its framework is missing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.integrations.conftest import ANSWERED, PAGE

import bookbound
from bookbound.answering.pipeline import Pipeline
from bookbound.integrations import describe_passage, require_framework
from bookbound.library import Book
from bookbound.testing import SCRIPTED_MANIFEST, ScriptedPipeline, make_passage, make_refusal

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = {"haystack": "haystack", "langchain": "langchain_core", "llama_index": "llama_index"}


def test_metadata_say_where_the_words_are(book: Book) -> None:
    best = book.search(ANSWERED)[0]
    metadata = describe_passage(book, best)
    start, end = metadata.pop("span_start"), metadata.pop("span_end")
    assert PAGE.format(hours=12)[int(start) : int(end)] == best.chunk.text
    assert metadata == {
        "url": "/lamp#the-fog-horn",
        "book": "lights",
        "edition": "2.0",
        "chapter": "The lamp",
        "title": "The lamp",
        "section": "The fog horn",
        "file": "lamp.md",
        "chunk_id": best.chunk.id,
    }


def test_metadata_name_the_edition_that_is_open(index: Path) -> None:
    with bookbound.open(index, book="lights", edition="1.9") as older:
        (found,) = older.search("How often is the wick trimmed?", k=1)
        assert describe_passage(older, found)["edition"] == "1.9"
        assert "8 hours" in found.chunk.text


def test_metadata_name_the_book_also_among_all(index: Path) -> None:
    with bookbound.open(index, book="all") as every:
        metadata = describe_passage(every, every.search(ANSWERED)[0])
    assert (metadata["book"], metadata["edition"]) == ("lights", "")


def test_a_book_without_a_name_has_its_title(tmp_path: Path) -> None:
    (tmp_path / "lamp.md").write_text(PAGE.format(hours=12), encoding="utf-8")
    bookbound.index(tmp_path / "lamp.md", tmp_path / "index")
    with bookbound.open(tmp_path / "index") as opened:
        metadata = describe_passage(opened, opened.search(ANSWERED)[0])
        assert metadata["book"] == opened.manifest.title != ""


def test_a_scripted_book_has_metadata_too() -> None:
    passage = make_passage("The horn is red.")
    with asyncio.Runner() as runner:
        metadata = describe_passage(Book(cast(Pipeline, ScriptedPipeline(make_refusal())), runner), passage)
    assert (metadata["book"], metadata["edition"]) == (SCRIPTED_MANIFEST.title, "")


def test_metadata_have_the_printed_page_if_there_is_one(book: Book) -> None:
    best = book.search(ANSWERED)[0]
    printed = replace(best, chunk=replace(best.chunk, place=replace(best.chunk.place, page=7)))
    assert describe_passage(book, printed)["page"] == 7
    assert "page" not in describe_passage(book, best)


@pytest.mark.parametrize(("module", "package"), PACKAGES.items())
def test_a_missing_framework_is_named_with_the_command_that_installs_it(module: str, package: str) -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (requirement,) = extras["optional-dependencies"][module.replace("_", "-")]
    code = f"import sys; sys.modules[{package!r}] = None; import bookbound.integrations.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(f'next to Bookbound: pip install "{requirement}"')


def test_a_framework_that_is_too_old_is_reported_too() -> None:
    with pytest.raises(ImportError, match=r"pip install .haystack-ai"), require_framework("haystack"):
        from json import lamps  # type: ignore[attr-defined]  # noqa: F401


def test_every_extra_is_in_a_lock_file() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8").splitlines()
    (services,) = (line.partition(":=")[2].split() for line in makefile if line.startswith("SERVICES "))
    (integrations,) = (line.partition(":=")[2].split() for line in makefile if line.startswith("INTEGRATIONS "))
    assert sorted(services + integrations) == sorted(project["optional-dependencies"])
