"""Parses rendered pages and plots."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree import ElementTree

from bookbound.evaluation.html_report import render_template
from bookbound.evaluation.svg_plots import SvgPlot

HOSTILE_TEXT = "</title></summary></style><script>alert(1)</script><img src=https://x.example/y onerror='a()'> \"&amp;"


class ParsedPage(HTMLParser):
    """The tags, attribute names and texts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def render_svg(plot: SvgPlot) -> ElementTree.Element:
    """The plot as parsed SVG."""
    return ElementTree.fromstring(render_template("evaluation/templates/plot.svg.j2", plot=plot).strip())


def is_within_frame(svg: ElementTree.Element) -> bool:
    return all(
        0 <= float(shape.get(name, "0")) <= size
        for shape in svg.iter()
        for names, size in ((("x", "x1", "x2", "cx"), SvgPlot.width), (("y", "y1", "y2", "cy"), SvgPlot.height))
        for name in names
    )
