"""`python -m training.ship`: copies the exported networks and their digests into the package."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

OUT, MODELS = Path("training/out"), Path("src/bookbound/models")
EXPORTED, SHIPPED = ("reader-int8.onnx", "embedder-int8.onnx"), ("tokenizer.json",)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name in EXPORTED:
        shutil.copy(OUT / name, MODELS / name)
    digests = {name: hashlib.sha256((MODELS / name).read_bytes()).hexdigest() for name in (*EXPORTED, *SHIPPED)}
    (MODELS / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")
    print(json.dumps(digests, indent=1))


if __name__ == "__main__":
    main()
