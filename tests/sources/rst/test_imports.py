"""Imports among the readers of reStructuredText, MyST, Sphinx and Jupyter Book run one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import bookbound.sources

SOURCES = Path(bookbound.sources.__file__).parent
# A module may import modules of its own row and of the rows above it, inside functions too.
ROWS = (
    ("rst.shared_markup", "rst.page_draft", "rst.object_descriptions"),
    ("rst.inline_text", "rst.text_writer", "rst.renderer"),
    ("rst.docutils",),
    ("rst",),
    ("myst",),
    ("notebook",),
    ("generators.sphinx",),
    ("generators.jupyter",),
)


def find_row(module: str) -> int | None:
    """Return the row with the longest name that the module is or is inside of."""
    rows = {name: row for row, names in enumerate(ROWS) for name in names}
    parts = module.split(".")
    return next((rows[name] for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in rows), None)


def find_imports(file: Path) -> Iterator[str]:
    """Return what a module imports at run time, relative to the sources."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bookbound.sources"):
            module = (node.module or "").removeprefix("bookbound.sources").lstrip(".")
            for alias in node.names:
                path = SOURCES.joinpath(*filter(None, module.split(".")), alias.name)
                is_module = path.is_dir() or path.with_suffix(".py").is_file()
                yield f"{module}.{alias.name}".lstrip(".") if is_module else module


def find_graph() -> dict[str, set[str]]:
    """Return the imports of every module in the rows, without those of modules outside."""
    graph = {}
    for file in SOURCES.rglob("*.py"):
        module = file.relative_to(SOURCES).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        if find_row(module) is not None:
            graph[module] = {name for name in find_imports(file) if find_row(name) is not None}
    return graph


def test_imports_run_one_way() -> None:
    graph = find_graph()
    assert "rst.docutils" in graph["rst"], "imports inside functions count"
    wrong = [
        f"{module} imports {imported}"
        for module, names in graph.items()
        for imported in names
        if (find_row(imported) or 0) > (find_row(module) or 0)
    ]
    assert wrong == []


def test_no_imports_run_in_a_circle() -> None:
    TopologicalSorter(find_graph()).prepare()


def test_a_plain_folder_imports_no_sphinx_reader(tmp_path: Path) -> None:
    (tmp_path / "page.rst").write_text("Title\n=====\n\nWords.\n")
    code = (
        "import sys, pathlib\n"
        "from bookbound.sources.plain_folder import read_text\n"
        f"assert read_text(pathlib.Path({str(tmp_path)!r})).pages[0].text == 'Title\\n\\nWords.'\n"
        "print([name for name in sys.modules if 'sphinx' in name or 'myst' in name or 'jupyter' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_markdown_does_not_import_docutils() -> None:
    code = "import sys, bookbound.sources.myst; print('docutils' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
