"""Builds small PDF files for tests: words at positions, in standard fonts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 595, 842
FONTS = {"text": "Helvetica", "bold": "Helvetica-Bold", "code": "Courier"}
PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


class PlacedText(NamedTuple):
    """Words at a position from the top left corner."""

    x: float
    y: float
    words: str
    size: float = 10
    font: str = "text"


class Picture(NamedTuple):
    """A grey square that covers the page like a scan."""


class OutlineItem(NamedTuple):
    depth: int
    title: str
    page: int
    y: float = 0


PageItems = Sequence[PlacedText | Picture]


def text_column(x: float, y: float, lines: Sequence[str], leading: float = 12, size: float = 10) -> list[PlacedText]:
    """Place lines below each other."""
    return [PlacedText(x, y + i * leading, line, size) for i, line in enumerate(lines)]


def make_pdf(
    page_items: Sequence[PageItems],
    outline: Sequence[OutlineItem] = (),
    labels: str = "",
    title: str = "",
    password: str | None = None,
    rotate: int = 0,
) -> bytes:
    """Build a PDF of these pages; any password, even an empty one, encrypts it."""
    first = 5 + len(FONTS) + 1
    pages = [first + 2 * i for i in range(len(page_items))]
    entries = first + 2 * len(page_items)
    objects: dict[int, bytes] = {1: _catalog(outline, entries, labels)}
    objects[2] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), _references(pages))
    objects[3] = b"<< /Title (%s) >>" % _escape(title)
    for i, name in enumerate(FONTS.values()):
        kind = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding << /BaseEncoding /WinAnsiEncoding %s >> >>"
        objects[5 + i] = kind % (name.encode(), b"/Differences [129 /fi]")
    picture = b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
    objects[5 + len(FONTS)] = _stream(picture, b"\x80", b"")
    key = _key(password) if password is not None else b""
    for number, items in zip(pages, page_items, strict=True):
        fonts = b" ".join(b"/%s %d 0 R" % (name.encode(), 5 + i) for i, name in enumerate(FONTS))
        objects[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Rotate %d /Contents %d 0 R"
            b" /Resources << /Font << %s >> /XObject << /scan %d 0 R >> >> >>"
        ) % (WIDTH, HEIGHT, rotate, number + 1, fonts, 5 + len(FONTS))
        own = hashlib.md5(key + (number + 1).to_bytes(3, "little") + b"\0\0").digest()[:10] if key else b""
        objects[number + 1] = _stream(b"<<", b"\n".join(map(_draw, items)), own)
    for i in range(len(outline)):
        objects[entries + 1 + i] = _entry(outline, i, entries, pages)
    if outline:
        tops = [entries + 1 + i for i, entry in enumerate(outline) if not entry.depth]
        objects[entries] = b"<< /First %d 0 R /Last %d 0 R /Count %d >>" % (tops[0], tops[-1], len(outline))
    return _file(objects, password)


def _catalog(outline: Sequence[OutlineItem], entries: int, labels: str) -> bytes:
    parts = b" /Outlines %d 0 R" % entries if outline else b""
    parts += b" /PageLabels << /Nums [%s] >>" % labels.encode() if labels else b""
    return b"<< /Type /Catalog /Pages 2 0 R%s >>" % parts


def _references(numbers: Sequence[int]) -> bytes:
    return b" ".join(b"%d 0 R" % number for number in numbers)


def _escape(text: str) -> bytes:
    data = b"\x81".join(part.encode("cp1252", "replace") for part in text.split("\ufb01"))
    return data.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _draw(item: PlacedText | Picture) -> bytes:
    if isinstance(item, Picture):
        return b"q %d 0 0 %d 0 0 cm /scan Do Q" % (WIDTH, HEIGHT)
    place = b"%.2f %.2f" % (item.x, HEIGHT - item.y)
    return b"BT /%s %.2f Tf %s Td (%s) Tj ET" % (item.font.encode(), item.size, place, _escape(item.words))


def _stream(head: bytes, data: bytes, key: bytes) -> bytes:
    data = _rc4(key, data) if key else data
    return head + b" /Length %d >>\nstream\n%s\nendstream" % (len(data), data)


def _entry(outline: Sequence[OutlineItem], at: int, entries: int, pages: Sequence[int]) -> bytes:
    own = outline[at]
    after = range(at + 1, len(outline))
    end = next((i for i in after if outline[i].depth < own.depth), len(outline))
    following = next((i for i in range(at + 1, end) if outline[i].depth == own.depth), None)
    before = range(at - 1, -1, -1)
    parent = next((i for i in before if outline[i].depth < own.depth), None)
    inside_end = next((i for i in after if outline[i].depth <= own.depth), len(outline))
    inside = [i for i in range(at + 1, inside_end) if outline[i].depth == own.depth + 1]
    parts = [b"/Title (%s)" % _escape(own.title)]
    parts.append(b"/Parent %d 0 R" % (entries + 1 + parent if parent is not None else entries))
    parts.append(b"/Dest [%d 0 R /XYZ 0 %.2f null]" % (pages[own.page - 1], HEIGHT - own.y))
    if following is not None:
        parts.append(b"/Next %d 0 R" % (entries + 1 + following))
    if inside:
        ends = (entries + 1 + inside[0], entries + 1 + inside[-1], len(inside))
        parts.append(b"/First %d 0 R /Last %d 0 R /Count %d" % ends)
    return b"<< %s >>" % b" ".join(parts)


def _file(objects: dict[int, bytes], password: str | None) -> bytes:
    body = b"%PDF-1.4\n"
    places: dict[int, int] = {}
    for number, content in sorted(objects.items()):
        places[number] = len(body)
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size = max(objects) + 1
    table = b"".join(b"%010d 00000 n \n" % places[i] if i in places else b"0000000000 65535 f \n" for i in range(size))
    locked = b""
    if password is not None:
        owner, user = _owner(), _rc4(_key(password), PADDING)
        locked = b" /ID [<%s><%s>]" % ((b"00" * 16,) * 2)
        locked += b" /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (
            owner.hex().encode(),
            user.hex().encode(),
        )
    trailer = b"trailer\n<< /Size %d /Root 1 0 R /Info 3 0 R%s >>\n" % (size, locked)
    return body + b"xref\n0 %d\n%s%sstartxref\n%d\n%%%%EOF\n" % (size, table, trailer, len(body))


def _owner() -> bytes:
    padded = (b"owner" + PADDING)[:32]
    return _rc4(hashlib.md5(padded).digest()[:5], PADDING)


def _key(password: str) -> bytes:
    padded = (password.encode() + PADDING)[:32]
    return hashlib.md5(padded + _owner() + (0xFFFFFFFC).to_bytes(4, "little") + bytes(16)).digest()[:5]


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
