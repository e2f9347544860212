"""Makes notebooks for tests."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st


def cell(kind: str, source: str | list[str], *tags: str, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {"tags": list(tags)}, "source": source, **more}


def notebook(*cells: dict[str, Any], **metadata: Any) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)})


LESSON = notebook(
    cell("markdown", ["# The lesson\n", "\n", "See {doc}`intro`. ![a plot](attachment:x.png)"]),
    cell("code", "x = 1\nx + 1", outputs=[{"data": {"image/png": "iVBORw0KGgo" * 1000, "text/plain": "printed"}}]),
    cell("raw", "raw words"),
    cell("code", "secret = 1", "remove-cell"),
    cell("code", "plot()", "remove-input"),
    cell("code", "shown = 1", "hide-input"),
    cell("markdown", "```\nnever closed"),
    cell("markdown", "## The end"),
    kernelspec={"language": "julia"},
)
_NAMES = """cells cell_type source metadata tags worksheets level language input file chapters parts root sections title
children""".split()
ANY_JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(max_size=5),
        st.sampled_from(["code", "markdown", "# H", "```"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(_NAMES),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=25,
)
