"""Which parts of a page are for a built site."""

from __future__ import annotations

import ast

_BUILT = frozenset(("html", "builder_html", "format_html"))
_LONGEST = 1_000


def is_for_html(expression: str) -> bool:
    """Whether an expression of tags is true of a built site; one that cannot be read is."""
    try:
        return _true(ast.parse(expression.strip()[:_LONGEST], mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _true(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp(ast.And(), values):
            return all(map(_true, values))
        case ast.BoolOp(ast.Or(), values):
            return any(map(_true, values))
        case ast.UnaryOp(ast.Not(), operand):
            return not _true(operand)
        case ast.Name(name):
            return name in _BUILT
    raise ValueError
