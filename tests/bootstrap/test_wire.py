"""What the settings name is built, what is missing is told, and what is not named is not even imported."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.answering.writers.quotes import QuoteWriter
from bookbound.domain.errors import ConfigError, EmbedderMismatchError
from bookbound.indexing.embed.embedding_cache import CachingEmbedder
from bookbound.settings import Settings
from bookbound.testing.scripted_services import ScriptedServices

KEY = "sk-a-secret"
MODEL: dict[str, Any] = {"model": "a-model", "model_key": KEY}
COHERE: dict[str, Any] = {"embedder": "cohere", "cohere_key": KEY}
OPENAI: dict[str, Any] = {"embedder": "openai", "embed_key": KEY}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wire")
    (folder / "source").mkdir()
    (folder / "source" / "lamps.md").write_text("# Lamps\n\nThe wick is trimmed every 12 hours.\n", encoding="utf-8")
    bootstrap.index_book(folder / "source", Settings(index=folder / "index"))
    return folder / "index"


@pytest.fixture
def services() -> Iterator[ScriptedServices]:
    with ScriptedServices() as services:
        yield services


def opened(**chosen: Any) -> Pipeline:
    async def use() -> Pipeline:
        pipeline = await bootstrap.pipeline(Settings(**chosen))
        await pipeline.close()
        return pipeline

    return asyncio.run(use())


def test_without_a_model_the_book_is_quoted_and_nothing_stands_in(index: Path) -> None:
    pipeline = opened(index=index)
    assert isinstance(pipeline.writer, QuoteWriter)
    assert (pipeline.spare, pipeline.agent, pipeline.deadline) == (None, None, 30.0)
    assert bootstrap.writer_name(Settings()) == pipeline.writer.name


def test_with_a_model_it_writes_and_quotes_stand_in_unless_the_setting_says_error(index: Path) -> None:
    pipeline = opened(index=index, deadline=7.5, **MODEL)
    assert pipeline.agent is not None
    assert pipeline.writer.name == pipeline.agent.name == bootstrap.writer_name(Settings(**MODEL)) == "a-model"
    assert isinstance(pipeline.spare, QuoteWriter)
    assert pipeline.deadline == 7.5
    assert opened(index=index, on_model_failure="error", **MODEL).spare is None


def test_quotes_and_a_language_model_go_by_the_same_point(index: Path) -> None:
    shipped = bootstrap.point(Settings(index=index), opened(index=index).index.manifest).point
    assert opened(index=index).point == opened(index=index, **MODEL).point == shipped
    assert shipped.offered < shipped.answered
    chosen = opened(index=index, answered=0.25, **MODEL)
    assert chosen.point.offered == chosen.point.answered == 0.25


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"model": "a-model"}, "`model` needs a key: set `model_key` in the environment, or `model_url`"),
        ({"embedder": "openai"}, "`embedder` needs a key: set `embed_key` in the environment, or `embed_url`"),
        ({"embedder": "cohere"}, "`embedder` needs a key: set `cohere_key` in the environment\\."),
        ({"examiner": "cohere"}, "`examiner` needs a key: set `cohere_key`"),
        ({**MODEL, "model_url": "ftp://models.example"}, "`model_url` must be an address, http://"),
        ({**MODEL, "model_url": "localhost:11434"}, "`model_url` must be an address, http://"),
        ({**COHERE, "cohere_url": "nowhere"}, "`cohere_url` must be an address, http://"),
        ({**OPENAI, "embed_url": "nowhere"}, "`embed_url` must be an address, http://"),
        ({"model": "a-model", "model_key": "sk-\u2014secret"}, "`model_key` must be a key"),
    ],
)
def test_what_is_missing_or_wrong_is_told_by_its_setting_and_not_shown(
    index: Path, chosen: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as trouble:
        opened(index=index, **chosen)
    assert "secret" not in str(trouble.value)


def test_a_service_of_one_s_own_needs_no_key(index: Path) -> None:
    assert opened(index=index, model="llama3.2", model_url="http://localhost:11434/v1").writer.name == "llama3.2"


@pytest.mark.parametrize(
    ("package", "extra", "chosen"),
    [
        ("agents", "agents", MODEL),
        ("openai", "agents", MODEL),
        ("openai", "openai", OPENAI),
        ("cohere", "cohere", COHERE),
        ("cohere", "cohere", {"examiner": "cohere", "cohere_key": KEY}),
        ("qdrant_client", "qdrant", {"qdrant_url": "http://localhost:6333"}),
    ],
)
def test_a_missing_extra_is_told_with_what_installs_it(
    index: Path, package: str, extra: str, chosen: dict[str, Any]
) -> None:
    script = f"""
import asyncio, sys
sys.modules[{package!r}] = None
from pathlib import Path
from bookbound import wire
from bookbound.domain.errors import BadSetup
from bookbound.settings import Settings
try:
    asyncio.run(wire.pipeline(Settings(index=Path({str(index)!r}), **{chosen!r})))
except BadSetup as trouble:
    print(trouble)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f"bookbound[{extra}]" in done.stdout


def test_what_is_not_named_in_the_settings_is_not_imported(index: Path) -> None:
    script = f"""
import asyncio, sys
from pathlib import Path
from bookbound import wire
from bookbound.domain.reply import Question
from bookbound.settings import Settings
from bookbound.bootstrap import serving
async def ask():
    pipeline = await wire.pipeline(Settings(index=Path({str(index)!r})))
    await pipeline.ask(Question("How often is the wick trimmed?"))
asyncio.run(ask())
serving.web()
remote = ("openai", "agents", "cohere", "qdrant_client", "httpx", "sqlalchemy", "alembic", "psycopg")
print([name for name in remote if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_remote_embedder_remembers_questions(index: Path, services: ScriptedServices) -> None:
    chosen = Settings(**COHERE, cohere_url=services.url)

    async def twice() -> None:
        words = bootstrap.embedder(chosen)
        assert isinstance(words, CachingEmbedder)
        for _ in range(2):
            await words.embed_question("How often is the wick trimmed?")
        await words.close()

    asyncio.run(twice())
    assert len(services.requests) == 1


@pytest.mark.parametrize("chosen", [COHERE, OPENAI])
def test_an_index_of_another_embedder_is_refused_with_the_way_back_and_the_way_on(
    index: Path, services: ScriptedServices, chosen: dict[str, Any]
) -> None:
    remote: dict[str, Any] = {"cohere_url": services.url, "embed_url": services.openai_url}
    with pytest.raises(
        EmbedderMismatchError, match=r"Set `embedder` and .* or index the book again: bookbound index SOURCE"
    ):
        opened(index=index, **chosen, **remote)
    assert services.requests == []


@pytest.mark.parametrize("chosen", [COHERE, OPENAI])
def test_a_book_is_indexed_and_asked_with_a_remote_embedder(
    index: Path, services: ScriptedServices, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    remote: dict[str, Any] = {"cohere_url": services.url, "embed_url": services.openai_url}
    remote |= {"index": tmp_path / "index", "answered": 0.0}
    made = bootstrap.index_book(index.parent / "source", Settings(**chosen, **remote))
    assert made.manifest.embedder.startswith(chosen["embedder"])
    with bootstrap.open_book(Settings(**chosen, **remote)) as book:
        assert "12 hours" in book.ask("How often is the wick trimmed?").text
