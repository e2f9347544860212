"""Adds a file with the commit to the sdist and to the wheel, which have no Git."""

from __future__ import annotations

import runpy
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "src/bookbound"


class CommitFileHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes the commit of the checkout, or keeps the file that an unpacked sdist has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the file to what is built; an editable installation asks Git each time instead."""
        module = runpy.run_path(str(Path(self.root, PACKAGE, "cli", "source_commit.py")))
        commit = module["find_commit"](Path(self.root, PACKAGE))
        if not commit or version == "editable":
            return
        with NamedTemporaryFile("w", suffix=".txt", delete=False, encoding="ascii") as file:
            file.write(f"{commit}\n")
        self._file = Path(file.name)
        # The names of the sdist start at the root of the checkout, and those of the wheel at the package.
        folder = PACKAGE if self.target_name == "sdist" else Path(PACKAGE).name
        build_data["force_include"][file.name] = f"{folder}/{module['COMMIT_FILE']}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        with suppress(AttributeError):  # nothing was added
            self._file.unlink()
