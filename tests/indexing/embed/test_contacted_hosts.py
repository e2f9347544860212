from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, socket, sys
from bookbound import services
hosts = set()
def refuse(host, *_, **__):
    hosts.add(host if isinstance(host, str) else host.decode())
    raise socket.gaierror("no network")
socket.getaddrinfo, services.FIRST_RETRY_SECONDS = refuse, 0.0
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.domain.errors import ServiceUnreachableError
from bookbound.models.cohere import CohereClient

async def ask(embedder):
    try:
        await embedder.embed_question("Who walks?")
    except ServiceUnreachableError:
        await embedder.close()

asyncio.run(ask(CohereEmbedder(CohereClient("key")) if sys.argv[1] == "cohere" else OpenAIEmbedder("key")))
print(*hosts)
"""


@pytest.mark.parametrize(("kind", "host"), [("cohere", "api.cohere.com"), ("openai", "api.openai.com")])
def test_only_the_service_is_contacted_whatever_the_environment_says(kind: str, host: str) -> None:
    elsewhere = dict.fromkeys(("CO_API_URL", "CO_API_KEY", "OPENAI_BASE_URL"), "http://elsewhere.example")
    command = [sys.executable, "-W", "error", "-c", SCRIPT, kind]
    found = subprocess.run(command, check=True, env=elsewhere, capture_output=True, text=True)
    assert found.stdout.split() == [host]
    assert found.stderr == ""
