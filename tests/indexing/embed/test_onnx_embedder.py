from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bookbound.models.onnx import OnnxEmbedder


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def test_vectors_have_length_one_and_the_stated_dimension(embedder: OnnxEmbedder) -> None:
    vectors = asyncio.run(embedder.embed(["A robot walks.", "", "x" * 5000]))
    assert vectors.shape == (3, embedder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)


def test_the_vector_of_a_text_does_not_depend_on_its_batch(embedder: OnnxEmbedder) -> None:
    alone = asyncio.run(embedder.embed(["A robot walks."]))[0]
    among = asyncio.run(embedder.embed(["Quite another text, and longer.", "A robot walks.", "Third."]))[1]
    assert np.array_equal(alone, among)
    assert np.array_equal(alone, asyncio.run(embedder.embed_question("A robot walks.")))


def test_texts_of_similar_meaning_are_closer_than_others(embedder: OnnxEmbedder) -> None:
    walking, strolling, cooking = asyncio.run(
        embedder.embed(["The robot walks on two legs.", "A biped machine strolls.", "Simmer the soup for an hour."])
    )
    assert walking @ strolling > walking @ cooking + 0.2


def test_tokens_are_counted_beyond_the_limit_of_the_tokenizer_file(embedder: OnnxEmbedder) -> None:
    assert embedder.count_tokens("robot " * 300) == 302


def test_words_beyond_the_token_limit_are_not_read(embedder: OnnxEmbedder) -> None:
    within = "robot " * (embedder.max_tokens - 2)
    one, other = asyncio.run(embedder.embed([within, within + "banana " * 50]))
    assert np.array_equal(one, other)


def test_no_texts_give_an_empty_matrix(embedder: OnnxEmbedder) -> None:
    assert asyncio.run(embedder.embed([])).shape == (0, embedder.dimension)


def test_the_model_writes_no_files_and_uses_no_network(tmp_path: Path) -> None:
    script = """
import asyncio, socket
def refuse(*_, **__): raise AssertionError("the network was used")
socket.socket.connect = socket.getaddrinfo = refuse
from bookbound.models.onnx import OnnxEmbedder
asyncio.run(OnnxEmbedder().embed(["A robot walks."]))
"""
    here = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", script], check=True, env=here)
    assert list(tmp_path.iterdir()) == []
