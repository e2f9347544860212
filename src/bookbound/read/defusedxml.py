"""XML from files of strangers: no entity is expanded, and nothing outside is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

LARGEST = 5_000_000
"""The most bytes of XML that are parsed: what a book says about itself is far shorter."""


def parse_xml(data: bytes) -> Element | None:
    """The root of a document, or nothing where it is broken, too long, or defines entities."""
    try:
        return fromstring(data) if len(data) <= LARGEST else None
    except (ParseError, DefusedXmlException, ValueError, LookupError):
        return None


def named(top: Element | None, name: str) -> Iterator[Element]:
    """The elements of a name inside another, whatever their namespace."""
    return (element for element in (() if top is None else top.iter()) if local(element) == name)


def local(element: Element) -> str:
    """An element's name without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
