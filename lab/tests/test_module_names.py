"""Each module of the lab has a name of its own, also among those of the product."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

LAB = Path(__file__).resolve().parents[1]
PRODUCT = LAB.parent / "src" / "bookbound"


def list_names(folder: Path) -> list[str]:
    return [file.stem for file in folder.rglob("*.py") if not file.stem.startswith("__")]


def test_no_module_of_the_lab_is_called_like_another_or_one_of_the_product() -> None:
    lab = [name for part in ("train", "measure", "compare") for name in list_names(LAB / part)]
    assert {name for name, count in Counter(lab).items() if count > 1} == set()
    assert {*lab} & {*list_names(PRODUCT)} == set()
