"""The commands, requests and Python of the README and the library page work, and links in documents lead somewhere."""

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
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from tests.child_process import run_child

from bookbound.cli.serve_commands import DEMO_QUESTIONS
from bookbound.domain.llm_providers import DEFAULT_LLM_PROVIDER, LLM_PROVIDERS
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, UNSURE_MESSAGE
from bookbound.settings import ENVIRONMENT_PREFIX, load_settings
from bookbound.testing.scripted_services import ScriptedServices

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
GUIDES = REPOSITORY / "docs" / "guides"
LIBRARY = "".join((GUIDES / f"{name}.md").read_text(encoding="utf-8") for name in ("use-the-library", "conversations"))
COMMANDS = [shlex.split(line) for line in re.findall(r"^bookbound .*$", README, re.MULTILINE)]
MODEL_PAGE = (GUIDES / "use-a-language-model.md").read_text(encoding="utf-8")
MODELS = [
    dict(each.split("=", 1) for each in re.findall(r"`([A-Z_]+=[^`]*)`", row))
    for row in re.findall(r"^\| .*`BOOKBOUND_LLM_MODEL=.*$", MODEL_PAGE, re.MULTILINE)
]
CALLS = [shlex.split(line) for line in re.findall(r"^curl .*$", README, re.MULTILINE)]
DOCUMENTS = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")]

# The first of them runs every command of the README.
pytestmark = pytest.mark.timeout(600)


def start(*command: str, folder: Path, **variables: str) -> AbstractContextManager[subprocess.Popen[str]]:
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith((ENVIRONMENT_PREFIX, "PYTHONUNBUFFERED"))
    }
    pipe = subprocess.PIPE
    return run_child(*command, cwd=folder, env=clean | variables, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run(folder: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    with start(*command, folder=folder, **variables) as running:
        out, error = running.communicate("")
    return subprocess.CompletedProcess(command, running.returncode, out, error)


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document, re.DOTALL)


@pytest.fixture(scope="module")
def folder(example_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a checkout in which the demo and then the commands of the README ran."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(example_book, folder / "examples" / "book")
    questions = (REPOSITORY / "examples" / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "examples" / "questions.jsonl").write_text("".join(questions[::16]), encoding="utf-8")
    done = run(folder, sys.executable, "-m", "bookbound", "demo", "--no-serve")
    assert (done.returncode, done.stderr) == (0, "")
    for command in COMMANDS:
        if command[1] != "serve":
            done = run(folder, sys.executable, "-m", *command)
            assert (done.returncode, done.stderr) == (0, ""), command
            assert done.stdout, command
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    """A client of the server that the README starts, on a free port."""
    (command,) = (command for command in COMMANDS if command[1] == "serve")
    options = ("0" if part == "8000" else part for part in command)
    with start(sys.executable, "-m", *options, folder=folder) as running:
        assert running.stdout is not None
        address = re.search(r"http://[\d.]+:\d+", running.stdout.readline())
        assert address, "the server prints its address first"
        with httpx.Client(base_url=address[0], timeout=60) as client:
            yield client
        running.terminate()
        running.communicate(timeout=60)


@pytest.mark.slow
def test_every_command_of_the_readme_works(folder: Path) -> None:
    assert {command[1] for command in COMMANDS} == {"index", "ask", "search", "serve", "status", "eval"}
    assert (folder / ".bookbound" / "current").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call[2]))
def test_every_request_of_the_readme_is_answered(client: httpx.Client, call: list[str]) -> None:
    headers = dict(call[i + 1].split(": ", 1) for i, part in enumerate(call) if part == "-H")
    path = call[2].removeprefix("http://127.0.0.1:8000")
    reply = client.post(path, headers=headers, content=call[call.index("-d") + 1])
    assert reply.status_code == 200
    assert "A service is a remote function call." in reply.text
    assert reply.text.startswith("event: ") == ("Accept" in headers)


def test_the_readme_fits_on_two_screens() -> None:
    assert README.count("\n") <= 130


def test_the_readme_calls_every_contract_over_http() -> None:
    paths = {call[2].removeprefix("http://127.0.0.1:8000") for call in CALLS}
    assert paths == {"/ask", "/chat", "/api/query", "/v1/answers"}
    assert all(f"`POST {path}`" in README for path in paths)


def find_provider(variables: dict[str, str]) -> str:
    return variables.get("BOOKBOUND_LLM_PROVIDER", DEFAULT_LLM_PROVIDER)


def test_the_guide_has_settings_for_every_provider_and_for_a_server_of_ones_own(tmp_path: Path) -> None:
    assert sorted(map(find_provider, MODELS)) == sorted([*LLM_PROVIDERS, DEFAULT_LLM_PROVIDER])
    for variables in MODELS:
        settings = load_settings(variables, tmp_path)
        has_key = bool(settings.llm_key)
        assert has_key or not LLM_PROVIDERS[settings.llm_provider].needs_key, variables


@pytest.mark.slow
def test_the_python_of_the_readme_prints_an_answer_and_its_links(folder: Path) -> None:
    (code,) = python_blocks(README)
    done = run(folder, sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    answer, *links = done.stdout.split("\nhttps://bookbound.example/")
    assert "wave generator" in answer
    assert any("#" in link for link in links)


@pytest.mark.slow
def test_the_python_of_the_library_page_runs(folder: Path) -> None:
    for code in python_blocks(LIBRARY):
        done = run(folder, sys.executable, "-W", "error", "-c", code)
        assert (done.returncode, done.stderr) == (0, ""), code
        assert done.stdout, code


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [each for each in MODELS if find_provider(each) != "bedrock"],
    ids=lambda each: str(find_provider(each)),
)
def test_every_language_model_of_the_guide_writes_the_answer(folder: Path, variables: dict[str, str]) -> None:
    question, key = "What are the three parts of a strain wave gear?", "a-key-of-a-reader"
    quoted = json.loads(run(folder, sys.executable, "-m", "bookbound", "ask", question, "--json").stdout)
    text = quoted["sentences"][0]["text"]
    with ScriptedServices() as services:
        services.reply_with(f"{text} [1][2][3][4][5]", always=True)
        url = services.openai_url if LLM_PROVIDERS[find_provider(variables)].has_openai_api else services.url
        chosen = variables | {"BOOKBOUND_LLM_URL": url, "BOOKBOUND_LLM_KEY": key}
        done = run(folder, sys.executable, "-m", "bookbound", "ask", question, "--json", **chosen)
        request = services.requests[0]
    assert (done.returncode, done.stderr) == (0, "")
    reply = json.loads(done.stdout)
    assert (reply["answer"], reply["degraded"]) == (text, False)
    assert reply["trace"]["writer"] == variables["BOOKBOUND_LLM_MODEL"]
    assert key in request.headers.get("x-goog-api-key", request.headers.get("authorization", ""))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_link_between_documents_leads_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


def read_picture(name: str) -> str:
    """The words of a picture."""
    return html.unescape((REPOSITORY / "docs" / name).read_text(encoding="utf-8")).replace("\xa0", " ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("answer", ["bookbound ask", "Reference humanoid", "[1] "]),
        ("unsure", ["bookbound ask", UNSURE_MESSAGE, "[1] "]),
        ("refusal", ["bookbound ask", NOT_IN_BOOK_MESSAGE, "The closest sections:"]),
        ("chat", ["bookbound chat", "Understood as: ", "[1] "]),
    ],
)
def test_each_kind_of_reply_has_a_picture_that_loads_nothing(name: str, words: list[str]) -> None:
    picture = read_picture(f"pictures/{name}.svg")
    assert [each for each in words if each not in picture] == []
    assert "url(http" not in picture


def test_the_picture_shows_an_answer_and_a_refusal_and_loads_nothing() -> None:
    picture = read_picture("demo.svg")
    assert f'bookbound ask "{DEMO_QUESTIONS[0]}"' in picture
    assert "[1] " in picture
    assert f'bookbound ask "{DEMO_QUESTIONS[-1]}"' in picture
    assert NOT_IN_BOOK_MESSAGE in picture
    assert "url(http" not in picture
