from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.domain.errors import ConfigError
from bookbound.models import CONSTANTS_FILE, DIGESTS_FILE, EMBEDDER_FILE, MODELS_FOLDER, READER_FILE, TOKENIZER_FILE
from bookbound.models.onnx import ModelRuntime, OnnxEmbedder

MODELS = ModelRuntime()
GOLDEN = [json.loads(line) for line in (Path(__file__).parent / "golden.jsonl").read_text("utf-8").splitlines()]
ANY = st.characters(exclude_categories=["Cs"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (EMBEDDER_FILE, READER_FILE, TOKENIZER_FILE, DIGESTS_FILE, CONSTANTS_FILE):
        shutil.copyfile(MODELS_FOLDER / name, tmp_path / name)
    return tmp_path


def open_models(folder: Path) -> None:
    models = ModelRuntime(folder)
    OnnxEmbedder(models)
    CrossEncoder(models)


@pytest.mark.parametrize("file", [EMBEDDER_FILE, READER_FILE, TOKENIZER_FILE])
def test_a_damaged_model_file_is_refused(folder: Path, file: str) -> None:
    data = bytearray((folder / file).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / file).write_bytes(data)
    with pytest.raises(ConfigError, match=f"{file} is damaged. Install bookbound again"):
        open_models(folder)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"answers": {"scale": 1, "slope": 2}}', b"\xff"])
def test_damaged_constants_are_refused(folder: Path, content: bytes) -> None:
    (folder / CONSTANTS_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged. Install bookbound again"):
        open_models(folder)


@pytest.mark.parametrize("file", [EMBEDDER_FILE, READER_FILE, TOKENIZER_FILE, CONSTANTS_FILE, DIGESTS_FILE])
def test_a_missing_model_file_is_reported(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ConfigError, match=f"{file} is missing. Install bookbound again"):
        open_models(folder)


def test_a_file_without_a_digest_is_refused(folder: Path) -> None:
    (folder / DIGESTS_FILE).write_text("{}")
    with pytest.raises(ConfigError, match="is damaged"):
        open_models(folder)


@pytest.mark.parametrize(
    "text",
    [
        "İstanbul ist schön",
        "Straße",
        "cafe\u0301 re\u0301sume\u0301",
        "👩‍🚀 ok 👍🏽!",
        "漢字かな 한국어",
        "m.sample() --flag",
    ],
)
def test_tokens_have_the_spans_of_their_characters(text: str) -> None:
    pieces = ModelRuntime().tokenize(text)
    assert len(pieces.ids) == len(pieces.spans) == len(pieces.words)
    assert all(0 <= start < end <= len(text) for start, end in pieces.spans)
    covered = {i for start, end in pieces.spans for i in range(start, end)}
    assert {letter for i, letter in enumerate(text) if i not in covered} <= {" ", "\u0301"}


def test_a_preloaded_network_is_the_same_and_fails_the_same(folder: Path) -> None:
    ids = [101, 2054, 102]
    ahead, plain = ModelRuntime(folder, preload=[EMBEDDER_FILE]), ModelRuntime(folder)
    assert (
        ahead.network(EMBEDDER_FILE).read(ids)["embedding"] == plain.network(EMBEDDER_FILE).read(ids)["embedding"]
    ).all()
    (folder / EMBEDDER_FILE).write_bytes(b"")
    with pytest.raises(ConfigError, match="is damaged"):
        ModelRuntime(folder, preload=[EMBEDDER_FILE]).network(EMBEDDER_FILE)


@given(st.text(st.sampled_from("a bC\u0301é\n\t\r\x0b\x1c\x85\xa0\u2028漢ß[CLS]#👍\u200d0.-_") | ANY, max_size=60))
def test_tokens_counted_by_word_equal_those_of_the_text(text: str) -> None:
    assert MODELS.count(text) == len(MODELS.ids(text))


def test_special_and_very_long_words_are_counted_as_they_are_read() -> None:
    text = f"[CLS] a[SEP]b [MASK]\n[PAD] {'x' * 99} {'x' * 101}  two  spaces\n\n"
    assert MODELS.count(text) == len(MODELS.ids(text))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["second"][:24])
def test_the_networks_give_the_same_outputs_on_every_cpu(golden: dict[str, Any]) -> None:
    opening, closing = MODELS.special_ids
    first = [opening, *MODELS.ids(golden["first"]), closing]
    second = [*MODELS.ids(golden["second"]), closing]
    said = MODELS.network(READER_FILE).read(first + second, token_type_ids=[0] * len(first) + [1] * len(second))
    assert said["answers"] == pytest.approx(golden["answers"], abs=0.1)
    assert said["supported"] == pytest.approx(golden["supported"], abs=0.1)
    assert (said["start"].argmax(), said["end"].argmax()) == (golden["start"], golden["end"])
    embedder = MODELS.network(EMBEDDER_FILE)
    (origin, vector) = (
        embedder.read([opening, *MODELS.ids(text), closing])["embedding"]
        for text in (GOLDEN[0]["second"], golden["second"])
    )
    assert float(origin @ vector) == pytest.approx(golden["cosine_to_first"], abs=0.01)


def test_telemetry_of_onnxruntime_is_disabled_before_its_import() -> None:
    code = "import bookbound.models, os, sys; print(os.environ['ORT_DISABLE_TELEMETRY'], 'onnxruntime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]
