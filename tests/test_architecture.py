"""Checks the import rules of every module."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bookbound.languages import LANGUAGE

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "bookbound"

# A row may import itself and every row above it, never one below.
LAYERS = [
    {"domain"},
    {"text", "languages", "filesystem", "services"},
    {"models", "settings"},
    {"sources", "indexing", "answering"},
    {"library", "contracts"},
    {"evaluation"},
    {"server"},
    {"cli"},
    {"bootstrap"},
    {"", "__main__", "testing", "integrations"},
]
DOMAIN = "domain"
STAGES = {"sources", "indexing", "answering"}
CONTRACTS = "contracts"
# The rooms of `answering`: the pipeline passes values from one to the next, so none imports another.
ROOMS = {"understanding", "reading", "deciding", "grounding", "writers"}
# A product and the files that may import it.
PRODUCTS = {
    "onnxruntime": {"models/networks.py"},
    "tokenizers": {"models/onnx.py"},
    "qdrant_edge": {"indexing/store/edge"},
    "qdrant_client": {"indexing/store/qdrant"},
    "agents": {"answering/writers/llm/openai_agents.py"},
    "openai": {"answering/writers/llm/openai_agents.py", "indexing/embed/openai_embedder.py"},
    "pydantic_ai": {"answering/writers/llm/pydantic_ai.py"},
    "anthropic": {"answering/writers/llm/pydantic_ai.py"},
    "google": set(),  # Pydantic AI does
    "boto3": {"answering/writers/llm/pydantic_ai.py"},
    "botocore": {"answering/writers/llm/pydantic_ai.py"},
    "cohere": {"models/cohere.py"},
    "mcp": {"contracts/mcp.py", "server/mcp_routes.py", "bootstrap/mcp_server.py"},
    "mcp_types": {"contracts/mcp.py"},
    "sqlalchemy": {"server/query_log/"},
    "jinja2": {"evaluation/html_report.py"},
    "psycopg": set(),  # SQLAlchemy does
    "pydantic": {"contracts/", "server/", "integrations/langchain.py"},
    "fastapi": {"contracts/", "server/", "bootstrap/"},
    "starlette": {"server/", "testing/"},
    "uvicorn": {"server/", "testing/"},
    "redis": {"server/rate_limit/redis"},
    "pypdfium2": {"sources/pdf/pdfium.py"},
    "defusedxml": {"sources/defusedxml.py"},
    "selectolax": {"sources/html/selectolax.py"},
    "protego": {"sources/crawl/access_rules.py"},
    "httpcore": {"sources/crawl/httpcore.py"},
    "httpx2": {"answering/writers/llm/pydantic_ai.py"},
    "httpx": {"models/cohere.py", "indexing/store/qdrant_client.py"},
    "typer": {"cli/"},
    "docutils": {"sources/rst/docutils/"},
    "prometheus_client": {"server/telemetry/prometheus.py"},
    "opentelemetry": {"server/telemetry/opentelemetry.py"},
    "rich": {"cli/"},
    "pygments": {"server/page/pygments.py"},
    "haystack": {"integrations/haystack.py"},
    "langchain_core": {"integrations/langchain.py"},
    "llama_index": {"integrations/llama_index.py"},
}


def imports(file: Path) -> Iterator[str]:
    """Every module a file imports, at any depth, as a dotted name."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{file}: imports are absolute"
            yield node.module
            if node.module in ("bookbound", "bookbound.answering"):  # what is imported may be a module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


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
            found += [f"{name} {problem}" for problem in (*_problems(name, own, module), *_room_problems(name, module))]
    return found


def _problems(name: str, own: str, module: str) -> Iterator[str]:
    top = module.split(".")[0]
    if top in PRODUCTS and not any(map(name.startswith, PRODUCTS[top])):
        yield f"imports {top}, which is for {', '.join(sorted(PRODUCTS[top])) or 'no file'}"
    is_type_only = (name, top) == ("domain/ports.py", "numpy")
    if own == DOMAIN and top != "bookbound" and top not in sys.stdlib_module_names and not is_type_only:
        yield f"is in the domain and imports {top}"
    other = part(module)
    if top != "bookbound" or other == own or other not in {known for names in LAYERS for known in names} - {""}:
        return
    if layer(other) > layer(own):
        yield f"imports {module} from a later layer"
    elif own in STAGES and other in STAGES:
        yield f"is in {own} and imports {other}"
    elif own == CONTRACTS and other in STAGES:
        yield f"is a contract and imports {other}"


def _room_problems(name: str, module: str) -> Iterator[str]:
    """Yields a problem if a module in one room of `answering` imports another room, or the pipeline around it."""
    own = _room(name.removesuffix(".py").split("/"))
    if own and module.startswith("bookbound.answering.") and not f"{module}.".startswith(f"bookbound.answering.{own}."):
        yield f"is in the room {own} and imports {module.split('.')[2]}"


def _room(path: Sequence[str]) -> str:
    return path[1] if len(path) > 1 and path[0] == "answering" and path[1] in ROOMS else ""


def test_every_import_of_the_package_keeps_the_rules() -> None:
    assert violations(PACKAGE) == []


def test_nothing_of_the_product_imports_the_lab() -> None:
    repository = PACKAGE.parents[1]
    files = [file for folder in ("src", "tests", "docs", "release") for file in (repository / folder).rglob("*.py")]
    assert len(files) > len([*PACKAGE.rglob("*.py")])
    assert [file for file in files if "lab" in {module.split(".")[0] for module in imports(file)}] == []


def test_every_file_that_may_import_a_product_does() -> None:
    used = {
        (module.split(".")[0], file.relative_to(PACKAGE).as_posix())
        for file in PACKAGE.rglob("*.py")
        for module in imports(file)
    }
    unused = [
        (product, granted)
        for product, files in PRODUCTS.items()
        for granted in files
        if not any(top == product and name.startswith(granted) for top, name in used)
    ]
    assert unused == []


def test_every_part_of_the_package_has_its_layer() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    known = {name for names in LAYERS for name in names}
    assert parts - known - {"__init__"} == set()


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("domain/chunk.py", "import numpy", "is in the domain and imports numpy"),
        ("domain/chunk.py", "from bookbound.text import stem", "from a later layer"),
        ("indexing/split/__init__.py", "from bookbound.sources import detect", "is in indexing and imports sources"),
        ("answering/deciding/decision.py", "def f():\n    from bookbound.indexing.store import x", "imports indexing"),
        (
            "contracts/chat.py",
            "from bookbound.answering.pipeline import Pipeline",
            "is a contract and imports answering",
        ),
        (
            "answering/grounding/verifier.py",
            "from bookbound.answering.reading.answerability import x",
            "is in the room grounding and imports reading",
        ),
        (
            "answering/reading/answering_words.py",
            "from bookbound.answering.writers import quotes",
            "is in the room reading and imports writers",
        ),
        (
            "answering/writers/quotes/quote_writer.py",
            "from bookbound.answering import deciding",
            "is in the room writers and imports deciding",
        ),
        (
            "answering/writers/llm/prompts.py",
            "from bookbound.answering.pipeline import Pipeline",
            "is in the room writers and imports pipeline",
        ),
        ("sources/__init__.py", "from bookbound.server import app", "from a later layer"),
        ("cli/ask_command.py", "from bookbound import bootstrap", "from a later layer"),
        ("answering/selection.py", "import qdrant_client", "imports qdrant_client"),
        ("answering/pipeline.py", "import pydantic", "imports pydantic"),
        ("answering/writers/quotes/quote_writer.py", "import openai", "imports openai"),
    ],
)
def test_a_planted_violation_is_found(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    planted = tmp_path / file
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text(line)
    (found,) = {problem for problem in violations(tmp_path) if complaint in problem}
    assert file in found


# The words and patterns of a language are data: one file says which there are, and each language has one.
LANGUAGE_FILES = {PACKAGE / "languages" / "language.py", PACKAGE / "languages" / "english.py"}


def test_modules_and_functions_stay_short() -> None:
    long = []
    for file in sorted(PACKAGE.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if text.count("\n") > 300 and file not in LANGUAGE_FILES:
            long.append(f"{file.name}: {text.count(chr(10))} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > 45:
                    long.append(f"{file.name}: {node.name} has {length} lines")
    assert long == []


# Rooms that take every word and pattern of a language from `LANGUAGE`.
ROOMS_WITHOUT_ENGLISH = ["text.py", "answering"]
COMMON_WORDS = LANGUAGE.words.stop_words | LANGUAGE.claims.quantifiers | set(LANGUAGE.numbers.below_twenty)
MAX_COMMON_WORDS = 2
# Instructions to a language model are English because models follow it best; they are no patterns.
TEXTS_FOR_MODELS = {"answering/writers/llm/prompts.py"}


def find_english(source: str) -> Iterator[str]:
    """Yields the regular expressions and word lists of a module with more than a few common words of English."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict) or _builds_words(node):
            constants = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
            text = " ".join(value for value in constants if isinstance(value, str)).lower()
            # The letter after a backslash is no word, and a single letter may be a character class.
            words = set(re.findall(r"[a-z]{2,}", re.sub(r"\\.", " ", text)))
            if len(words & COMMON_WORDS) > MAX_COMMON_WORDS:
                yield ast.unparse(node)


WORD_BUILDERS = {"compile", "search", "match", "fullmatch", "finditer", "findall", "sub", "split", "frozenset", "set"}


def _builds_words(node: ast.AST) -> bool:
    """Returns whether a call compiles a pattern, or makes words of a text."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in WORD_BUILDERS


def test_words_and_patterns_of_english_are_only_in_the_language() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}: {text}"
        for room in ROOMS_WITHOUT_ENGLISH
        for file in ([PACKAGE / room] if room.endswith(".py") else sorted((PACKAGE / room).rglob("*.py")))
        if file.relative_to(PACKAGE).as_posix() not in TEXTS_FOR_MODELS
        for text in find_english(file.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        r'_NEGATION = re.compile(r"\b(?:not|never|no|without)\b", re.I)',
        '_SMALL = frozenset("it this that".split())',
        '_SMALL = {"and", "or", "but"}',
        '_NUMBERS = {"one": 1, "two": 2, "three": 3}',
        r're.search(rf"\b(?:how|why|what)\s+{X}", text)',
    ],
)
def test_a_planted_word_list_is_found(planted: str) -> None:
    assert list(find_english(planted))


# Names that more than one contract publishes, and the retriever of each framework.
PUBLISHED_TWICE = {"AgentResponse", "Citation", "ResponseMetadata", "RetrievalResult", "RetrievedChunk"} | {
    "BookboundRetriever"
}
# Each journey has its pipeline, and each generator its configuration; the folder says whose it is. The room
# `understanding` makes the value of that name.
SAME_STEMS = {"pipeline", "config", "understanding"}


def test_no_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(file.relative_to(PACKAGE).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1 and name not in PUBLISHED_TWICE} == {}


def test_no_module_name_is_used_twice() -> None:
    places: dict[str, list[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        stem = file.parent.name if file.name == "__init__.py" else file.stem
        if stem not in SAME_STEMS:
            places.setdefault(stem, []).append(file.relative_to(PACKAGE).as_posix())
    assert {stem: files for stem, files in places.items() if len(files) > 1} == {}


# Lines of all modules, with blank lines and comments, of the package and of its largest part.
MAX_LINES = {"": 47_000, "answering": 6_480}


@pytest.mark.parametrize("part", MAX_LINES)
def test_the_package_stays_small(part: str) -> None:
    lines = sum(file.read_text(encoding="utf-8").count("\n") for file in (PACKAGE / part).rglob("*.py"))
    assert lines <= MAX_LINES[part]
