"""The shapes of the encoders, for PyTorch and for the ONNX export."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RELATIVE_BUCKETS, EXACT_BUCKETS, MAX_RELATIVE_DISTANCE = 32, 8, 128
"""MPNet adds a bias to each attention score; it depends on the distance, exact up to 7, then in growing ranges."""


class EncoderShape(NamedTuple):
    """The sizes of an encoder; `is_mpnet` says that it has relative attention and MPNet's token ids."""

    vocabulary_size: int
    max_positions: int
    hidden: int
    feed_forward: int
    heads: int
    layers: int
    norm_epsilon: float
    is_mpnet: bool = False

    @property
    def first_position(self) -> int:
        """MPNet keeps its first two positions for padding."""
        return 2 if self.is_mpnet else 0


MPNET_ID_SHIFT, MPNET_CLS, MPNET_SEP = 4, 0, 2
"""MPNet's word pieces are BERT's, four ids later; its special tokens come first."""
SHAPES = {
    "mpnet": EncoderShape(30527, 514, 768, 3072, 12, 12, 1e-5, is_mpnet=True),
    "gte": EncoderShape(30522, 512, 384, 1536, 12, 12, 1e-12),
    "minilm": EncoderShape(30522, 512, 384, 1536, 12, 6, 1e-12),
}
READER_ENCODERS = {"strong": "mpnet", "fast": "gte"}


def relative_buckets(max_distance: int) -> NDArray[Any]:
    """The bucket of each distance from -max_distance to max_distance (query minus key)."""
    distances = np.arange(-max_distance, max_distance + 1)
    near = np.abs(distances)
    half = RELATIVE_BUCKETS // 2
    octaves = np.log(np.maximum(near, 1) / EXACT_BUCKETS) / log(MAX_RELATIVE_DISTANCE / EXACT_BUCKETS)
    far = np.minimum(EXACT_BUCKETS + (octaves * (half - EXACT_BUCKETS)).astype(int), half - 1)
    return (distances < 0) * half + np.where(near < EXACT_BUCKETS, near, far)
