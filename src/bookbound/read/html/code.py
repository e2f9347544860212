"""Code of a page of HTML, line by line as it is shown."""

from __future__ import annotations

from collections.abc import Callable

from bookbound.read.html.tree import Element

_LINES = frozenset(("div", "p", "li", "ol", "ul", "tr", "table", "pre"))


def code_text(element: Element) -> str:
    """The lines of a block of code, without the blank ones around them."""
    parts: list[str] = []
    waiting: list[Element | str | Callable[[], None]] = [*reversed(element.children)]

    def end_line() -> None:
        if parts and not parts[-1].endswith("\n"):
            parts.append("\n")

    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            parts += [node] if node else []
        elif not isinstance(node, Element):
            node()
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag in _LINES:
            end_line()
            # An element without words stands for an empty line.
            waiting.append(end_line if node.children else "\n")
            waiting += reversed(node.children)
        else:
            waiting += reversed(node.children)
    lines = "".join(parts).replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    return "\n".join(lines)
