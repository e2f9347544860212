"""Bootstrap builds what the settings name, reports what is missing, and imports nothing else."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bookbound import bootstrap
from bookbound.answering.deciding.operating_point import OPERATING_POINT_FILE, Calibration, save_calibration
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.writers.quotes.quote_writer import QuoteWriter
from bookbound.domain.errors import ConfigError, EmbedderMismatchError
from bookbound.indexing.embed.embedding_cache import CachingEmbedder
from bookbound.models import EXTRA_FILES, MODELS_FOLDER, STRONG_READER_FILE
from bookbound.models.onnx import ModelRuntime
from bookbound.services import EXTRA_PACKAGES
from bookbound.settings import Settings
from bookbound.testing.scripted_services import ScriptedServices

KEY = "sk-a-secret"
MODEL: dict[str, Any] = {"llm_model": "a-model", "llm_key": KEY}
COHERE: dict[str, Any] = {"embedder": "cohere", "cohere_key": KEY}
OPENAI: dict[str, Any] = {"embedder": "openai", "embedder_key": KEY}
ADAPTERS = (
    "answering.writers.llm.language_model_writer",
    "answering.writers.llm.openai_agents",
    "indexing.embed.cohere_embedder",
    "indexing.embed.openai_embedder",
    "models.cohere",
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lamps")
    (folder / "source").mkdir()
    (folder / "source" / "lamps.md").write_text("# Lamps\n\nThe wick is trimmed every 12 hours.\n", encoding="utf-8")
    bootstrap.index_book(folder / "source", Settings(index=folder / "index"))
    return folder / "index"


@pytest.fixture
def services() -> Iterator[ScriptedServices]:
    with ScriptedServices() as services:
        yield services


def open_and_close(**chosen: Any) -> Pipeline:
    async def use() -> Pipeline:
        pipeline = await bootstrap.open_pipeline(Settings(**chosen))
        await pipeline.close()
        return pipeline

    return asyncio.run(use())


def test_without_a_language_model_the_book_is_quoted(index: Path) -> None:
    engine = open_and_close(index=index).engine
    assert isinstance(engine.quotes, QuoteWriter)
    assert (engine.model, engine.agent, engine.answer_seconds) == (None, None, 30.0)
    assert bootstrap.writer_name(Settings()) == engine.writer_name == engine.quotes.name


def test_the_settings_say_what_quotes_replace_and_whether_unverified_sentences_are_shown(index: Path) -> None:
    engine = open_and_close(index=index, answer_timeout_seconds=7.5, **MODEL).engine
    assert engine.agent is not None
    assert engine.writer_name == engine.agent.name == bootstrap.writer_name(Settings(**MODEL)) == "a-model"
    assert isinstance(engine.quotes, QuoteWriter)
    assert (engine.quotes_on_failure, engine.hides_unverified, engine.answer_seconds) == (True, False, 7.5)
    other = open_and_close(index=index, on_llm_failure="error", unverified="hide", **MODEL).engine
    assert (other.quotes_on_failure, other.hides_unverified) == (False, True)


def test_quotes_and_a_language_model_have_the_same_operating_point(index: Path) -> None:
    shipped = bootstrap.load_operating_point(Settings(index=index), open_and_close(index=index).book.manifest).point
    points = [open_and_close(index=index, **chosen).book.operating_point for chosen in ({}, MODEL)]
    assert points == [shipped, shipped]
    assert shipped.unsure_threshold < shipped.answer_threshold
    chosen = open_and_close(index=index, answer_threshold=0.25, **MODEL).book.operating_point
    assert chosen.unsure_threshold <= chosen.answer_threshold == 0.25


@pytest.fixture
def without_strong_reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Networks are opened from a folder that has all files but those of the strong reader."""
    files = shutil.ignore_patterns(STRONG_READER_FILE, *EXTRA_FILES[STRONG_READER_FILE])
    folder = shutil.copytree(MODELS_FOLDER, tmp_path / "models", copy_function=os.symlink, ignore=files)
    monkeypatch.setattr("bookbound.models.onnx.ModelRuntime", partial(ModelRuntime, folder))


@pytest.mark.usefixtures("without_strong_reader")
def test_the_fast_reader_answers_and_verifies_without_the_file_of_the_strong_one(index: Path) -> None:
    with bootstrap.open_book(Settings(index=index, reader="fast", answer_threshold=0.0)) as book:
        assert "12 hours" in book.ask("How often is the wick trimmed?").text


@pytest.mark.usefixtures("without_strong_reader")
def test_the_default_reader_needs_the_file_of_the_strong_one(index: Path) -> None:
    with pytest.raises(ConfigError, match=r"The model file strong-reader.* is missing\. Install bookbound again"):
        open_and_close(index=index)


def test_a_calibration_for_one_reader_does_not_count_for_the_other(index: Path, tmp_path: Path) -> None:
    manifest = open_and_close(index=index, reader="fast").book.manifest
    readers = [Settings(index=tmp_path, reader=reader) for reader in ("strong", "fast")]
    for settings, other in (readers, reversed(readers)):
        fingerprint = bootstrap.load_operating_point(settings, manifest).model_fingerprint
        chosen = Calibration(0.77, fingerprint, 40, 0.9, 0.95, 0.5, manifest.generation, manifest.created)
        save_calibration(chosen, [], tmp_path / OPERATING_POINT_FILE)
        assert bootstrap.load_operating_point(settings, manifest).point.answer_threshold == 0.77
        assert bootstrap.load_operating_point(other, manifest).outdated == "another model"


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (
            {"llm_model": "a-model"},
            "needs a key: set `llm_key` or `OPENAI_API_KEY` or `OPENROUTER_API_KEY` in the environment, or `llm_url`",
        ),
        ({"embedder": "openai"}, "`embedder` needs a key: set `embedder_key` in the environment, or `embedder_url`"),
        ({"embedder": "cohere"}, "`embedder` needs a key: set `cohere_key` in the environment\\."),
        ({"reranker": "cohere"}, "`reranker` needs a key: set `cohere_key`"),
        ({**MODEL, "llm_url": "ftp://models.example"}, "`llm_url` must be an http://"),
        ({**MODEL, "llm_url": "localhost:11434"}, "`llm_url` must be an http://"),
        ({**COHERE, "cohere_url": "nowhere"}, "`cohere_url` must be an http://"),
        ({**OPENAI, "embedder_url": "nowhere"}, "`embedder_url` must be an http://"),
        ({"llm_model": "a-model", "llm_key": "sk-\u2014secret"}, "`llm_key` must be a key"),
    ],
)
def test_a_wrong_setting_is_named_and_its_value_not_shown(index: Path, chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        open_and_close(index=index, **chosen)
    assert "secret" not in str(caught.value)


def test_a_private_service_needs_no_key(index: Path) -> None:
    engine = open_and_close(index=index, llm_model="llama3.2", llm_url="http://localhost:11434/v1").engine
    assert engine.writer_name == "llama3.2"


@pytest.mark.parametrize(
    ("package", "extra", "chosen"),
    [
        ("agents", "agents", MODEL),
        ("openai", "agents", MODEL),
        ("openai", "openai", OPENAI),
        ("cohere", "cohere", COHERE),
        ("cohere", "cohere", {"reranker": "cohere", "cohere_key": KEY}),
        ("qdrant_client", "qdrant", {"qdrant_url": "http://localhost:6333"}),
    ],
)
def test_a_missing_extra_is_reported_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, index: Path, package: str, extra: str, chosen: dict[str, Any]
) -> None:
    for adapter in ADAPTERS:
        monkeypatch.delitem(sys.modules, f"bookbound.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=re.escape(f'pip install "{EXTRA_PACKAGES[extra][0]}"')):
        open_and_close(index=index, **chosen)


def test_libraries_that_the_settings_do_not_need_are_not_imported(index: Path) -> None:
    script = f"""
import asyncio, sys
from pathlib import Path
from bookbound import bootstrap
from bookbound.bootstrap import web_app
from bookbound.domain.question import Question
from bookbound.settings import Settings
async def ask():
    pipeline = await bootstrap.open_pipeline(Settings(index=Path({str(index)!r})))
    await pipeline.ask(Question("How often is the wick trimmed?"))
asyncio.run(ask())
web_app.create_web_app(Settings(query_log="off"))
remote = ("openai", "agents", "cohere", "qdrant_client", "httpx", "sqlalchemy", "alembic", "psycopg")
print([name for name in remote if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("options", [[], ["--book", "lamps"], ["--book", "all"]])
def test_a_missing_index_is_reported_before_the_networks_are_loaded(tmp_path: Path, options: list[str]) -> None:
    script = f"""
import sys
from bookbound import bootstrap
sys.argv = ["bookbound", "ask", "How often is the wick trimmed?", "--index", {str(tmp_path)!r}, *{options!r}]
try:
    bootstrap.main()
finally:
    print("onnxruntime" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "False\n")
    assert "There is no index" in done.stderr


def test_a_remote_embedder_caches_questions(index: Path, services: ScriptedServices) -> None:
    chosen = Settings(**COHERE, cohere_url=services.url)

    async def twice() -> None:
        words = bootstrap.build_embedder(chosen)
        assert isinstance(words, CachingEmbedder)
        for _ in range(2):
            await words.embed_question("How often is the wick trimmed?")
        await words.close()

    asyncio.run(twice())
    assert len(services.requests) == 1


@pytest.mark.parametrize("chosen", [COHERE, OPENAI])
def test_an_index_of_another_embedder_is_refused_with_what_to_do(
    index: Path, services: ScriptedServices, chosen: dict[str, Any]
) -> None:
    remote: dict[str, Any] = {"cohere_url": services.url, "embedder_url": services.openai_url}
    with pytest.raises(
        EmbedderMismatchError, match=r"Set `embedder` and .* or index the book again: bookbound index SOURCE"
    ):
        open_and_close(index=index, **chosen, **remote)
    assert services.requests == []


@pytest.mark.parametrize("chosen", [COHERE, OPENAI])
def test_a_book_can_be_indexed_and_asked_with_a_remote_embedder(
    index: Path, services: ScriptedServices, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    remote: dict[str, Any] = {"cohere_url": services.url, "embedder_url": services.openai_url}
    remote |= {"index": tmp_path / "index", "answer_threshold": 0.0}
    made = bootstrap.index_book(index.parent / "source", Settings(**chosen, **remote))
    assert made.manifest.embedder.startswith(chosen["embedder"])
    with bootstrap.open_book(Settings(**chosen, **remote)) as book:
        assert "12 hours" in book.ask("How often is the wick trimmed?").text
