"""The page "Faces" shows how to add a contract: what it shows works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from bookbound.server.app import CONTRACTS, create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "faces.md"


def test_the_contract_on_the_page_is_served_by_one_file_and_one_line() -> None:
    file, line = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:2]
    haiku: dict[str, Any] = {"__name__": "haiku"}
    exec(file, haiku)
    assert "haiku.FACE" in line
    desk = ScriptedBackend(make_answer([("It walks.", make_passage("It walks."))]))
    client = TestClient(create_app(desk, Settings(), faces=(*CONTRACTS, haiku["FACE"])))
    assert client.post("/haiku", json={"about": "walking"}).json() == {"lines": ["It walks."]}
    assert client.post("/haiku", json={}).json() == {"because": "about: Field required"}
    assert client.post("/ask", json={"question": "Does it walk?"}).status_code == 200
