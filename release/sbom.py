"""`python -m release.sbom FILE`: writes the software bill of materials of a release in CycloneDX JSON.

It lists the packages of `requirements.lock`, which the release was tested with, and the networks with their digests."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bookbound import __version__
from bookbound.models import DIGESTS_FILE, MODELS_FOLDER

LOCK_FILE = Path(__file__).resolve().parent.parent / "requirements.lock"
_PINNED = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?==(?P<version>[^\s;\\]+)(?: ; (?P<marker>.*?))?(?: \\)?")


def build_sbom(lock: str, digests: dict[str, str], version: str) -> dict[str, Any]:
    """Builds the document; the same input gives the same document."""
    # Not a package of an index: there the name may be that of another project.
    url = f"pkg:generic/bookbound@{version}"
    product = {
        "type": "application",
        "bom-ref": url,
        "name": "bookbound",
        "version": version,
        "purl": url,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    components = [*_read_packages(lock), *map(_describe_network, digests, digests.values())]
    content = json.dumps([product, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"component": product},
        "components": components,
        "dependencies": [{"ref": product["bom-ref"], "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _read_packages(lock: str) -> list[dict[str, Any]]:
    """Reads every pinned package; a line that is not understood is an error, so that none is left out."""
    lines = [line for line in lock.splitlines() if line.strip() and not line.startswith(("#", " "))]
    unknown = [line for line in lines if not _PINNED.fullmatch(line)]
    if unknown:
        raise SystemExit(f"A line of the lock file is not a pinned package: {unknown[0]}")
    packages = []
    for pinned in filter(None, map(_PINNED.fullmatch, lines)):
        package = _describe_package(pinned["name"], pinned["version"])
        if pinned["marker"]:
            package["properties"] = [{"name": "bookbound:marker", "value": pinned["marker"]}]
        packages.append(package)
    return packages


def _describe_package(name: str, version: str) -> dict[str, Any]:
    normal = re.sub(r"[-_.]+", "-", name).lower()
    url = f"pkg:pypi/{normal}@{version}"
    return {"type": "library", "bom-ref": url, "name": normal, "version": version, "purl": url}


def _describe_network(name: str, digest: str) -> dict[str, Any]:
    kind = "machine-learning-model" if Path(name).suffix == ".onnx" else "data"
    return {
        "type": kind,
        "bom-ref": f"network:{name}",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("Name the file to write: python -m release.sbom FILE")
    digests = json.loads((MODELS_FOLDER / DIGESTS_FILE).read_bytes())
    sbom = build_sbom(LOCK_FILE.read_text(encoding="utf-8"), digests, __version__)
    Path(sys.argv[1]).write_text(json.dumps(sbom, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
