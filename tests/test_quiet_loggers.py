from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from bookbound.answering.writers.language_model import LanguageModel
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.models.cohere import CohereClient
from bookbound.services import quiet_loggers


@pytest.mark.parametrize(
    ("before", "after"),
    [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.WARNING), (logging.ERROR, logging.ERROR)],
)
def test_a_logger_is_kept_to_warnings_and_never_made_to_log_more(before: int, after: int) -> None:
    logger = logging.getLogger("bookbound.test.vendor")
    logger.setLevel(before)
    quiet_loggers("bookbound.test.vendor")
    assert logger.level == after


def test_a_stricter_level_of_all_loggers_is_kept() -> None:
    parent = logging.getLogger("bookbound.test.strict")
    parent.setLevel(logging.CRITICAL)
    quiet_loggers("bookbound.test.strict.child")
    assert not logging.getLogger("bookbound.test.strict.child").isEnabledFor(logging.ERROR)


@pytest.mark.parametrize(
    ("connect", "loggers"),
    [
        (lambda: LanguageModel("scripted-1"), ("openai", "httpx", "httpx2", "httpcore")),
        (OpenAIEmbedder, ("openai", "httpx", "httpx2", "httpcore")),
        (lambda: CohereClient("key"), ("cohere", "httpx", "httpcore")),
    ],
)
def test_whoever_connects_to_a_service_is_discreet(connect: Callable[[], Any], loggers: tuple[str, ...]) -> None:
    for name in loggers:
        logging.getLogger(name).setLevel(logging.DEBUG)
    asyncio.run(connect().close())
    assert [logging.getLogger(name).level for name in loggers] == [logging.WARNING] * len(loggers)
