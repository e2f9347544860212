"""Tests that the documented example of a custom contract works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from bookbound.server.app import CONTRACTS, create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "contracts.md"


def test_the_contract_of_the_example_is_served() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Adding a contract\n")[2]
    module, registration = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    haiku: dict[str, Any] = {"__name__": "haiku"}
    exec(module, haiku)
    assert "haiku.CONTRACT" in registration
    backend = ScriptedBackend(make_answer([("It walks.", make_passage("It walks."))]))
    client = TestClient(create_app(backend, Settings(), contracts=(*CONTRACTS, haiku["CONTRACT"])))
    assert client.post("/haiku", json={"about": "walking"}).json() == {"lines": ["It walks."]}
    assert client.post("/haiku", json={}).json() == {"because": "about: Field required"}
    assert client.post("/ask", json={"question": "Does it walk?"}).status_code == 200
