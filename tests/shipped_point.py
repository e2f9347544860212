"""The thresholds that ship with the networks, as commands print them; a new fit changes them."""

from __future__ import annotations

from bookbound.models import CONSTANTS_FILE, MODELS_FOLDER, load_constants

_POINT = load_constants(MODELS_FOLDER / CONSTANTS_FILE)["point"]
ANSWERED, UNSURE = f"{_POINT['answered']:.2f}", f"{_POINT['unsure']:.2f}"
