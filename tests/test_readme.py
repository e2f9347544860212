"""What the README and the page on the library say can be done, is done; what the documents link to, is there."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from threading import Timer

import httpx
import pytest

from bookbound.cli.serve_commands import DEMO_QUESTIONS
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE
from bookbound.settings import ENVIRONMENT_PREFIX, Settings
from bookbound.testing.scripted_services import ScriptedServices

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
LIBRARY = (REPOSITORY / "docs" / "library.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line) for line in re.findall(r"^bookbound .*$", README, re.MULTILINE)]
MODELS = [shlex.split(line)[1:] for line in re.findall(r"^export .*$", README, re.MULTILINE)]
CALLS = [shlex.split(line) for line in re.findall(r"^curl .*$", README, re.MULTILINE)]
DOCUMENTS = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")]


def start(*command: str, place: Path, **chosen: str) -> subprocess.Popen[str]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith((ENVIRONMENT_PREFIX, "PYTHONUNBUFFERED"))
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=place, env=clean | chosen, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run(place: Path, *command: str, **chosen: str) -> subprocess.CompletedProcess[str]:
    running = start(*command, place=place, **chosen)
    out, trouble = running.communicate("", timeout=120)
    return subprocess.CompletedProcess(command, running.returncode, out, trouble)


def blocks(document: str) -> list[str]:
    """The Python of a document."""
    return re.findall(r"```python\n(.*?)```", document, re.DOTALL)


@pytest.fixture(scope="module")
def place(example_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory like a checkout in which the demo was run, and then the README's commands in order."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(example_book, folder / "examples" / "book")
    (folder / "evals").mkdir()
    asked = (REPOSITORY / "evals" / "example.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "evals" / "example.jsonl").write_text("".join(asked[::16]), encoding="utf-8")
    done = run(folder, sys.executable, "-m", "bookbound", "demo", "--no-serve")
    assert (done.returncode, done.stderr) == (0, "")
    for command in COMMANDS:
        if command[1] != "serve":
            done = run(folder, sys.executable, "-m", *command)
            assert (done.returncode, done.stderr) == (0, ""), command
            assert done.stdout, command
    return folder


@pytest.fixture(scope="module")
def client(place: Path) -> Iterator[httpx.Client]:
    """A client of the server that the README starts, on a free port."""
    (command,) = (command for command in COMMANDS if command[1] == "serve")
    free = ["0" if part == "8000" else part for part in command]
    running = start(sys.executable, "-m", *free, place=place)
    assert running.stdout is not None
    (patience := Timer(60, running.kill)).start()
    address = re.search(r"http://[\d.]+:\d+", running.stdout.readline())
    patience.cancel()
    assert address, "the server says where it is before it is asked"
    with httpx.Client(base_url=address[0], timeout=60) as client:
        yield client
    running.terminate()
    running.communicate(timeout=60)


def test_every_command_of_the_readme_does_what_it_should(place: Path) -> None:
    assert {command[1] for command in COMMANDS} == {"index", "ask", "search", "serve", "status", "eval"}
    assert (place / ".bookbound" / "current").is_file()


@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call[2]))
def test_every_call_of_the_readme_is_answered(client: httpx.Client, call: list[str]) -> None:
    headers = dict(call[i + 1].split(": ", 1) for i, part in enumerate(call) if part == "-H")
    path = call[2].removeprefix("http://127.0.0.1:8000")
    reply = client.post(path, headers=headers, content=call[call.index("-d") + 1])
    assert reply.status_code == 200
    assert "A service is a remote function call." in reply.text
    assert reply.text.startswith("event: ") == ("Accept" in headers)


def test_the_readme_calls_every_contract_over_http() -> None:
    paths = {call[2].removeprefix("http://127.0.0.1:8000") for call in CALLS}
    assert paths == {"/ask", "/chat", "/api/query", "/v1/answers"}
    assert all(f"`POST {path}`" in README for path in paths)


def test_the_python_of_the_readme_prints_an_answer_and_its_links(place: Path) -> None:
    (code,) = blocks(README)
    done = run(place, sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    answer, *links = done.stdout.split("\nhttps://bookbound.example/")
    assert "wave generator" in answer
    assert any("#" in link for link in links)


def test_the_python_of_the_page_on_the_library_runs_as_it_stands(place: Path) -> None:
    printed = []
    for code in blocks(LIBRARY):
        done = run(place, sys.executable, "-W", "error", "-c", code)
        assert (done.returncode, done.stderr) == (0, ""), code
        printed.append(done.stdout)
    assert "Field Guide" in printed[0]
    assert "A service is a remote function call." in printed[1]
    assert "sim-to-real#domain-randomisation" in printed[2]
    assert "Retrieval\nJudgement\nSentence\n" in printed[3]
    assert "AgentResponse(" in printed[4]
    assert "[Source: " in printed[4]


@pytest.mark.parametrize("line", MODELS, ids=lambda line: str(line[0]))
def test_every_line_of_settings_for_a_language_model_has_it_write_the_answer(place: Path, line: list[str]) -> None:
    question, key = "What are the three parts of a strain wave gear?", "a-key-of-a-reader"
    quoted = json.loads(run(place, sys.executable, "-m", "bookbound", "ask", question, "--json").stdout)
    said = {"text": quoted["sentences"][0]["text"], "passages": [1, 2, 3, 4, 5]}
    chosen = dict(each.split("=", 1) for each in line)
    with ScriptedServices() as services:
        services.says({"sentences": [said], "missing": ""})
        host = re.sub(r"^https?://.*(?=/v1$)", services.url, chosen["BOOKBOUND_MODEL_URL"])
        chosen |= {"BOOKBOUND_MODEL_URL": host} | {name: key for name in chosen if name.endswith("_KEY")}
        done = run(place, sys.executable, "-m", "bookbound", "ask", question, "--json", **chosen)
        (asked,) = services.requests
    assert (done.returncode, done.stderr) == (0, "")
    reply = json.loads(done.stdout)
    assert (reply["answer"], reply["degraded"]) == (said["text"], False)
    assert reply["trace"]["writer"] == asked.json["model"] == chosen["BOOKBOUND_MODEL"]
    assert asked.headers["authorization"] == f"Bearer {chosen.get('BOOKBOUND_MODEL_KEY', 'none')}"


def test_the_readme_has_a_line_of_settings_for_each_of_three_providers() -> None:
    addresses = [each.partition("=")[2] for line in MODELS for each in line if "_URL=" in each]
    assert addresses == ["https://api.openai.com/v1", "https://openrouter.ai/api/v1", "http://localhost:11434/v1"]


def test_the_readme_lists_every_setting_with_its_default() -> None:
    rows = {cells[0].strip("` "): cells for line in README.splitlines() if (cells := line.strip("|").split("|"))[1:]}
    for field in fields(Settings):
        _, variable, default, _ = (cell.strip("` ") for cell in rows[field.name])
        assert variable == ENVIRONMENT_PREFIX + field.name.upper()
        if field.name != "answered":
            assert default == (str(field.default) if field.default not in (None, ()) else "none")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_picture_shows_an_answer_and_a_refusal_and_loads_nothing() -> None:
    picture = html.unescape((REPOSITORY / "docs" / "demo.svg").read_text(encoding="utf-8")).replace("\xa0", " ")
    assert f'bookbound ask "{DEMO_QUESTIONS[0]}"' in picture
    assert "[1] " in picture
    assert f'bookbound ask "{DEMO_QUESTIONS[-1]}"' in picture
    assert NOT_IN_BOOK_MESSAGE in picture
    assert "url(http" not in picture


def test_the_console_script_starts_the_same_command_line() -> None:
    script = shutil.which("bookbound", path=str(Path(sys.executable).parent))
    assert script, "bookbound is not installed in this environment"
    assert run(REPOSITORY, script, "--version").stdout == "bookbound 0.1.0\n"
