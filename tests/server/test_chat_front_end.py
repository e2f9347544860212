"""A chat front end, `llm`, talks with a real server as the guide sets it up; it is no dependency: pip install llm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "use-openai-clients.md"
LINK = "](https://bookbound.example/docs/"
Chat = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(shutil.which("llm") is None, reason="the front end llm is not installed")


def find_block(language: str, word: str) -> str:
    """The block of the guide that has a word."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return next(block for block in blocks if word in block)


@pytest.fixture(scope="module")
def chat(
    served: Callable[..., AbstractContextManager[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Chat]:
    """Runs a line of a shell with the settings of the guide, and shows the requests."""
    folder = tmp_path_factory.mktemp("llm")
    with served() as address:
        settings = find_block("yaml", "api_base").replace("http://127.0.0.1:8000", address)
        (folder / "extra-openai-models.yaml").write_text(settings, encoding="utf-8")
        variables = {"LLM_USER_PATH": str(folder), "LLM_OPENAI_SHOW_RESPONSES": "1"}

        def run(command: str, text: str = "") -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                command, shell=True, input=text, env=os.environ | variables, capture_output=True, text=True, timeout=120
            )

        yield run


def test_the_commands_of_the_guide_get_a_streamed_answer_and_one_to_a_follow_up(chat: Chat) -> None:
    ask, follow_up, _ = find_block("bash", "llm -m").splitlines()
    answer = chat(ask)
    assert "flexspline" in answer.stdout, answer.stderr
    assert LINK in answer.stdout
    assert '"stream":true' in answer.stderr.replace(" ", "")
    assert "60% and 85%" in chat(follow_up).stdout


def test_a_chat_answers_follows_up_and_refuses(chat: Chat) -> None:
    *_, command = find_block("bash", "llm -m").splitlines()
    done = chat(command, "What is a service in ROS 2?\nAnd an action?\nWhich airline flies to Reykjavik?\nexit\n")
    service, action, refusal = re.split(r"^> ", done.stdout, flags=re.MULTILINE)[1:4]
    assert "remote function call" in service
    assert LINK in service
    assert "work that takes seconds or minutes" in action
    assert refusal.strip() == "This information is not available in the book."
