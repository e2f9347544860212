"""Names the networks that ship with the package and loads their constants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bookbound.domain.errors import ConfigError

MODELS_FOLDER = Path(__file__).parent
EMBEDDER_FILE, READER_FILE = "embedder-int8.onnx", "reader-int8.onnx"
TOKENIZER_FILE, CONSTANTS_FILE, DIGESTS_FILE = "tokenizer.json", "reader.json", "digests.json"


def load_constants(file: Path) -> dict[str, Any]:
    """What a JSON file beside the networks holds."""
    try:
        held = json.loads(file.read_bytes())
    except OSError as trouble:
        raise missing_model_error(file.name) from trouble
    except (ValueError, RecursionError) as trouble:
        raise damaged_model_error(file.name) from trouble
    if not isinstance(held, dict):
        raise damaged_model_error(file.name)
    return held


def missing_model_error(name: str) -> ConfigError:
    return ConfigError(f"The model file {name} is missing; install bookbound again.")


def damaged_model_error(name: str) -> ConfigError:
    return ConfigError(f"The model file {name} is damaged; install bookbound again.")
