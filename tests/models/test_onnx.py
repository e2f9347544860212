from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.golden import FILE, measure_cosine, read_pair

from bookbound.domain.errors import ConfigError
from bookbound.models import (
    CLAIM_WEIGHTS_FILE,
    CONSTANTS_FILE,
    DIGESTS_FILE,
    EMBEDDER_FILE,
    EXTRA_FILES,
    FAST_READER_FILE,
    MODELS_FOLDER,
    STRONG_READER_FILE,
    TOKENIZER_FILE,
)
from bookbound.models.cross_encoder import ReaderConstants
from bookbound.models.onnx import ModelRuntime, Network, OnnxEmbedder, OnnxNetwork

MODELS = ModelRuntime()
GOLDEN = json.loads(FILE.read_text("utf-8"))
NETWORKS = (EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE)
STRONG_EXTRA_FILES = EXTRA_FILES[STRONG_READER_FILE]
ANY = st.characters(exclude_categories=["Cs"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of models whose files a test may replace."""
    for name in (*NETWORKS, *STRONG_EXTRA_FILES, TOKENIZER_FILE, DIGESTS_FILE, CONSTANTS_FILE):
        (tmp_path / name).symlink_to(MODELS_FOLDER / name)
    return tmp_path


def replace_file(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


def load_file(folder: Path, name: str) -> None:
    """Loads what needs a file."""
    models = ModelRuntime(folder)
    if name == TOKENIZER_FILE:
        models.ids("a")
    else:
        models.network(STRONG_READER_FILE if name in STRONG_EXTRA_FILES else name)


@pytest.mark.parametrize("file", [*NETWORKS, *STRONG_EXTRA_FILES, TOKENIZER_FILE])
def test_a_damaged_model_file_is_refused(folder: Path, file: str) -> None:
    data = bytearray((folder / file).read_bytes())
    data[len(data) // 2] ^= 1
    replace_file(folder / file, bytes(data))
    with pytest.raises(ConfigError, match=f"^The model file {file} is damaged. Install bookbound again.$"):
        load_file(folder, file)


@pytest.mark.parametrize("file", [*NETWORKS, *STRONG_EXTRA_FILES, TOKENIZER_FILE])
def test_a_missing_model_file_is_reported(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(ConfigError, match=f"^The model file {file} is missing. Install bookbound again.*\\.$"):
        load_file(folder, file)


@pytest.mark.parametrize("file", [*NETWORKS, *STRONG_EXTRA_FILES, TOKENIZER_FILE])
def test_a_file_without_a_digest_is_refused(folder: Path, file: str) -> None:
    digests = json.loads((folder / DIGESTS_FILE).read_text())
    del digests[file]
    replace_file(folder / DIGESTS_FILE, json.dumps(digests).encode())
    with pytest.raises(ConfigError, match=f"{file} is damaged"):
        load_file(folder, file)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", None], ids=["cut", "list", "bytes", "missing"])
def test_damaged_digests_are_reported(folder: Path, content: bytes | None) -> None:
    (folder / DIGESTS_FILE).unlink()
    if content is not None:
        (folder / DIGESTS_FILE).write_bytes(content)
    problem = "missing" if content is None else "damaged"
    with pytest.raises(ConfigError, match=f"{DIGESTS_FILE} is {problem}. Install bookbound again"):
        load_file(folder, FAST_READER_FILE)


READER = '{"answers": {"scale": 1, "shift": 2}, "supported": {"scale": 1, "shift": 2}, "rank": {}, "question": {}}'


@pytest.mark.parametrize(
    "content",
    ["{", "[]", "{}", '{"fast": [], "strong": []}', f'{{"fast": {READER}, "strong": {READER}}}', "\udcff"],
    ids=["cut", "list", "empty", "other types", "without selection", "bytes"],
)
@pytest.mark.parametrize("name", ["fast", "strong"])
def test_damaged_constants_of_a_reader_are_refused(folder: Path, name: Any, content: str) -> None:
    replace_file(folder / CONSTANTS_FILE, content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged. Install bookbound again"):
        ReaderConstants.load(ModelRuntime(folder), name)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "null", '"1"', "[]"])
@pytest.mark.parametrize("name", ["answers", "question", "paraphrase"])
def test_a_constant_of_a_reader_that_is_not_a_number_is_refused(folder: Path, name: str, value: str) -> None:
    constants = json.loads((folder / CONSTANTS_FILE).read_text())
    constants["strong"][name][next(iter(constants["strong"][name]))] = "VALUE"
    replace_file(folder / CONSTANTS_FILE, json.dumps(constants).replace('"VALUE"', value).encode())
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged. Install bookbound again"):
        ReaderConstants.load(ModelRuntime(folder), "strong")


@pytest.mark.parametrize(
    "content", [b"{}", b'{"score": {"scale": 1}}', b'{"score": 1}', b'{"score": {"scale": NaN, "shift": 1}}']
)
def test_damaged_constants_of_the_embedder_are_refused(folder: Path, content: bytes) -> None:
    replace_file(folder / CONSTANTS_FILE, content)
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is damaged. Install bookbound again"):
        OnnxEmbedder(ModelRuntime(folder))


def test_missing_constants_are_reported(folder: Path) -> None:
    (folder / CONSTANTS_FILE).unlink()
    with pytest.raises(ConfigError, match=f"{CONSTANTS_FILE} is missing. Install bookbound again"):
        ReaderConstants.load(ModelRuntime(folder), "fast")


def list_shipped_files() -> dict[str, Path]:
    return {file.name: file for file in MODELS_FOLDER.iterdir() if file.is_file() and file.suffix != ".py"}


def test_every_shipped_file_has_its_digest_and_no_other_is_shipped() -> None:
    digests = json.loads((MODELS_FOLDER / DIGESTS_FILE).read_text())
    assert {*digests} == {*NETWORKS, *STRONG_EXTRA_FILES, TOKENIZER_FILE}
    assert {*list_shipped_files()} == {*digests, DIGESTS_FILE, CONSTANTS_FILE}
    assert {name: hashlib.sha256((MODELS_FOLDER / name).read_bytes()).hexdigest() for name in digests} == digests


def test_no_shipped_file_is_too_large_for_a_forge() -> None:
    sizes = {name: file.stat().st_size for name, file in list_shipped_files().items()}
    assert {name: size for name, size in sizes.items() if size > 95_000_000} == {}
    assert sum(sizes.values()) < 200_000_000


def test_the_strong_reader_uses_all_threads_and_the_others_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, int] = {}

    def open_network(file: Path, **options: int) -> None:
        threads[file.name] = options["threads"]

    monkeypatch.setattr("bookbound.models.onnx.OnnxNetwork", open_network)
    models = ModelRuntime(threads=3)
    for name in NETWORKS:
        models.network(name)
    assert threads == {EMBEDDER_FILE: 1, FAST_READER_FILE: 1, STRONG_READER_FILE: 3}


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
    replace_file(folder / EMBEDDER_FILE, b"")
    with pytest.raises(ConfigError, match="is damaged"):
        ModelRuntime(folder, preload=[EMBEDDER_FILE]).network(EMBEDDER_FILE)


@given(st.text(st.sampled_from("a bC\u0301é\n\t\r\x0b\x1c\x85\xa0\u2028漢ß[CLS]#👍\u200d0.-_") | ANY, max_size=60))
def test_tokens_counted_by_word_equal_those_of_the_text(text: str) -> None:
    assert MODELS.count(text) == len(MODELS.ids(text))


def test_special_and_very_long_words_are_counted_as_they_are_read() -> None:
    text = f"[CLS] a[SEP]b [MASK]\n[PAD] {'x' * 99} {'x' * 101}  two  spaces\n\n"
    assert MODELS.count(text) == len(MODELS.ids(text))


# onnxruntime multiplies integers in one of two ways; both must give the same results as on other CPUs.
OPTIONS: list[Mapping[str, str]] = [{}, {"session.x64quantprecision": "0"}, {"session.x64quantprecision": "1"}]
MAX_STRONG_DIFFERENCE = 0.01
"""The strong reader computes in full precision: with AVX2 alone, no golden logit differs by more than 0.0001."""
MAX_FAST_DIFFERENCE, MAX_MEAN_FAST_DIFFERENCE = 0.5, 0.1
"""The fast reader rounds activations: with AVX2 alone, logits differ by 0.016 on average, and by 0.14 at most of 48."""
MAX_COSINE_DIFFERENCE, MAX_MEAN_COSINE_DIFFERENCE = 0.02, 0.005
"""The embedder rounds activations: with AVX2 alone, cosines differ by 0.001 on average, and by 0.018 at most of 850."""


def open_network(file: str, option: int) -> Network:
    """Opens a network as it is used, or with one of the options."""
    options = OPTIONS[option]
    claim_weights = MODELS_FOLDER / CLAIM_WEIGHTS_FILE if file == STRONG_READER_FILE else None
    if not options:
        return MODELS.network(file)
    return OnnxNetwork(MODELS_FOLDER / file, claim_weights=claim_weights, options=options)


def test_the_golden_passages_differ_in_length_and_kind() -> None:
    lengths = sorted(MODELS.count(passage) for passage in GOLDEN["passages"].values())
    assert lengths[0] < 50
    assert lengths[-1] > 200
    assert len(GOLDEN["pairs"]) == len(GOLDEN["similarities"]) == 6


@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=["default", "precision 0", "precision 1"])
def test_the_strong_reader_gives_the_same_logits_on_every_cpu(option: int) -> None:
    network = open_network(STRONG_READER_FILE, option)
    for pair in GOLDEN["pairs"]:
        found = read_pair(MODELS, network, "strong", pair["text"], GOLDEN["passages"][pair["passage"]])
        assert found == pytest.approx(pair["strong"], abs=MAX_STRONG_DIFFERENCE), pair["text"]


@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=["default", "precision 0", "precision 1"])
def test_the_fast_reader_gives_nearly_the_same_logits_on_every_cpu(option: int) -> None:
    network = open_network(FAST_READER_FILE, option)
    differences = []
    for pair in GOLDEN["pairs"]:
        found = read_pair(MODELS, network, "fast", pair["text"], GOLDEN["passages"][pair["passage"]])
        differences += [abs(found[name] - pair["fast"][name]) for name in ("answers", "supported")]
    assert max(differences) < MAX_FAST_DIFFERENCE
    assert mean(differences) < MAX_MEAN_FAST_DIFFERENCE


@pytest.mark.parametrize("option", range(len(OPTIONS)), ids=["default", "precision 0", "precision 1"])
def test_the_embedder_gives_nearly_the_same_similarities_on_every_cpu(option: int) -> None:
    network = open_network(EMBEDDER_FILE, option)
    differences = [
        abs(measure_cosine(MODELS, network, pair["question"], GOLDEN["passages"][pair["passage"]]) - pair["cosine"])
        for pair in GOLDEN["similarities"]
    ]
    assert max(differences) < MAX_COSINE_DIFFERENCE
    assert mean(differences) < MAX_MEAN_COSINE_DIFFERENCE


def test_opening_the_strong_reader_prints_nothing() -> None:
    code = f"from bookbound.models.onnx import ModelRuntime; ModelRuntime().network({STRONG_READER_FILE!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_higher_cosine_has_a_higher_score_from_0_to_1() -> None:
    embedder = OnnxEmbedder(MODELS)
    scores = [embedder.score_similarity(cosine / 10) for cosine in range(-10, 11)]
    assert scores == sorted(set(scores))
    assert 0 <= scores[0] < 0.01
    assert 0.99 < scores[-1] <= 1


def test_telemetry_of_onnxruntime_is_disabled_before_its_import() -> None:
    code = "import bookbound.models, os, sys; print(os.environ['ORT_DISABLE_TELEMETRY'], 'onnxruntime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]
