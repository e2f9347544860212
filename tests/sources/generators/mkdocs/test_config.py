"""The exclude patterns of MkDocs work like those of Git."""

from __future__ import annotations

import pytest

from bookbound.sources.generators.mkdocs.config import GitignorePatterns


@pytest.mark.parametrize(
    ("patterns", "path", "ignored"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a/b.pyc", False),
        ("old/", "old/a.md", True),
        ("old/", "deep/old/a.md", True),
        ("old/", "old", False),
        ("/old", "deep/old/a.md", False),
        ("/old", "old/a.md", True),
        ("a/*.md", "a/b.md", True),
        ("a/*.md", "a/b/c.md", False),
        ("a/**/c.md", "a/b/d/c.md", True),
        ("a/**/c.md", "a/c.md", True),
        ("**/c.md", "c.md", True),
        ("*.md\n!keep.md", "keep.md", False),
        ("!keep.md\n*.md", "keep.md", True),
        ("# a.md", "a.md", False),
        ("", "a.md", False),
        ("drafts/*", "drafts/a/b.md", True),
        ("drafts/**", "drafts/a/b.md", True),
        ("**/**/b.md", "a/b.md", True),
    ],
)
def test_the_last_matching_pattern_decides(patterns: str, path: str, ignored: bool) -> None:
    assert (path in GitignorePatterns(*patterns.split("\n"))) is ignored


def test_many_wildcards_take_no_time() -> None:
    assert "a" * 200 not in GitignorePatterns("*a" * 60 + "b", "**/" * 60 + "b")
