"""Hands Bookbound's embedding model to other systems."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from bookbound.models.onnx import OnnxEmbedder


@cache
def load_embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def embed_texts(texts: Sequence[str]) -> NDArray[np.float32]:
    return asyncio.run(load_embedder().embed(texts))
