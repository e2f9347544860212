"""Names the networks that ship with the package and loads their constants."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bookbound.domain.errors import ConfigError

# Set here, because this runs before any module of the package can import onnxruntime.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
MODELS_FOLDER = Path(__file__).parent
EMBEDDER_FILE, FAST_READER_FILE, STRONG_READER_FILE = "embedder.onnx", "fast-reader.onnx", "strong-reader.onnx"
EXTRA_FILES = {STRONG_READER_FILE: ("strong-reader-words.bin",)}
"""Files that a network loads itself; no file may be so large that a forge refuses it."""
TOKENIZER_FILE, CONSTANTS_FILE, DIGESTS_FILE = "tokenizer.json", "reader.json", "digests.json"


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


def missing_model_error(name: str) -> ConfigError:
    return ConfigError(f"The model file {name} is missing. Install bookbound again.")


def damaged_model_error(name: str) -> ConfigError:
    return ConfigError(f"The model file {name} is damaged. Install bookbound again.")
