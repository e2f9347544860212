"""The software bill of materials lists every pinned package and every network, and leaves nothing out in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release.sbom import LOCK_FILE, build_sbom, main

from bookbound import __version__
from bookbound.models import DIGESTS_FILE, MODELS_FOLDER

DIGESTS = json.loads((MODELS_FOLDER / DIGESTS_FILE).read_text())
LOCK = """\
annotated-doc==0.0.4 \\
    --hash=sha256:aa
pyyaml[fast]==6.0.3 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
uvloop==0.22.1 ; platform_python_implementation != 'PyPy' and sys_platform == 'linux' \\
    --hash=sha256:dd
Zope.Interface==7.1
"""


def test_each_package_has_its_name_version_and_marker() -> None:
    found = build_sbom(LOCK, {}, "1.2")["components"]
    assert [each["purl"] for each in found] == [
        "pkg:pypi/annotated-doc@0.0.4",
        "pkg:pypi/pyyaml@6.0.3",
        "pkg:pypi/uvloop@0.22.1",
        "pkg:pypi/zope-interface@7.1",
    ]
    assert found[2]["properties"][0]["value"] == "platform_python_implementation != 'PyPy' and sys_platform == 'linux'"


def test_a_line_that_pins_nothing_is_an_error() -> None:
    with pytest.raises(SystemExit, match="not a pinned package: numpy>=1"):
        build_sbom("numpy>=1\n", {}, "1.2")


def test_the_file_has_all_of_the_lock_file_and_every_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sbom.json"
    monkeypatch.setattr("sys.argv", ["sbom", str(file)])
    main()
    sbom = json.loads(file.read_text(encoding="utf-8"))
    pinned = [line for line in LOCK_FILE.read_text(encoding="utf-8").splitlines() if line[:1].isalnum()]
    packages = [each for each in sbom["components"] if each["type"] == "library"]
    assert [f"{each['name']}=={each['version']}" for each in packages] == [line.split()[0] for line in pinned]
    networks = {each["name"]: each["hashes"][0]["content"] for each in sbom["components"] if "hashes" in each}
    assert networks == DIGESTS
    assert sbom["metadata"]["component"]["purl"] == f"pkg:generic/bookbound@{__version__}"


def test_references_are_unique_and_the_document_is_repeatable() -> None:
    lock = LOCK_FILE.read_text(encoding="utf-8")
    sbom = build_sbom(lock, DIGESTS, "1.2")
    references = [each["bom-ref"] for each in sbom["components"]]
    assert len({*references}) == len(references)
    assert sbom["dependencies"][0]["dependsOn"] == references
    assert sbom == build_sbom(lock, DIGESTS, "1.2")
    assert sbom["serialNumber"] != build_sbom(lock, DIGESTS, "1.3")["serialNumber"]
