"""Writes the reference of the Python library from the source, so that no framework has to be installed for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "bookbound"
Function = ast.FunctionDef | ast.AsyncFunctionDef
OPENED = {"Book", "Pipeline"}
"""Classes that no user makes: a function opens them."""
SECTIONS = {
    "Index and open": {
        "bookbound": ["index", "open"],
        "bookbound.library": ["Book"],
        "bookbound.indexing.pipeline": ["IndexingResult"],
        "bookbound.domain.manifest": ["Manifest", "ChapterSummary"],
        "bookbound.domain.document": ["SourceNotice"],
    },
    "Replies": {
        "bookbound.domain.reply": ["Answer", "AnswerSentence", "Source", "Unsure", "Refusal"],
        "bookbound.domain.judgement": ["Judgement", "RefusalReason", "Evidence"],
        "bookbound.domain.chunk": ["Place", "Passage", "Chunk"],
        "bookbound.domain.trace": ["Trace"],
        "bookbound.domain.question": ["Turn", "Retrieval"],
    },
    "Asynchronous code": {
        "bookbound.bootstrap.book_opener": ["open_pipeline"],
        "bookbound.answering.pipeline": ["Pipeline"],
        "bookbound.domain.question": ["Question", "AnswerScope"],
        "bookbound.settings": ["load_settings"],
    },
    "The agent contracts": {
        "bookbound.contracts.agent": ["ask", "AgentQuery", "AgentResponse", "AgentError", "semantic_search"],
        "bookbound.contracts.grounded_agent": ["ask", "search_knowledge_base", "decide_grounding"],
        "bookbound.contracts.grounded_agent_models": ["AgentConfig", "AgentResponse", "GroundingContext"],
    },
    "Retrievers": {
        "bookbound.integrations.langchain": ["BookboundRetriever"],
        "bookbound.integrations.llama_index": ["BookboundRetriever"],
        "bookbound.integrations.haystack": ["BookboundRetriever"],
    },
    "Tests": {
        "bookbound.testing": ["make_passage", "make_answer", "make_unsure", "make_refusal", "ScriptedPipeline"],
        "bookbound.testing.scripted_services": ["ScriptedServices"],
        "bookbound.testing.loopback_server": ["ReplyScript"],
        "bookbound.testing.scripted_replies": ["Fault", "ToolCall", "StreamedReply"],
    },
}
NAMES = [name for modules in SECTIONS.values() for names in modules.values() for name in names]
INTRODUCTION = """\
# Python library

What each name promises, from the code. [Use the library](../guides/use-the-library.md) shows them at work;
the errors have [a page of their own](errors.md).
"""


def library_page() -> str:
    return INTRODUCTION + "".join(
        f"\n## {section}\n" + "".join(_describe(module, name) for module, names in modules.items() for name in names)
        for section, modules in SECTIONS.items()
    )


def _describe(module: str, name: str) -> str:
    path = PACKAGE.parent.joinpath(*module.split("."))
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8"))
    (node,) = (each for each in tree.body if isinstance(each, ast.ClassDef | Function) and each.name == name)
    signature = _show_class(node) if isinstance(node, ast.ClassDef) else _show_function(node)
    rows = "".join(_list_members(node)) if isinstance(node, ast.ClassDef) else ""
    table = f"\n| member | meaning |\n|---|---|\n{rows}" if rows else ""
    title = name if NAMES.count(name) == 1 else f"{module.rpartition('.')[2]}.{name}"
    code = f"```python\n# {module}\n{signature}\n```\n"
    return f"\n### `{title}`\n\n{ast.get_docstring(node)}\n\n{code}{table}"


def _show_class(node: ast.ClassDef) -> str:
    """Shows the fields, how to make one, and the members that need no explanation."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    lines = []
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_"):
            lines.append(_show_field(each))
        elif isinstance(each, ast.Assign) and bases.endswith("Enum"):
            lines.append(ast.unparse(each))
        elif isinstance(each, Function) and not ast.get_docstring(each):
            if _is_property(each):
                lines.append(f"{each.name}: {ast.unparse(each.returns)}")
            elif not each.name.startswith("_") or (each.name == "__init__" and node.name not in OPENED):
                lines.append(_show_function(each))
    body = "\n".join("    " + line for each in lines or ["..."] for line in each.splitlines())
    return f"class {node.name}({bases}):\n{body}" if bases else f"class {node.name}:\n{body}"


def _show_field(node: ast.AnnAssign) -> str:
    is_call = isinstance(node.value, ast.Call)  # how a default is made is no part of the promise
    return ast.unparse(ast.AnnAssign(node.target, node.annotation, None if is_call else node.value, 1))


def _show_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    opening = f"{'async def' if isinstance(node, ast.AsyncFunctionDef) else 'def'} {node.name}("
    ending = f") -> {ast.unparse(node.returns)}: ..."
    arguments = _list_arguments(node.args)
    line = opening + ", ".join(arguments) + ending
    return line if len(line) <= 100 else "\n".join([opening, *(f"    {each}," for each in arguments), ending])


def _list_arguments(arguments: ast.arguments) -> list[str]:
    def show(argument: ast.arg, default: ast.expr | None) -> str:
        return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")

    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    shown = list(map(show, arguments.args, defaults))
    if arguments.vararg or arguments.kwonlyargs:
        shown.append("*" + (ast.unparse(arguments.vararg) if arguments.vararg else ""))
    shown += map(show, arguments.kwonlyargs, arguments.kw_defaults)
    return shown + (["**" + ast.unparse(arguments.kwarg)] if arguments.kwarg else [])


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(each) == "property" for each in node.decorator_list)


def _list_members(node: ast.ClassDef) -> Iterator[str]:
    """Yields a row for each public property and method with a docstring."""
    for each in node.body:
        if not isinstance(each, Function) or each.name.startswith("_") or not ast.get_docstring(each):
            continue
        call = f"{each.name}({', '.join(_list_arguments(each.args)[1:])}) -> {ast.unparse(each.returns)}"
        call = f"async {call}" if isinstance(each, ast.AsyncFunctionDef) else call
        shown = f"{each.name}: {ast.unparse(each.returns)}" if _is_property(each) else call
        yield f"| `{shown.replace('|', chr(92) + '|')}` | {' '.join(ast.get_docstring(each).split())} |\n"
