"""JavaScript literals are read as data, and nothing is run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.generators.docusaurus.javascript_literals import UNKNOWN, JavaScriptFile


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (
            "module.exports = {a: 1, 'b-c': \"x\", d: [true, false, null,],};",
            {"a": 1.0, "b-c": "x", "d": [True, False, None]},
        ),
        ("export default {a: `plain`, b: 'it\\'s', c: '\\u00e9\\n'}", {"a": "plain", "b": "it's", "c": "é\n"}),
        ("const a = {x: 1}; const b = {...a, y: [...['p'], 'q']}; export default b", {"x": 1.0, "y": ["p", "q"]}),
        ("/* {a: 2} */ module.exports = {a: -1.5, // {b: 1}\n};", {"a": -1.5}),
        ("const name = 'n'; module.exports = {name}", {"name": "n"}),
        (
            "const c: Config = {a: {b: 2} as const, d: ['e'] satisfies X}; export default c;",
            {"a": {"b": 2.0}, "d": ["e"]},
        ),
        ("export default async function f() { return {a: 1}; }", {"a": 1.0}),
        ("module.exports = {a: require.resolve('./x.js')}", {"a": "./x.js"}),
        ("const config = {a: 1};", {"a": 1.0}),
    ],
)
def test_plain_values_are_read(source: str, value: object) -> None:
    assert JavaScriptFile(source).exported_value() == value


@pytest.mark.parametrize(
    "value", ["f()", "`a${b}`", "a + b", "'a' + 'b'", "x => ({y: 1})", "process.env.X", "cond ? 'a' : 'b'", "new X({})"]
)
def test_other_expressions_are_unknown_and_the_rest_is_read(value: str) -> None:
    found = JavaScriptFile(f"module.exports = {{a: {value}, b: 'kept', c() {{ return 1; }}, d: 2}}").exported_value()
    assert isinstance(found, dict)
    assert found.pop("a") is UNKNOWN
    assert (found["b"], found["d"]) == ("kept", 2.0)


@given(st.text(alphabet="{}[]():,;'\"`\\.=ab1 \n/*$", max_size=80))
def test_any_source_can_be_parsed(source: str) -> None:
    JavaScriptFile("module.exports = " + source).exported_value()
    JavaScriptFile("const a = b; const b = a;" + source).exported_value()


@pytest.mark.parametrize(
    "source",
    [
        "module.exports = " + "[" * 60_000,
        "module.exports = " + "{a:" * 30_000,
        "const a = [b, b], c = 1;"
        + "".join(f"const x{n} = [x{n + 1}, x{n + 1}];" for n in range(60))
        + "export default x0",
        "const a = {...a, ...a, b: a}; module.exports = a",
        "/*" * 90_000,
    ],
)
def test_hostile_sources_are_parsed_in_bounded_time(source: str) -> None:
    JavaScriptFile(source).exported_value()
