"""Names the networks that ship with the package and loads their constants."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

from bookbound.domain.errors import ConfigError

# Set here, because this runs before any module of the package can import onnxruntime.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
MODELS_FOLDER = Path(__file__).parent
EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE = "embedder.onnx", "fast-reader.onnx", "strong-reader.onnx"
WORDS_FILE, CLAIM_WEIGHTS_FILE = "strong-reader-words.bin", "claim-weights.npz"
EXTRA_FILES = {STRONG_READER_FILE: (WORDS_FILE, CLAIM_WEIGHTS_FILE)}
"""Weights of a network outside its own file; no file may be so large that a forge refuses it."""
LARGE_FILES = (STRONG_READER_FILE, WORDS_FILE)
"""Too large for the wheel of this package: an installation has them in another, next to each other."""
LARGE_FILES_PACKAGE, LARGE_FILES_DISTRIBUTION = "bookbound_models", "bookbound-models"
TOKENIZER_FILE, CONSTANTS_FILE, DIGESTS_FILE = "tokenizer.json", "reader.json", "digests.json"


def find_model_file(name: str, folder: Path = MODELS_FOLDER) -> Path:
    """Returns where a file is: in the folder, as in a checkout, or in the package of the large files."""
    file = folder / name
    if name in LARGE_FILES and folder == MODELS_FOLDER and not file.exists():
        package = find_spec(LARGE_FILES_PACKAGE)
        return Path(*(package.submodule_search_locations or ())[:1], name) if package else file
    return file


def load_constants(file: Path) -> dict[str, Any]:
    """Loads a JSON object from a file next to the networks."""
    try:
        constants = json.loads(file.read_bytes())
    except OSError as error:
        raise missing_model_error(file.name) from error
    except (ValueError, RecursionError) as error:
        raise damaged_model_error(file.name) from error
    if not isinstance(constants, dict):
        raise damaged_model_error(file.name)
    return constants


def check_numbers(values: Mapping[str, float]) -> Mapping[str, float]:
    """Returns constants that are all finite numbers; JSON in Python also has NaN, which no comparison would stop."""
    if not all(map(isfinite, values.values())):
        raise ValueError("a constant is not a number")
    return values


def missing_model_error(name: str) -> ConfigError:
    source = f", together with {LARGE_FILES_DISTRIBUTION}, which has it" if name in LARGE_FILES else ""
    return ConfigError(f"The model file {name} is missing. Install bookbound again{source}.")


def damaged_model_error(name: str) -> ConfigError:
    return ConfigError(f"The model file {name} is damaged. Install bookbound again.")
