"""The networks that ship with the package, and the constants that came of their training."""

from __future__ import annotations

from pathlib import Path

MODELS = Path(__file__).parent
EMBEDDER, READER = "embedder-int8.onnx", "reader-int8.onnx"
TOKENIZER, CONSTANTS, DIGESTS = "tokenizer.json", "reader.json", "digests.json"
