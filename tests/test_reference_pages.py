"""The generated pages are up to date, and all pages name classes and settings that exist."""

from __future__ import annotations

import re
import runpy
from dataclasses import fields
from pathlib import Path

import pytest

from bookbound.settings import ENVIRONMENT_PREFIX, Settings

REPOSITORY = Path(__file__).resolve().parent.parent
REFERENCE = REPOSITORY / "docs" / "reference"
PAGES = [REPOSITORY / "CONTRIBUTING.md", *sorted(REPOSITORY.glob("docs/**/*.md"))]
OTHER_VARIABLES = {"DEBUG", "SHARED", "TEST_GGUF", "TEST_MISTRALRS_PYTHON", "TEST_QDRANT", "TEST_QDRANT_URL"}


GENERATED = runpy.run_path(str(REFERENCE / "generate.py"))["PAGES"]


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    advice = "Run: python docs/reference/generate.py"
    assert (REPOSITORY / "docs" / name).read_text(encoding="utf-8") == GENERATED[name](), advice


@pytest.fixture(scope="module")
def code() -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in (REPOSITORY / "src" / "bookbound").rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_class_that_a_page_names_exists(page: Path, code: str) -> None:
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    names = {name for span in spans for name in re.findall(r"\b[A-Z][a-z]+(?:[A-Z]+[a-z]+)+\b", span)}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", code)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_variable_that_a_page_names_is_a_setting(page: Path) -> None:
    named = set(re.findall(rf"{ENVIRONMENT_PREFIX}([A-Z][A-Z_]*)", page.read_text(encoding="utf-8")))
    assert named <= {each.name.upper() for each in fields(Settings)} | OTHER_VARIABLES
