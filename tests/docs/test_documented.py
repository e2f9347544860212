"""Every setting, option, route, error, exit code, outcome and public name is documented; a test names what is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from typer.main import get_command

import bookbound
from bookbound.cli import app as command_line
from bookbound.cli.exit_codes import EXIT_CODES_BY_ERROR
from bookbound.contracts.http_contract import ERROR_STATUSES, ProblemKind
from bookbound.domain import errors
from bookbound.library import Book
from bookbound.models import CONSTANTS_FILE, MODELS_FOLDER, load_constants
from bookbound.server import mcp_routes
from bookbound.server.app import create_app
from bookbound.server.telemetry import OUTCOMES, QueueStats, Telemetry
from bookbound.server.telemetry.prometheus import PrometheusMetrics
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")}
ERRORS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.BookboundError)
}


def test_every_setting_is_documented() -> None:
    assert [each.name for each in fields(Settings) if f"| `{each.name}` |" not in PAGES["settings"]] == []


def list_options(command: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every option of a command and of the commands below it, with the heading of its page."""
    for each in command.params:
        if each.param_type_name == "option" and not each.hidden:
            yield path, max(each.opts, key=len)
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from list_options(below, f"{path} {name}")


def test_every_option_of_every_command_is_documented() -> None:
    sections = dict(re.findall(r"^#+ `?([^`\n]+?)`?\n(.*?)(?=^#|\Z)", PAGES["cli"], re.MULTILINE | re.DOTALL))
    options = list(list_options(get_command(command_line), "bookbound"))
    assert len(options) > 50
    missing = [
        (path, option) for path, option in options if option not in sections.get(path, "") and path != "bookbound"
    ]
    assert missing == []


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """The method and path of every route of a server that has all of them."""
    found: list[Any] = []
    monkeypatch.setattr(FastAPI, "include_router", lambda _, router: found.extend(router.routes))
    parts: dict[str, Any] = dict.fromkeys(
        ("find_store", "reindexing", "list_books", "open_index", "votes", "build_report"), lambda *_: None
    )
    telemetry = Telemetry(metrics=PrometheusMetrics(QueueStats))
    backend = ScriptedBackend(make_refusal())
    create_app(backend, Settings(), telemetry=telemetry, mcp_routes=build_mcp_routes, **parts)
    return {(method, each.path) for each in found for method in each.methods - {"HEAD"}}


def build_mcp_routes(*_: object) -> APIRouter:
    """A stand-in with the path of the real routes, which need an open book."""
    assert '"/mcp"' in Path(mcp_routes.__file__).read_text(encoding="utf-8")
    router = APIRouter()
    router.add_api_route("/mcp", lambda: None, methods=["POST"])
    return router


def test_every_route_is_documented_and_every_documented_route_exists(routes: set[tuple[str, str]]) -> None:
    table = PAGES["http"].partition("## Endpoints")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(GET|POST) (/[^`]*)`", table))
    spelt = {(method, re.sub(r"\{(\w+)(?::\w+)?\}", lambda part: part[1].upper(), path)) for method, path in routes}
    assert {each for each in spelt if not (each[1].startswith("/report") and "." in each[1])} - documented == set()
    assert documented - spelt == {("GET", "/openapi.json")}


def test_every_error_is_documented_with_its_exit_code_and_its_status() -> None:
    rows = re.findall(r"^\|[ │├└]* `(\w+)` \| [^|]* \| (\d+) \| ([^|]*) \| `(\w+)` \|$", PAGES["errors"], re.MULTILINE)
    documented = {name: (int(code), status, problem) for name, code, status, problem in rows}
    expected = {}
    for name, kind in ERRORS.items():
        code = next(code for base, code in EXIT_CODES_BY_ERROR if issubclass(kind, base))
        problem, status = next((problem, status) for base, problem, status in ERROR_STATUSES if issubclass(kind, base))
        expected[name] = (code, str(status or "400 or 422"), problem.value)
    assert {name: row for name, row in documented.items() if name in ERRORS} == expected


def test_every_exit_code_problem_and_outcome_is_documented() -> None:
    codes = {code for _, code in EXIT_CODES_BY_ERROR} | {0, 1, 5}
    table = PAGES["cli"].partition("| exit code | meaning |")[2].partition("\n\n")[0]
    assert {code for code in codes if not re.search(rf"^\|[\d, ]*\b{code}\b", table, re.MULTILINE)} == set()
    assert {each.value for each in ProblemKind if f"`{each.value}`" not in PAGES["errors"]} == set()
    assert {each for each in OUTCOMES if f"`{each}`" not in PAGES["metrics-logs-traces"]} == set()


def test_every_public_name_of_the_library_is_documented() -> None:
    page = PAGES["library"]
    methods = [name for name in vars(Book) if not name.startswith("_")]
    assert [name for name in bookbound.__all__ if name != "Reply" and f"### `{name}`" not in page] == []
    assert [name for name in methods if not re.search(rf"(?:\| `|    ){name}\b", page)] == []
    assert "\nNone\n" not in page, "a public name has no docstring"


def test_the_blocks_of_the_reference_of_the_library_are_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGES["library"], re.DOTALL)
    assert len([ast.parse(block) for block in blocks]) > 40


def test_the_guide_names_the_shipped_thresholds() -> None:
    """A new fit changes them, and a reader who tunes compares with them."""
    point = load_constants(MODELS_FOLDER / CONSTANTS_FILE)["point"]
    guide = (REFERENCE.parent / "guides" / "tune-answers-and-refusals.md").read_text(encoding="utf-8")
    deciding = (REFERENCE.parent / "internals" / "deciding.md").read_text(encoding="utf-8")
    assert f"answers from {point['answered']} on and is unsure from {point['unsure']} on" in guide
    assert f"`make eval` at the default point ({point['answered']})" in deciding
