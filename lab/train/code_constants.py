"""`python -m lab.train.code_constants`: records in reader.json the constants of code that its probabilities rest on.

They are a part of the fingerprint of a calibration, like the weights: who changes one changes probabilities.
"""

from __future__ import annotations

import json
from types import ModuleType

from bookbound.answering import judging
from bookbound.answering.deciding import decision
from bookbound.answering.reading import answerability, answering_words
from bookbound.answering.understanding import question_parts, spelling
from bookbound.indexing.store import index_format
from bookbound.models import CONSTANTS_FILE, cross_encoder
from lab.train.constants import MODELS

MODULES = (answerability, answering_words, cross_encoder, decision, judging, question_parts, spelling)
"""They find passages, read them and combine the readings."""
NAME = "code"
"""The key in reader.json."""


def list_code_constants() -> dict[str, float]:
    """All numbers with a name in capitals in these modules, and the weight of meaning against words in a search."""
    found = {name: value for module in MODULES for name, value in _list_numbers(module).items()}
    return dict(sorted({**found, "DENSE_WEIGHT": float(index_format.DENSE_WEIGHT)}.items()))


def _list_numbers(module: ModuleType) -> dict[str, float]:
    return {
        name: float(value) for name, value in vars(module).items() if name.isupper() and type(value) in (int, float)
    }


def main() -> None:
    file = MODELS / CONSTANTS_FILE
    stored = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**stored, NAME: list_code_constants()}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
