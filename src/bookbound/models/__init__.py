"""The networks that ship with the package, and the constants that came of their training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bookbound.errors import BadSetup

MODELS = Path(__file__).parent
EMBEDDER, READER = "embedder-int8.onnx", "reader-int8.onnx"
TOKENIZER, CONSTANTS, DIGESTS = "tokenizer.json", "reader.json", "digests.json"


def constants(file: Path) -> dict[str, Any]:
    """What a JSON file beside the networks holds."""
    try:
        held = json.loads(file.read_bytes())
    except OSError as trouble:
        raise missing(file.name) from trouble
    except (ValueError, RecursionError) as trouble:
        raise damaged(file.name) from trouble
    if not isinstance(held, dict):
        raise damaged(file.name)
    return held


def missing(name: str) -> BadSetup:
    return BadSetup(f"The model file {name} is missing; install bookbound again.")


def damaged(name: str) -> BadSetup:
    return BadSetup(f"The model file {name} is damaged; install bookbound again.")
