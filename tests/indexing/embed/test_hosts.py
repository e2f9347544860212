from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, socket, sys
from bookbound import patience
asked = set()
def refuse(host, *_, **__):
    asked.add(host if isinstance(host, str) else host.decode())
    raise socket.gaierror("no network")
socket.getaddrinfo, patience.PAUSE = refuse, 0.0
from bookbound.indexing.embed.cohere_embedder import CohereEmbedder
from bookbound.indexing.embed.openai_embedder import OpenAIEmbedder
from bookbound.domain.errors import Unreachable
from bookbound.models.cohere import Cohere

async def ask(embedder):
    try:
        await embedder.embed_question("Who walks?")
    except Unreachable:
        await embedder.close()

asyncio.run(ask(CohereEmbedder(Cohere("key")) if sys.argv[1] == "cohere" else OpenAIEmbedder("key")))
print(*asked)
"""


@pytest.mark.parametrize(("kind", "host"), [("cohere", "api.cohere.com"), ("openai", "api.openai.com")])
def test_only_the_service_itself_is_asked_whatever_the_environment_says(kind: str, host: str) -> None:
    elsewhere = dict.fromkeys(("CO_API_URL", "CO_API_KEY", "OPENAI_BASE_URL"), "http://elsewhere.example")
    command = [sys.executable, "-W", "error", "-c", SCRIPT, kind]
    found = subprocess.run(command, check=True, env=elsewhere, capture_output=True, text=True)
    assert found.stdout.split() == [host]
    assert found.stderr == ""
