"""`python -m lab.train.code_constants`: records in reader.json what of the code its probabilities rest on.

This is a part of the fingerprint of a calibration, like the weights: who changes a number or a word list of the
language changes probabilities.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from types import ModuleType

from bookbound.answering.deciding import decision
from bookbound.answering.reading import answerability, answering_words
from bookbound.answering.understanding import question_parts, spelling
from bookbound.domain import chunk
from bookbound.domain.question import MAX_PASSAGES
from bookbound.indexing.store.index_format import DENSE_WEIGHT
from bookbound.languages import LANGUAGE
from bookbound.models import CONSTANTS_FILE, cross_encoder
from lab.train.constants import MODELS

MODULES = (answerability, answering_words, chunk, cross_encoder, decision, question_parts, spelling)
"""They find passages, read them and combine the readings."""
NAME = "code"
"""The key in reader.json."""


def list_code_constants() -> dict[str, float | str]:
    """All numbers with a name in capitals in these modules, those of the search, and a digest of the language."""
    found = {
        f"{module.__name__.rpartition('.')[2]}.{name}": value
        for module in MODULES
        for name, value in _list_numbers(module)
    }
    words = json.dumps(asdict(LANGUAGE), default=_list_words, sort_keys=True)
    language = hashlib.sha256(words.encode()).hexdigest()[:16]
    return {
        **found,
        "search.DENSE_WEIGHT": float(DENSE_WEIGHT),
        "search.MAX_PASSAGES": MAX_PASSAGES,
        "language": language,
    }


def _list_numbers(module: ModuleType) -> list[tuple[str, float]]:
    names = sorted(name for name, value in vars(module).items() if name.isupper() and type(value) in (int, float))
    return [(name, float(vars(module)[name])) for name in names]


def _list_words(value: object) -> list[str]:
    """The words of a set; a function of the language has none."""
    return sorted(value) if isinstance(value, frozenset) else []


def main() -> None:
    file = MODELS / CONSTANTS_FILE
    stored = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**stored, NAME: list_code_constants()}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
