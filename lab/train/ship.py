"""`python -m lab.train.ship`: copies the exported networks and their digests into the package."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from pathlib import Path

from lab.train.constants import MAX_FILE_BYTES, MODELS, NETWORK_FILES, OUT, TOKENIZER


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exported", type=Path, default=OUT, help="the folder of the exported networks")
    parser.add_argument("--models", type=Path, default=MODELS, help="the folder of the package to copy them to")
    options = parser.parse_args()
    for name in NETWORK_FILES:
        size = (options.exported / name).stat().st_size
        if size > MAX_FILE_BYTES:
            raise SystemExit(
                f"{name} has {size} bytes, more than {MAX_FILE_BYTES}. Store it in fewer bits or two files."
            )
        shutil.copy(options.exported / name, options.models / name)
    names = (*NETWORK_FILES, TOKENIZER.name)
    digests = {name: hashlib.sha256((options.models / name).read_bytes()).hexdigest() for name in names}
    (options.models / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")
    print(json.dumps(digests, indent=1))


if __name__ == "__main__":
    main()
