"""What is shown of when something came, changed or went."""

from __future__ import annotations

_SINCE = {
    "added": "Added in version",
    "changed": "Changed in version",
    "deprecated": "Deprecated since version",
    "removed": "Removed in version",
}
VERSIONS = frozenset(
    "versionadded versionchanged versionremoved deprecated"
    " version-added version-changed version-removed version-deprecated".split()
)
"""The directives that say so."""


def since(directive: str, version: str, more: bool) -> str:
    """What stands before the words of such a directive, or alone where there are no more."""
    return f"{_SINCE[directive.removeprefix('version').lstrip('-')]} {version}{':' if more else '.'}"
