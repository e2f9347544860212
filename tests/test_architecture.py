"""The rules of the design, held over every import of the package."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "bookbound"

# What stands in a row may import its own row's nouns and every row above, never one below.
LAYERS = [
    {"errors", "book", "manifest", "volume", "changes", "finding", "dialogue", "trace", "entry", "allowance"}
    | {"sentences", "words", "language", "patience", "work", "upstream", "discretion"},
    {"ports", "models"},
    {"read", "split", "embed", "store", "retrieve", "judge", "answer", "record", "limit"},
    {"source", "ingest", "reuse", "transfer", "exported", "ask"},
    {"settings", "misspelt", "library", "faces", "calibration"},
    {"measure"},
    {"report"},
    {"watch"},
    {"serve", "cli"},
    {"wire"},
    {"", "__main__", "testing"},
]
NOUNS, STATIONS, FACES = LAYERS[0], LAYERS[2], "faces"
# A product and the files that may import it.
PRODUCTS = {
    "onnxruntime": {"models/onnx.py"},
    "tokenizers": {"models/onnx.py"},
    "qdrant_edge": {"store/edge", "store/bm25.py"},
    "qdrant_client": {"store/qdrant"},
    "agents": {"answer/agents_reply.py"},
    "openai": {"answer/agents_reply.py", "embed/openai.py"},
    "cohere": {"models/cohere.py"},
    "sqlalchemy": {"record/"},
    "alembic": {"record/schema.py", "record/migrations/"},
    "psycopg": set(),  # SQLAlchemy does
    "pydantic": {"faces/", "serve/"},
    "fastapi": {"faces/", "serve/", "wire/"},
    "starlette": {"serve/", "testing/"},
    "uvicorn": {"serve/", "testing/"},
    "limits": {"limit/"},
    "redis": {"limit/redis.py"},
    "pypdfium2": {"read/pdf/pdfium.py"},
    "defusedxml": {"read/defusedxml.py"},
    "selectolax": {"read/html/selectolax.py"},
    "protego": {"read/crawl/robots.py"},
    "httpcore": {"read/crawl/httpcore.py"},
    "httpx": {"models/cohere.py", "store/qdrant_line.py"},
    "typer": {"cli/"},
    "docutils": {"read/docutils/"},
    "prometheus_client": {"watch/prometheus.py"},
    "opentelemetry": {"watch/opentelemetry.py"},
    "rich": {"cli/"},
}


def imports(file: Path) -> Iterator[str]:
    """Every module a file imports, at any depth, as a dotted name."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{file}: imports are absolute"
            yield node.module
            if node.module == "bookbound":
                yield from (f"bookbound.{alias.name}" for alias in node.names)


def part(dotted: str) -> str:
    """The part of the package that a module belongs to: its first name below `bookbound`."""
    names = dotted.split(".")
    return names[1] if len(names) > 1 else ""


def layer(name: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if name in names)


def violations(package: Path) -> list[str]:
    """Each import that breaks a rule, in words."""
    found = []
    for file in sorted(package.rglob("*.py")):
        name = file.relative_to(package).as_posix()
        own = name.split("/")[0].removesuffix(".py")
        own = "" if own == "__init__" else own
        for module in imports(file):
            found += [f"{name} {problem}" for problem in _problems(name, own, module)]
    return found


def _problems(name: str, own: str, module: str) -> Iterator[str]:
    top = module.split(".")[0]
    if top in PRODUCTS and not any(map(name.startswith, PRODUCTS[top])):
        yield f"imports {top}, which is for {', '.join(sorted(PRODUCTS[top])) or 'nobody'}"
    if own in NOUNS and top != "bookbound" and top not in sys.stdlib_module_names:
        yield f"is a noun and imports {top}"
    other = part(module)
    if top != "bookbound" or other == own or not other:
        return
    if other not in {known for names in LAYERS for known in names}:
        return
    if layer(other) > layer(own):
        yield f"imports {module}, which stands after it"
    elif own in STATIONS and other in STATIONS:
        yield f"is a station and imports the station {other}"
    elif own == FACES and other in STATIONS:
        yield f"is a face and touches the station {other}"


def test_every_import_of_the_package_keeps_the_rules() -> None:
    assert violations(PACKAGE) == []


def test_whoever_may_import_a_product_does() -> None:
    used = {
        (module.split(".")[0], file.relative_to(PACKAGE).as_posix())
        for file in PACKAGE.rglob("*.py")
        for module in imports(file)
    }
    idle = [
        (product, granted)
        for product, files in PRODUCTS.items()
        for granted in files
        if not any(top == product and name.startswith(granted) for top, name in used)
    ]
    assert idle == []


def test_every_part_of_the_package_has_its_layer() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    known = {name for names in LAYERS for name in names}
    assert parts - known - {"__init__"} == set()


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("book.py", "import numpy", "is a noun and imports numpy"),
        ("book.py", "from bookbound.ports import Index", "which stands after it"),
        ("split/__init__.py", "from bookbound.read import read", "is a station and imports the station read"),
        ("judge/reader.py", "def f():\n    from bookbound.store import edge", "imports the station store"),
        ("faces/chat.py", "from bookbound.retrieve import retrieve", "is a face and touches the station"),
        ("read/__init__.py", "from bookbound.ask import Pipeline", "which stands after it"),
        ("cli/ask.py", "from bookbound import wire", "which stands after it"),
        ("retrieve/__init__.py", "import qdrant_client", "imports qdrant_client"),
        ("ask.py", "import pydantic", "imports pydantic"),
        ("answer/agents.py", "import openai", "imports openai"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    planted = tmp_path / file
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(line)
    (found,) = {problem for problem in violations(tmp_path) if complaint in problem}
    assert file in found


def test_modules_and_functions_stay_short() -> None:
    long = []
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if text.count("\n") > 220:
            long.append(f"{file.name}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > 55:
                    long.append(f"{file.name}: {node.name} has {length} lines")
    assert long == []
