"""Optimises a shard of Qdrant Edge, in a process of its own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import qdrant_edge as edge

from bookbound.errors import IndexTrouble


async def optimise(shard: Path) -> None:
    """Optimise in another process: here it would freeze every thread for as long as it takes."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, str(shard))
    try:
        if await child.wait() != 0:
            raise IndexTrouble("The new index could not be optimised, so the old one stays. Index the book again.")
    finally:
        if child.returncode is None:
            child.kill()


if __name__ == "__main__":
    target = edge.EdgeShard.load(sys.argv[1])
    target.optimize()
    target.flush()
    target.close()
