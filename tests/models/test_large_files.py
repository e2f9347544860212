"""The files of the strong reader are found in the checkout or in their own distribution, and are checked."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path

import pytest

from bookbound import models
from bookbound.domain.errors import ConfigError
from bookbound.models import (
    CLAIM_WEIGHTS_FILE,
    DIGESTS_FILE,
    FAST_READER_FILE,
    LARGE_FILES,
    MODELS_FOLDER,
    TOKENIZER_FILE,
    find_model_file,
)
from bookbound.models.cross_encoder import CLAIM_INPUTS
from bookbound.models.onnx import ModelRuntime

REPOSITORY = Path(__file__).resolve().parents[2]
STRONG_READER, WORDS = LARGE_FILES


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the networks in an installation, which has no large files."""
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(MODELS_FOLDER / DIGESTS_FILE, folder)
    monkeypatch.setattr(models, "MODELS_FOLDER", folder)
    return folder


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installed package of the large files, which are links here."""
    package = tmp_path / "site" / "bookbound_models"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for name in LARGE_FILES:
        (package / name).symlink_to(MODELS_FOLDER / name)
    monkeypatch.syspath_prepend(package.parent)
    return package


@pytest.mark.parametrize("name", LARGE_FILES)
def test_a_checkout_uses_its_own_files_even_if_the_distribution_is_installed(distribution: Path, name: str) -> None:
    assert distribution.is_dir()
    assert find_model_file(name) == MODELS_FOLDER / name


@pytest.mark.parametrize("name", LARGE_FILES)
def test_an_installation_finds_the_large_files_in_the_distribution(
    installed: Path, distribution: Path, name: str
) -> None:
    assert find_model_file(name, installed) == distribution / name
    assert find_model_file(FAST_READER_FILE, installed) == installed / FAST_READER_FILE


def test_a_folder_that_was_chosen_is_not_completed_from_the_distribution(distribution: Path, tmp_path: Path) -> None:
    assert distribution.is_dir()
    assert find_model_file(STRONG_READER, tmp_path) == tmp_path / STRONG_READER


def test_an_installation_reads_claims_with_the_weights_of_both_packages(installed: Path, distribution: Path) -> None:
    def read_claim(models: ModelRuntime) -> float:
        (claim, premise), (opening, closing) = (
            (models.ids("A dog barks."), models.ids("A dog is loud.")),
            models.special_ids,
        )
        ids = [opening, *claim, closing, *premise, closing]
        types = [0] * (len(claim) + 2) + [1] * (len(premise) + 1)
        outputs = models.network(STRONG_READER).read(ids, token_type_ids=types, **CLAIM_INPUTS["strong"])
        return float(outputs["supported"])

    assert distribution.is_dir()
    for name in (CLAIM_WEIGHTS_FILE, TOKENIZER_FILE):
        (installed / name).symlink_to(MODELS_FOLDER / name)
    assert read_claim(ModelRuntime(installed)) == read_claim(ModelRuntime())


def test_a_damaged_file_of_the_distribution_is_refused(installed: Path, distribution: Path) -> None:
    (distribution / WORDS).unlink()
    (distribution / WORDS).write_bytes(b"other weights")
    with pytest.raises(ConfigError, match=f"{WORDS} is damaged"):
        ModelRuntime(installed).network(STRONG_READER)


def test_without_the_distribution_the_message_names_it(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"is missing\. Install bookbound again, together with bookbound-models"):
        ModelRuntime(installed).network(STRONG_READER)


def test_the_version_of_the_distribution_is_the_digest_of_its_files() -> None:
    digests = json.loads((MODELS_FOLDER / DIGESTS_FILE).read_text())
    digest = hashlib.sha256("".join(digests[name] for name in LARGE_FILES).encode()).hexdigest()[:12]
    folder = REPOSITORY / "release" / "models"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {(folder / path).resolve() for path in included} == {MODELS_FOLDER / name for name in LARGE_FILES}
    assert {*included.values()} == {f"{models.LARGE_FILES_PACKAGE}/{name}" for name in LARGE_FILES}
    assert (project["project"]["name"], project["project"]["version"].partition("+")[2]) == (
        models.LARGE_FILES_DISTRIBUTION,
        digest,
    )


def test_the_package_needs_exactly_the_version_of_the_distribution_in_the_checkout() -> None:
    needed = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    found = tomllib.loads((REPOSITORY / "release" / "models" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"{found['name']}=={found['version']}" in needed
