from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.domain.errors import ConfigError
from bookbound.indexing.embed.onnx_embedder import OnnxEmbedder
from bookbound.models import CONSTANTS_FILE, DIGESTS_FILE, EMBEDDER_FILE, MODELS_FOLDER, READER_FILE, TOKENIZER_FILE
from bookbound.models.onnx import ModelRuntime

MODELS_AT_HAND = ModelRuntime()
GOLDEN = [json.loads(line) for line in (Path(__file__).parent / "golden.jsonl").read_text("utf-8").splitlines()]
ANY = st.characters(exclude_categories=["Cs"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (EMBEDDER_FILE, READER_FILE, TOKENIZER_FILE, DIGESTS_FILE, CONSTANTS_FILE):
        shutil.copyfile(MODELS_FOLDER / name, tmp_path / name)
    return tmp_path


def opened(folder: Path) -> None:
    models = ModelRuntime(folder)
    OnnxEmbedder(models)
    CrossEncoder(models)


@pytest.mark.parametrize("file", [EMBEDDER_FILE, READER_FILE, TOKENIZER_FILE])
def test_a_damaged_model_file_is_refused(folder: Path, file: str) -> None:
    data = bytearray((folder / file).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / file).write_bytes(data)
    with pytest.raises(ConfigError, match=f"{file} is damaged; install bookbound again"):
        opened(folder)


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b'{"answers": {"scale": 1, "slope": 2}}', b"\xff"])
def test_damaged_constants_are_refused(folder: Path, content: bytes) -> None:
    (folder / CONSTANTS_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged; install bookbound again"):
        opened(folder)


@pytest.mark.parametrize("file", [EMBEDDER_FILE, READER_FILE, TOKENIZER_FILE, CONSTANTS_FILE, DIGESTS_FILE])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ConfigError, match=f"{file} is missing; install bookbound again"):
        opened(folder)


def test_a_file_whose_digest_nobody_wrote_down_is_refused(folder: Path) -> None:
    (folder / DIGESTS_FILE).write_text("{}")
    with pytest.raises(ConfigError, match="is damaged"):
        opened(folder)


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
def test_word_pieces_stand_at_the_characters_they_were_made_of(text: str) -> None:
    pieces = ModelRuntime().pieces(text)
    assert len(pieces.ids) == len(pieces.spans) == len(pieces.words)
    assert all(0 <= start < end <= len(text) for start, end in pieces.spans)
    covered = {i for start, end in pieces.spans for i in range(start, end)}
    assert {letter for i, letter in enumerate(text) if i not in covered} <= {" ", "\u0301"}


def test_a_network_that_opens_ahead_is_the_same_and_fails_the_same(folder: Path) -> None:
    ids = [101, 2054, 102]
    ahead, plain = ModelRuntime(folder, ahead=[EMBEDDER_FILE]), ModelRuntime(folder)
    assert (
        ahead.network(EMBEDDER_FILE).read(ids)["embedding"] == plain.network(EMBEDDER_FILE).read(ids)["embedding"]
    ).all()
    (folder / EMBEDDER_FILE).write_bytes(b"")
    with pytest.raises(ConfigError, match="is damaged"):
        ModelRuntime(folder, ahead=[EMBEDDER_FILE]).network(EMBEDDER_FILE)


@given(st.text(st.sampled_from("a bC\u0301é\n\t\r\x0b\x1c\x85\xa0\u2028漢ß[CLS]#👍\u200d0.-_") | ANY, max_size=60))
def test_word_pieces_counted_word_by_word_are_those_of_the_whole_text(text: str) -> None:
    assert MODELS_AT_HAND.count(text) == len(MODELS_AT_HAND.ids(text))


def test_special_words_and_words_without_end_are_counted_as_they_are_read() -> None:
    text = f"[CLS] a[SEP]b [MASK]\n[PAD] {'x' * 99} {'x' * 101}  two  spaces\n\n"
    assert MODELS_AT_HAND.count(text) == len(MODELS_AT_HAND.ids(text))


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden["second"][:24])
def test_the_networks_say_the_same_on_every_processor(golden: dict[str, Any]) -> None:
    opening, closing = MODELS_AT_HAND.marks
    first = [opening, *MODELS_AT_HAND.ids(golden["first"]), closing]
    second = [*MODELS_AT_HAND.ids(golden["second"]), closing]
    said = MODELS_AT_HAND.network(READER_FILE).read(first + second, token_type_ids=[0] * len(first) + [1] * len(second))
    assert said["answers"] == pytest.approx(golden["answers"], abs=0.1)
    assert said["supported"] == pytest.approx(golden["supported"], abs=0.1)
    assert (said["start"].argmax(), said["end"].argmax()) == (golden["start"], golden["end"])
    embedder = MODELS_AT_HAND.network(EMBEDDER_FILE)
    (origin, vector) = (
        embedder.read([opening, *MODELS_AT_HAND.ids(text), closing])["embedding"]
        for text in (GOLDEN[0]["second"], golden["second"])
    )
    assert float(origin @ vector) == pytest.approx(golden["cosine_to_first"], abs=0.01)
