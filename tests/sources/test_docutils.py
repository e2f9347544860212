"""docutils is used for one page at a time and left as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from docutils.parsers.rst import directives, roles, states

from bookbound.sources.includes import IncludeLoader
from bookbound.sources.rst.docutils import ParseContext, RstTree, parse_rst
from bookbound.sources.rst.docutils.include_directives import split_safe_lines

HERE = Path(__file__).parent


def tree(source: str, **more: str) -> RstTree | None:
    return parse_rst(source, ParseContext(IncludeLoader(HERE), HERE, HERE / "page.rst"), **more)


def words(found: RstTree | None) -> str:
    return " ".join(found.root.astext().split()) if found else ""


def test_a_page_changes_nothing_for_others_who_parse() -> None:
    def kept() -> tuple[object, ...]:
        return directives._directives, roles._roles, states.RSTState.nested_sm  # type: ignore[attr-defined]

    before, known = kept(), sorted(roles._roles)  # type: ignore[attr-defined]
    assert tree(".. role:: mine\n\n:mine:`x` :func:`y`\n\n.. note:: z")
    assert tree("- " * 3_000 + "x") is None
    assert all(one is other for one, other in zip(kept(), before, strict=True))
    assert sorted(roles._roles) == known  # type: ignore[attr-defined]


def test_what_one_page_defines_the_next_does_not_know() -> None:
    assert words(
        tree(".. role:: raw-words(raw)\n   :format: html\n\n.. default-role:: kbd\n\n|a|\n\n.. |a| replace:: b")
    )
    assert words(tree(":raw-words:`shown` `title` |a|")) == "shown title a"


def test_no_file_is_opened_and_nothing_raw_is_kept(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret words")
    for name in ("include", "literalinclude", "raw:: html\n   :file:", "csv-table:: t\n   :file:"):
        assert "secret" not in words(tree(f".. {name}{'' if ':' in name else '::'} {secret}\n")).replace(
            "secret.txt", ""
        )


def test_labels_are_the_explicit_targets_of_what_has_a_title() -> None:
    source = ".. _one:\n.. _Two Words:\n\nTitle\n=====\n\n.. _para:\n\nText\n\n"
    source += ".. _fig:\n\n.. figure:: x\n\n   The *caption*\n"
    found = tree(source)
    assert found
    assert found.labels == {"one": "Title", "two words": "Title", "fig": "The caption"}
    assert found.title == "Title"


def test_what_stands_before_and_after_every_page_is_read_with_it() -> None:
    found = tree("|a| and |b|", prolog=".. |a| replace:: x", epilog=".. |b| replace:: y")
    assert found
    assert [getattr(found.substitute(name), "children", None) for name in ("a", "b")] == [["x"], ["y"]]


@pytest.mark.parametrize("text", ["x" * 10_001, "\n" * 60_000 + "x", "+" + "-+" * 300])
def test_what_would_take_docutils_too_long_is_not_trusted(text: str) -> None:
    assert split_safe_lines(text) is None


def test_lines_break_where_an_editor_breaks_them() -> None:
    assert split_safe_lines("a\u2028b\x1cc\0\td\n e") == ["a b c\ufffd  d", " e"]


def test_marks_without_end_are_left_as_they_are() -> None:
    assert words(tree("*a " * 3_000 + "\n\nEnd *here*.")).endswith("End *here*.")
