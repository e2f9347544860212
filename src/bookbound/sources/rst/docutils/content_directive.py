"""Defines the directive class that every directive with content extends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives

ElementT = TypeVar("ElementT", bound=nodes.Element)
TextElementT = TypeVar("TextElementT", bound=nodes.TextElement)


class AnyOptions(dict[str, Callable[[str], Any]]):
    """The options of a directive: those that it does not know are taken as they are."""

    def __missing__(self, name: str) -> Callable[[str], Any]:
        return directives.unchanged

    def __bool__(self) -> bool:
        return True


class ContentDirective(Directive):
    """A directive with an argument, options of any kind and a body."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[Any] = AnyOptions()

    def placed(self, node: ElementT, line: int | None = None) -> ElementT:
        """A node that says where it was written: on the directive's own line unless another is given."""
        node.source, node.line = self.source, line or self.line
        return node

    @property
    def source(self) -> str:
        return str(self.state_machine.get_source_and_line(self.lineno)[0])

    @property
    def line(self) -> int:
        return int(self.state_machine.get_source_and_line(self.lineno)[1] or 0)

    def at(self, offset: int) -> int:
        """The line of its source that stands at an offset of what is parsed."""
        return int(self.state_machine.get_source_and_line(offset + 1)[1] or 0)

    def taken(self, *anchors: str) -> list[str]:
        """Those of some anchors that nothing on the page has yet, nor gets later."""
        ids = self.state.document.ids
        free = [anchor for anchor in anchors if anchor and anchor not in ids]
        ids.update((anchor, nodes.target()) for anchor in free)
        return free

    def named(self, node: ElementT) -> ElementT:
        """The node under the name that its author gave it."""
        self.add_name(node)
        return node

    def body(self, node: ElementT) -> ElementT:
        """The node with what the directive's body shows."""
        self.state.nested_parse(self.content, self.content_offset, node)
        return node

    def words(self, kind: type[TextElementT], text: str) -> TextElementT:
        """Words of the directive's argument or options, without their markup."""
        shown, _ = self.state.inline_text(text, self.lineno)
        return self.placed(kind(text, "", *shown))

    def argument(self, kind: type[TextElementT]) -> list[TextElementT]:
        return [self.words(kind, text) for text in self.arguments]

    def option(self, name: str, kind: type[TextElementT]) -> list[TextElementT]:
        text = self.options.get(name)
        return [self.words(kind, text)] if text else []


def make_generated_text(text: str) -> nodes.inline:
    """Words that Sphinx shows and nobody wrote."""
    return nodes.inline("", text, told=True)


def make_code_block(directive: ContentDirective, text: str, taken: bool = False) -> list[nodes.Node]:
    """A block of code below its caption; `taken` says that another file holds it."""
    captions = directive.option("caption", nodes.caption)
    block = nodes.literal_block(text, text, taken=taken, language="".join(directive.arguments))
    directive.placed(block, directive.line if taken else directive.at(directive.content_offset))
    shown = [block] if text.strip() else []
    if not captions:
        return [directive.named(one) for one in shown]
    return [directive.named(nodes.container("", *captions, *shown, literal_block=True))]


def make_math_blocks(directive: ContentDirective) -> list[nodes.Node]:
    """The formulas of an argument and of a body, each of them a block."""
    shown: list[Any] = []
    for text in directive.arguments:
        shown.append(directive.placed(nodes.math_block(text, text)))
    body = "\n".join(directive.content)
    if body.strip():
        shown.append(directive.placed(nodes.math_block(body, body), directive.at(directive.content_offset)))
    label = directive.options.get("label") or directive.options.get("name")
    if label and shown:
        shown[-1]["ids"] = directive.taken(nodes.make_id(f"equation-{label}"))
        formulas = directive.state.document.settings.extracts.formulas
        formulas |= {f"equation-{label}": anchor for anchor in shown[-1]["ids"]}
    return shown
