"""Builds what counts how much is asked, as the settings say."""

from __future__ import annotations

import asyncio
import uuid
import warnings

from bookbound.allowance import Bucket, Rate
from bookbound.errors import BadReply, BadSetup, Denied, ServiceTrouble
from bookbound.ports import Limiter
from bookbound.settings import Settings


def limiter(settings: Settings) -> Limiter | None:
    """What counts: this process for itself, or all that share a Redis together; nothing where limits are off."""
    if settings.limits == "off":
        return None
    from bookbound.limit.memory import MemoryLimiter

    if not settings.redis_url:
        return MemoryLimiter()
    from bookbound.limit.standby import Standby

    return Standby(_shared(settings, settings.redis_url), MemoryLimiter())


def ready(settings: Settings, workers: int = 1) -> None:
    """See that limits hold: what is set wrong is told before anybody asks.

    A Redis that is away is a warning: questions are answered all the same.
    """
    from bookbound.serve.address import networks
    from bookbound.serve.limits import Policies

    networks(settings.proxies)
    Policies.of(settings)
    if settings.limits == "off":
        return
    if settings.redis_url:
        asyncio.run(_tried(_shared(settings, settings.redis_url)))
    elif workers > 1:
        told = f"Each of the {workers} processes counts limits alone, so that up to {workers} times as much may pass."
        warnings.warn(f"{told} To count together, set `redis_url`.", stacklevel=2)


def _shared(settings: Settings, url: str) -> Limiter:
    from bookbound.wire.remote import extra

    with extra("redis", "redis_url"):
        from bookbound.limit.redis import RedisLimiter
    return RedisLimiter(url, settings.qdrant_collection, (settings.log_key or "").encode())


async def _tried(shared: Limiter) -> None:
    """Take once from a bucket of nobody's: what could never work is an error, what is away may come back."""
    try:
        await shared.take([Bucket("start", str(uuid.uuid4()), Rate(1, 1))])
    except (Denied, BadReply) as trouble:
        raise BadSetup(f"{trouble} Correct the setting `redis_url`.") from trouble
    except ServiceTrouble as trouble:
        told = f"{trouble} Until it is there, each process counts limits alone; questions are answered all the same."
        warnings.warn(told, stacklevel=2)
    finally:
        await shared.close()
