"""The workflow of a release tries every Python and system that the package names, and trusts nobody but the forge."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = (REPOSITORY / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
CLASSIFIERS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")


def test_every_python_of_the_classifiers_is_tried_on_every_system() -> None:
    matrix = JOBS["try"]["strategy"]["matrix"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(CLASSIFIERS))
    assert matrix["python"] == versions == ["3.11", "3.12", "3.13", "3.14"]
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    assert sum(name.startswith("Operating System") for name in CLASSIFIERS) == len(matrix["system"])


def test_the_built_files_are_tried_without_the_checkout_before_they_are_published() -> None:
    assert (JOBS["try"]["needs"], JOBS["publish"]["needs"]) == ("build", "try")
    assert not [step for step in JOBS["try"]["steps"] if "checkout" in step.get("uses", "")]


def test_only_the_forge_is_used_and_only_publishing_may_write() -> None:
    steps = [step for job in JOBS.values() for step in job["steps"]]
    assert {step["uses"].partition("/")[0] for step in steps if "uses" in step} == {"actions"}
    assert "://" not in TEXT
    assert [name for name, job in JOBS.items() if "write" in str(job.get("permissions"))] == ["publish"]


@pytest.mark.parametrize("target", ["check", "quick", "dist"])
def test_every_target_that_it_makes_exists(target: str) -> None:
    made = " ".join(step["run"] for step in JOBS["build"]["steps"] if step.get("run", "").startswith("make"))
    assert target in made.split()
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)
