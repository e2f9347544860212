"""No message and no page tells anybody to fetch our name from a package index, where it may be somebody else's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bookbound.services import EXTRA_PACKAGES, build_missing_packages_error

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "bookbound"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = re.compile(r"\b(?:pip|pipx|uv|uvx|conda)\b[^\n`]*?\b(?:install|run|add|inject|wheel|download)\b([^\n`]*)")
OUR_NAME = re.compile(r"""(?:^|[\s"'=])bookbound(?:[-_]models)?(?:\[[^\]]*\])?(?:[<>=!~][^\s"']*)?(?=["'\s]|$)""")


def asks_an_index_for_us(line: str) -> bool:
    """Whether a command installs one of our names, and not from files alone or into our own environment."""
    found = INSTALL.search(line)
    return bool(found and OUR_NAME.search(found[1])) and "--no-index" not in line and "pipx inject" not in line


def list_texts() -> list[Path]:
    documents = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("release/**/*.md")]
    deployment = [REPOSITORY / "Dockerfile", REPOSITORY / "Makefile", REPOSITORY / "compose.yaml"]
    deployment += REPOSITORY.glob("deploy/**/*.*")
    return [*documents, *deployment, *REPOSITORY.glob(".github/**/*.yml"), *PACKAGE.rglob("*.py")]


def test_no_command_asks_an_index_for_our_name() -> None:
    asking = [
        f"{file.relative_to(REPOSITORY)}: {line}"
        for file in list_texts()
        for line in file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
        if asks_an_index_for_us(line)
    ]
    assert asking == []


@pytest.mark.parametrize(
    "line",
    [
        'pip install "bookbound[openai]"',
        "Install it: pip install bookbound",
        "pip install -U 'bookbound-models==1.0'",
        "pipx install bookbound",
        "uv tool install bookbound",
        "uv add bookbound[redis]",
        "pip download bookbound",
    ],
)
def test_a_planted_command_is_found(line: str) -> None:
    assert asks_an_index_for_us(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install . ./release/models",
        "pip install bookbound-0.1.0-py3-none-any.whl bookbound_models-1.0+8d083cf21a22-py3-none-any.whl",
        'pip install --no-index --find-links wheels "bookbound[redis]"',
        'pipx inject bookbound "openai-agents>=0.20"',
    ],
)
def test_a_command_that_uses_files_is_allowed(line: str) -> None:
    assert not asks_an_index_for_us(line)


def test_every_extra_has_a_message_that_names_its_packages() -> None:
    assert {name: [*packages] for name, packages in EXTRA_PACKAGES.items()} == PROJECT["optional-dependencies"]
    for name, packages in EXTRA_PACKAGES.items():
        message = str(build_missing_packages_error("The setting `x`", name))
        assert message.endswith("pip install " + " ".join(f'"{package}"' for package in packages))


def test_only_one_message_has_a_command_that_installs() -> None:
    files = [file.name for file in PACKAGE.rglob("*.py") if "pip install" in file.read_text(encoding="utf-8")]
    assert files == ["services.py"]
