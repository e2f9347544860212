"""The Python of the guide to the retrievers runs with the frameworks that are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bookbound.settings import ENVIRONMENT_PREFIX

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "use-as-a-retriever.md"
SNIPPETS = dict(
    re.findall(r"^## (\w+)\n+```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
)
PACKAGES = {"LangChain": "langchain_core", "LlamaIndex": "llama_index", "Haystack": "haystack"}
LAST_LINES = {"LangChain": "[]", "LlamaIndex": "Empty Response", "Haystack": "Question: What are the three parts"}


def test_the_guide_has_a_snippet_for_each_framework() -> None:
    assert list(SNIPPETS) == list(PACKAGES)


@pytest.mark.parametrize("framework", SNIPPETS)
def test_the_snippet_of_a_framework_finds_passages(framework: str, example_index: Path, tmp_path: Path) -> None:
    if find_spec(PACKAGES[framework]) is None:
        pytest.skip(f"{framework} is not installed: make test-integrations")
    (tmp_path / "my-index").symlink_to(example_index)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    command = [sys.executable, "-c", SNIPPETS[framework]]
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "https://bookbound.example/" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(LAST_LINES[framework])
