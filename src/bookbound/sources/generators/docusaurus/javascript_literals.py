"""Parses JavaScript and TypeScript object literals as data without running them."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>\s++|//[^\n]*+|/\*.*?(?:\*/|\Z))
  | (?P<string>'(?:\\.|[^'\\\n])*+'|"(?:\\.|[^"\\\n])*+"|`(?:\\.|[^`\\])*+`)
  | (?P<number>-?(?:\d++\.?\d*+|\.\d++)(?![\w$]))
  | (?P<name>[A-Za-z_$][\w$]*+(?:\.[A-Za-z_$][\w$]*+)*+)
  | (?P<mark>\.\.\.|=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{?(?P<code>[0-9A-Fa-f]{1,6})\}?|(?P<letter>.))", re.DOTALL)
_ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
_KEYWORDS = {"true": True, "false": False, "null": None, "undefined": None}
_MAX_DEPTH = 60
# How many times a file is looked through, at the most, for the values of its names.
_MAX_PASSES = 10
_EXPRESSION_ENDS = (",", "]", "}", ")", ";", "")


class UnknownValue:
    """A value that only running the program would tell."""


UNKNOWN_VALUE = UnknownValue()


class _JavaScriptToken(NamedTuple):
    kind: str
    text: str


class JavaScriptFile:
    """One file of a program, of which plain values can be asked for."""

    def __init__(self, source: str) -> None:
        found = (_JavaScriptToken(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(source))
        self._tokens = [token for token in found if token.kind != "space"]
        self._at = 0
        self._depth = 0
        self._effort = _MAX_PASSES * len(self._tokens)
        self._names = self._defined()

    def exported(self) -> object:
        """The value that the file exports: plain, by name, or returned by a function; else its first object."""
        tokens = self._tokens
        for at, token in enumerate(tokens):
            before = tokens[at - 1].text if at else ""
            if (token.text == "=" and before == "module.exports") or (token.text == "default" and before == "export"):
                value = self._value_at(at + 1)
                if not isinstance(value, UnknownValue):
                    return value
        for at, token in enumerate(tokens):
            if token.text == "return" and tokens[at + 1 : at + 2] and tokens[at + 1].text == "{":
                return self._value_at(at + 1)
        values = (self._value_at(at) for at in self._names.values())
        return next((value for value in values if isinstance(value, dict)), UNKNOWN_VALUE)

    def _defined(self) -> dict[str, int]:
        """Where the values of the names stand that the file defines."""
        names: dict[str, int] = {}
        tokens = self._tokens
        for at, token in enumerate(tokens):
            if token.text in ("const", "let", "var") and at + 2 < len(tokens):
                equals = next((i for i in range(at + 2, min(at + 30, len(tokens))) if tokens[i].text == "="), None)
                if equals:
                    names.setdefault(tokens[at + 1].text, equals + 1)
        return names

    def _value_at(self, at: int) -> object:
        before, self._at = self._at, at
        try:
            return self._expression()
        finally:
            self._at = before

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _expression(self) -> object:
        """A value; what is more than a plain one is passed over to where it ends."""
        self._effort -= 1
        if self._depth > _MAX_DEPTH or self._effort < 0:
            self._skip()
            return UNKNOWN_VALUE
        self._depth += 1
        value = self._plain()
        self._depth -= 1
        if self._peek() in ("as", "satisfies"):
            self._skip()
        elif self._peek() not in _EXPRESSION_ENDS and not isinstance(value, dict | list):
            self._skip()
            return UNKNOWN_VALUE
        return value

    def _plain(self) -> object:
        if self._at >= len(self._tokens):
            return UNKNOWN_VALUE
        kind, text = self._tokens[self._at]
        if text == "{":
            return self._object()
        if text == "[":
            return self._array()
        self._at += 1
        if kind == "string":
            return UNKNOWN_VALUE if text.startswith("`") and "${" in text else _unescape(text[1:-1])
        if kind == "number":
            return float(text)
        if kind == "name":
            return self._named(text)
        self._at -= 1
        self._skip()
        return UNKNOWN_VALUE

    def _named(self, name: str) -> object:
        if name in _KEYWORDS:
            return _KEYWORDS[name]
        if name in ("require.resolve", "require") and self._peek() == "(":
            self._at += 1
            value = self._expression()
            self._at += self._peek() == ")"
            return value
        alone = self._peek() in (*_EXPRESSION_ENDS, "as", "satisfies")
        return self._value_at(self._names[name]) if alone and name in self._names else UNKNOWN_VALUE

    def _object(self) -> dict[str, object]:
        found: dict[str, object] = {}
        self._at += 1
        while self._peek() not in ("}", ""):
            kind, text = self._tokens[self._at]
            self._at += 1
            if text == "...":
                spread = self._expression()
                found |= spread if isinstance(spread, dict) else {}
            elif kind in ("name", "string", "number"):
                key = _unescape(text[1:-1]) if kind == "string" else text
                if self._peek() == ":":
                    self._at += 1
                    found[key] = self._expression()
                else:
                    found[key] = self._named(text) if self._peek() in (",", "}") else UNKNOWN_VALUE
            self._pass("}")
        self._at += 1
        return found

    def _array(self) -> list[object]:
        found: list[object] = []
        self._at += 1
        while self._peek() not in ("]", ""):
            spread = self._peek() == "..."
            self._at += spread
            value = self._expression()
            found += value if spread and isinstance(value, list) else [value]
            self._pass("]")
        self._at += 1
        return found

    def _pass(self, closing: str) -> None:
        """Go on to after the next comma, or to what closes the literal."""
        if self._peek() not in (",", closing):
            self._skip()
        if self._peek() not in (closing, ""):
            self._at += 1

    def _skip(self) -> None:
        """Go on to the comma, the semicolon or the bracket that ends this expression."""
        depth = 0
        while self._at < len(self._tokens):
            text = self._peek()
            if depth == 0 and text in (",", ";", "]", "}", ")"):
                return
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            self._at += 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_decode_escape, text)


def _decode_escape(found: re.Match[str]) -> str:
    if found["code"]:
        code = int(found["code"], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _ESCAPED_CHARACTERS.get(found["letter"], found["letter"])
