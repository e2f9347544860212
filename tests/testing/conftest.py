"""The scripted services, and the vendors' own clients for them."""

from __future__ import annotations

from collections.abc import Iterator

import cohere
import httpx
import openai
import pytest

from bookbound.testing.scripted_services import ScriptedServices

KEY = "sk-1234567890-secret"


@pytest.fixture
def openai_client(services: ScriptedServices) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=services.openai_url, api_key=KEY, max_retries=0, timeout=20) as client:
        yield client


@pytest.fixture
def cohere_client(services: ScriptedServices) -> Iterator[cohere.ClientV2]:
    with httpx.Client(timeout=20) as pool:
        yield cohere.ClientV2(KEY, base_url=services.url, httpx_client=pool, max_retries=0)
