"""The elements of a page of HTML, and how much work it is to find them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

MOST_EFFORT = 100_000_000
"""The most steps that a parser may take over one page: about a second. No author wrote a page that takes more."""

MOST_FORMATTING = 2_000_000
"""The most elements that a parser may make anew because the author did not close them."""

VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
"""The elements that hold nothing and are never closed."""

_SPACE = " \\t\\n\\f\\r"
_VALUE = rf"""(?:"[^"]*+"|'[^']*+'|[^{_SPACE}>"'][^{_SPACE}>]*+)?+"""
_ATTRIBUTE = rf"[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE})?+"
_TAG = re.compile(
    rf"<!--.*?(?:--!?>|\Z)|<(?P<end>/?)(?P<name>[a-zA-Z][^{_SPACE}/>]*+)(?P<rest>(?:[{_SPACE}/]++|{_ATTRIBUTE})*+)>?",
    re.DOTALL,
)
_GIVEN = re.compile(_ATTRIBUTE)
_RAW = {
    name: re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes")
}
_ENDED_BY_OTHERS = frozenset("p li dt dd tr td th thead tbody tfoot colgroup rt rp".split())
_FORMATTING = frozenset("b big code em font i nobr s small strike strong tt u".split())


@dataclass(slots=True, eq=False)
class Element:
    """One element: its name, its attributes, and in order the words and elements inside it."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def get(self, name: str) -> str:
        return self.attributes.get(name) or ""

    @property
    def classes(self) -> list[str]:
        return self.get("class").split()

    def inside(self) -> Iterator[Element | str]:
        """Everything inside, in the order of the page."""
        waiting = self.children[::-1]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, Element):
                waiting += reversed(node.children)

    def words(self, most: int | None = None) -> str:
        """All words inside, white space as one space; or those within the first `most` nodes and characters of each."""
        inside = islice(self.inside(), most)
        return " ".join("".join(node[:most] for node in inside if isinstance(node, str)).split())


def too_much(html: str) -> bool:
    """Whether a page is built to cost a parser more than its size allows: nested without end, or full of attributes."""
    opened: Counter[str] = Counter()
    depth = formatting = effort = anew = at = 0
    while found := _TAG.search(html, at):
        at = found.end()
        name = (found["name"] or "").lower()
        foreign = bool(opened["svg"] or opened["math"])
        nests = name not in VOID and (foreign or name not in _ENDED_BY_OTHERS)
        step = -1 if found["end"] else 1
        if nests and name and (step > 0 or opened[name]):
            opened[name] += step
            depth += step
            formatting += step if name in _FORMATTING else 0
        effort += depth + sum(1 for _ in _GIVEN.finditer(found["rest"] or "")) ** 2
        anew += formatting
        if effort > MOST_EFFORT or anew > MOST_FORMATTING:
            return True
        if step > 0 and name in _RAW and not foreign:
            closing = _RAW[name].search(html, at)
            at = closing.start() if closing else len(html)
    return False
