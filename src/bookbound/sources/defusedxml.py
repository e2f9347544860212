"""Parses untrusted XML with defusedxml, without expanding entities."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

MAX_XML_BYTES = 5_000_000
"""The largest XML document that is parsed; a book's metadata is far shorter."""


def parse_xml(data: bytes, max_bytes: int = MAX_XML_BYTES) -> Element | None:
    """Parse a document; return nothing if it is broken, too long or defines entities."""
    try:
        return fromstring(data) if len(data) <= max_bytes else None
    except (ParseError, DefusedXmlException, ValueError, LookupError):
        return None


def find_elements(top: Element | None, name: str) -> Iterator[Element]:
    """Yield the elements of this name inside another, in any namespace."""
    return (element for element in (() if top is None else top.iter()) if local_name(element) == name)


def local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
