"""Makes the stores that indexing and moving are tested with: a folder, the local mode of the client, real nodes."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from qdrant_client import AsyncQdrantClient

from bookbound.domain.ports import IndexStore
from bookbound.indexing.store.edge_store import EdgeStore
from bookbound.indexing.store.qdrant_store import QdrantStore

STORES = ["edge", "local mode", "qdrant_node", pytest.param("qdrant_cluster", marks=pytest.mark.slow)]


def make_store(request: pytest.FixtureRequest, folder: Path) -> IndexStore:
    """Makes the empty store that the parameter of a fixture names."""
    if request.param == "edge":
        return EdgeStore(folder)
    if request.param == "local mode":
        return QdrantStore(AsyncQdrantClient(location=":memory:"))
    nodes = request.getfixturevalue(request.param)
    request.addfinalizer(nodes.clear)
    count = len(nodes.nodes)
    return QdrantStore(nodes.urls, None, f"test{uuid4().hex}", shards=count, replicas=min(2, count), timeout=60)
