"""Defines what directives know about their page and how a function becomes a directive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import string2lines

from bookbound.sources.rst.object_descriptions import ObjectScope
from bookbound.sources.rst.page_draft import ProjectContext, Toctree
from bookbound.sources.rst.shared_markup import TAB_WIDTH

_MAX_LINE_LENGTH = 10_000
# docutils copies the rest of a page for each list and paragraph, and searches all table cells for each of them.
_MAX_LINES = 50_000
_MAX_TABLE_COLUMNS = 200
_MAX_INCLUDED_FILES = 200
_MAX_INCLUDED_CHARACTERS = 2_000_000
# Python breaks lines at characters where editors do not, and docutils marks escapes with NUL.
_REPLACED_CHARACTERS = {**dict.fromkeys(map(ord, "\x1c\x1d\x1e\x85\u2028\u2029"), " "), 0: "\ufffd"}
ElementT = TypeVar("ElementT", bound=nodes.Element)
TextElementT = TypeVar("TextElementT", bound=nodes.TextElement)


def split_safe_lines(text: str) -> list[str] | None:
    """Split a text into lines without tabs; return None if docutils would take too long to parse them."""
    lines = string2lines(text.translate(_REPLACED_CHARACTERS), TAB_WIDTH, convert_whitespace=True) if text else []
    is_slow = len(lines) > _MAX_LINES or any(
        len(line) > _MAX_LINE_LENGTH or (not line.strip(" +-=|") and line.count("+") > _MAX_TABLE_COLUMNS)
        for line in lines
    )
    return None if is_slow else lines


@dataclass(slots=True)
class ParseContext:
    """What the directives of the page at `path` share.

    `origins` maps the name of an included text to the line of the page that includes it, `formulas` maps labels to
    anchors, and `autodoc_names` are the objects whose text is in code.
    """

    project: ProjectContext
    path: Path
    toctrees: list[Toctree] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)
    scope: ObjectScope = field(default_factory=ObjectScope)
    formulas: dict[str, str] = field(default_factory=dict)
    autodoc_names: list[str] = field(default_factory=list)
    _paths: dict[str, Path] = field(default_factory=dict)
    _loaded_characters: int = 0

    def load_text(self, target: str, source: str) -> str | None:
        """Load the file that the page or an included text names; return None if it cannot be read."""
        is_allowed = len(self._paths) < _MAX_INCLUDED_FILES and self._loaded_characters < _MAX_INCLUDED_CHARACTERS
        text = self.project.includes.load(self._resolve(target, source) if is_allowed else None, target)
        self._loaded_characters += len(text or "")
        return text

    def add_include(self, target: str, source: str, line: int) -> str:
        """Return a unique source name for a text that is included on a line of `source`."""
        name = f"<included {len(self.origins)}>"
        self.origins[name] = self.origins.get(source, line)
        self._paths[name] = self._resolve(target, source) or self.path
        return name

    def _resolve(self, target: str, source: str) -> Path | None:
        return self.project.resolve(target, self._paths.get(source, self.path))


class AnyOptions(dict[str, Callable[[str], Any]]):
    """The options of a directive; unknown ones are kept as text."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True


class ContentDirective(Directive):
    """A directive with an optional argument, any options and a body; a function renders it."""

    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = AnyOptions()

    @property
    def context(self) -> ParseContext:
        context: ParseContext = self.state.document.settings.parse_context
        return context

    @property
    def argument(self) -> str:
        return "".join(self.arguments)

    @property
    def source(self) -> str:
        return str(self.state_machine.get_source_and_line(self.lineno)[0])

    @property
    def line(self) -> int:
        return self.line_at(self.lineno - 1)

    def line_at(self, offset: int) -> int:
        """Return the source line at an offset of the parsed text."""
        return int(self.state_machine.get_source_and_line(offset + 1)[1] or 0)

    def locate(self, node: ElementT, line: int | None = None) -> ElementT:
        """Set the source and the line of a node, by default those of the directive."""
        node.source, node.line = self.source, line or self.line
        return node

    def reserve_ids(self, *ids: str) -> list[str]:
        """Reserve those of the ids that are still free on the page."""
        known = self.state.document.ids
        free = [anchor for anchor in ids if anchor and anchor not in known]
        known.update((anchor, nodes.target()) for anchor in free)
        return free

    def named(self, node: ElementT) -> ElementT:
        """Give a node the name that its author chose."""
        self.add_name(node)
        return node

    def parse_body(self, node: ElementT) -> ElementT:
        """Add what the body shows to a node."""
        self.state.nested_parse(self.content, self.content_offset, node)
        return node

    def body(self) -> list[nodes.Node]:
        return self.parse_body(nodes.container()).children

    def parse_text(self, kind: type[TextElementT], text: str | None) -> list[TextElementT]:
        """Parse the inline markup of an argument or an option; an empty text gives no node."""
        return [self.locate(kind(text, "", *self.state.inline_text(text, self.lineno)[0]))] if text else []

    def code(self, text: str, from_file: bool = False) -> list[nodes.Node]:
        """Make a code block below its caption."""
        captions = self.parse_text(nodes.caption, self.options.get("caption"))
        language = self.options.get("language") or self.argument
        block = nodes.literal_block(text, text, from_file=from_file, language=language)
        self.locate(block, self.line if from_file else self.line_at(self.content_offset))
        blocks = [block] if text.strip() else []
        if not captions:
            return [self.named(block) for block in blocks]
        return [self.named(nodes.container("", *captions, *blocks, literal_block=True))]


def make_generated_text(text: str) -> nodes.inline:
    """Make a node for words that Sphinx adds."""
    return nodes.inline("", text, generated=True)


def make_directive(render: Callable[[ContentDirective], list[nodes.Node]], arguments: int = 1) -> type[Directive]:
    """Make a directive class from the function that renders it."""
    return type(render.__name__, (ContentDirective,), {"run": render, "optional_arguments": arguments})
