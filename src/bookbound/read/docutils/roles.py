"""The roles of Sphinx, as docutils asks for them."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from bookbound.read.sphinx.roles import NAMES, said


def _role(name: str, rawtext: str, text: str, lineno: int, inliner: Any, *_: Any, **__: Any) -> Any:
    """An element that shows what the role says; what it refers to is looked up once all pages are known."""
    shown = said(name, nodes.unescape(text), inliner.document.settings.extracts.shorthands)
    node = nodes.inline(rawtext, shown.text) if shown.text else nodes.inline(rawtext)
    if shown.refers:
        node["refers"] = shown.refers
    return [node], []


_role.options = {"class": str}  # type: ignore[attr-defined]
ROLES = dict.fromkeys((*NAMES, ""), _role)
