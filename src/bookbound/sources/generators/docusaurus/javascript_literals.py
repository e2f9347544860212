"""Parses JavaScript and TypeScript object literals as data without running them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

UNKNOWN: Final = object()
"""A value that only running the program would tell."""
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
_EXPRESSION_ENDS = (",", "]", "}", ")", ";", "")
_TYPE_OPERATORS = ("as", "satisfies")
_MAX_DEPTH = 60
# A name can refer to others: each token is read this often on average.
_MAX_PASSES = 10
_MAX_TYPE_TOKENS = 30


class _Token(NamedTuple):
    kind: str
    text: str


class JavaScriptFile:
    """Reads plain values from a JavaScript or TypeScript file; other values are UNKNOWN."""

    def __init__(self, source: str) -> None:
        tokens = [_Token(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(source)]
        # The end token stays the current one however far the parser reads.
        self._tokens = [*(token for token in tokens if token.kind != "space"), _Token("end", "")]
        self._at = 0
        self._depth = 0
        self._steps_left = _MAX_PASSES * len(self._tokens)
        self._names = self._find_definitions()

    def exported_value(self) -> object:
        """Return the value that the file exports or a function returns, else its first object."""
        pairs = list(zip(self._tokens, self._tokens[1:], strict=False))
        for at, (before, token) in enumerate(pairs, 2):
            if (before.text, token.text) in (("module.exports", "="), ("export", "default")):
                value = self._value_at(at)
                if value is not UNKNOWN:
                    return value
        for at, (before, token) in enumerate(pairs, 1):
            if (before.text, token.text) == ("return", "{"):
                return self._value_at(at)
        values = map(self._value_at, self._names.values())
        return next((value for value in values if isinstance(value, dict)), UNKNOWN)

    def _find_definitions(self) -> dict[str, int]:
        """Find where the value of each constant or variable begins."""
        names: dict[str, int] = {}
        for at, token in enumerate(self._tokens):
            if token.text in ("const", "let", "var"):
                type_tokens = self._tokens[at + 2 : at + _MAX_TYPE_TOKENS]
                equals = next((i for i, each in enumerate(type_tokens, at + 2) if each.text == "="), None)
                if equals:
                    names.setdefault(self._tokens[at + 1].text, equals + 1)
        return names

    def _value_at(self, at: int) -> object:
        before, self._at = self._at, at
        value = self._parse_expression()
        self._at = before
        return value

    @property
    def _text(self) -> str:
        return self._tokens[self._at].text

    def _take_token(self) -> _Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _parse_expression(self) -> object:
        """Parse a plain value; skip any other expression to its end."""
        self._steps_left -= 1
        if self._depth > _MAX_DEPTH or self._steps_left < 0:
            self._skip_expression()
            return UNKNOWN
        self._depth += 1
        value = self._parse_plain()
        self._depth -= 1
        if self._text in _TYPE_OPERATORS:
            self._skip_expression()
        elif self._text not in _EXPRESSION_ENDS and not isinstance(value, dict | list):
            self._skip_expression()
            return UNKNOWN
        return value

    def _parse_plain(self) -> object:
        kind, text = self._tokens[self._at]
        if text == "{":
            return self._parse_object()
        if text == "[":
            return self._parse_array()
        if kind not in ("string", "number", "name"):
            self._skip_expression()
            return UNKNOWN
        self._take_token()
        if kind == "string":
            is_template = text.startswith("`") and "${" in text
            return UNKNOWN if is_template else _ESCAPE.sub(_decode_escape, text[1:-1])
        return float(text) if kind == "number" else self._parse_name(text)

    def _parse_name(self, name: str) -> object:
        if name in _KEYWORDS:
            return _KEYWORDS[name]
        if name in ("require.resolve", "require") and self._text == "(":
            self._take_token()
            value = self._parse_expression()
            if self._text == ")":
                self._take_token()
            return value
        is_alone = self._text in (*_EXPRESSION_ENDS, *_TYPE_OPERATORS)
        return self._value_at(self._names[name]) if is_alone and name in self._names else UNKNOWN

    def _parse_object(self) -> dict[str, object]:
        found: dict[str, object] = {}
        self._take_token()
        while self._text not in ("}", ""):
            kind, text = self._take_token()
            if text == "...":
                spread = self._parse_expression()
                found |= spread if isinstance(spread, dict) else {}
            elif kind in ("name", "string", "number"):
                key = _ESCAPE.sub(_decode_escape, text[1:-1]) if kind == "string" else text
                if self._text == ":":
                    self._take_token()
                    found[key] = self._parse_expression()
                else:
                    found[key] = self._parse_name(text) if self._text in (",", "}") else UNKNOWN
            self._skip_to_next_member("}")
        self._take_token()
        return found

    def _parse_array(self) -> list[object]:
        found: list[object] = []
        self._take_token()
        while self._text not in ("]", ""):
            is_spread = self._text == "..." and bool(self._take_token())
            value = self._parse_expression()
            found += value if is_spread and isinstance(value, list) else [value]
            self._skip_to_next_member("]")
        self._take_token()
        return found

    def _skip_to_next_member(self, closing: str) -> None:
        """Go to the next member of a literal or to the bracket that closes it."""
        if self._text not in (",", closing):
            self._skip_expression()
        if self._text != closing:
            self._take_token()

    def _skip_expression(self) -> None:
        """Go to the comma, semicolon or bracket that ends an expression."""
        depth = 0
        while self._text and (depth or self._text not in _EXPRESSION_ENDS):
            depth += (self._text in ("(", "[", "{")) - (self._text in (")", "]", "}"))
            self._take_token()


def _decode_escape(match: re.Match[str]) -> str:
    if match["code"]:
        code = int(match["code"], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return _ESCAPED_CHARACTERS.get(match["letter"], match["letter"])
