"""Renders the OpenAPI document as one page of plain HTML, without scripts and without outside requests."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

Schema = Mapping[str, Any]
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; } h3 { margin-top: 2.5rem; font-family: ui-monospace, monospace; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
th, td { border-bottom: 1px solid #8886; padding: .3rem .6rem; text-align: left; vertical-align: top; }
pre { border: 1px solid #8886; padding: .8rem; overflow-x: auto; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
PAGE_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'"
}
OWN_API = "bookbound"
"""The tag of our own endpoints, which come first."""
UNITS = {"string": " characters", "array": " entries"}
LIMITS = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))


def api_page_routes(load_document: Callable[[], Schema]) -> APIRouter:
    router = APIRouter(tags=["docs"])

    @router.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        """The endpoints for people."""
        return HTMLResponse(render_api_page(load_document()), headers=PAGE_HEADERS)

    return router


def render_api_page(document: Schema) -> str:
    """A page with each endpoint, its fields, an example and its errors, and then each object."""
    info, schemas = document["info"], document["components"]["schemas"]
    groups: dict[str, list[str]] = {OWN_API: []}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = next(iter(operation.get("tags", ())), "other")
            groups.setdefault(tag, []).append("".join(_render_operation(method, path, operation, schemas)))
    sections = (f"<h2>{escape(tag)}</h2>{''.join(rendered)}" for tag, rendered in groups.items() if rendered)
    objects = (f"<h3 id='{escape(name)}'>{escape(name)}</h3>{_render_object(each)}" for name, each in schemas.items())
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{escape(info['title'])} API</title>"
        f"<meta name='viewport' content='width=device-width'><style>{STYLE}</style></head><body>"
        f"<h1>{escape(info['title'])} API <small>{escape(info['version'])}</small></h1>"
        f"<p>{escape(info['description'])} For programs: <a href='openapi.json'>openapi.json</a>.</p>"
        f"{''.join(sections)}<h2>Objects</h2>{''.join(objects)}</body></html>"
    )


def _render_operation(method: str, path: str, operation: Schema, schemas: Schema) -> Iterator[str]:
    yield f"<h3>{method.upper()} {escape(path)}</h3>"
    yield "".join(f"<p>{escape(text)}</p>" for text in operation.get("description", "").split("\n\n"))
    if body := _json_schema(operation.get("requestBody", {})):
        fields = schemas[_reference(body)] if _reference(body) else body
        yield f"<h4>Fields</h4>{_render_fields(fields)}"
        example = json.dumps(_build_example(fields), indent=2, ensure_ascii=False)
        request = f"{method.upper()} {path}\nContent-Type: application/json\n\n{example}"
        yield f"<h4>Example</h4><pre>{escape(request, quote=False)}</pre>"
    replies = operation["responses"].items()
    yield "<h4>Replies</h4><table><tr><th>status</th><th>meaning</th><th>body</th></tr>"
    for status, reply in replies:
        yield f"<tr><td>{escape(status)}</td><td>{escape(reply['description'])}</td>"
        yield f"<td>{_describe_type(_json_schema(reply))}</td></tr>"
    yield "</table>"


def _render_object(schema: Schema) -> str:
    text = "".join(f"<p>{escape(part)}</p>" for part in schema.get("description", "").split("\n\n") if part)
    return text + (_render_fields(schema) if "properties" in schema else f"<p>{_describe_type(schema)}</p>")


def _render_fields(schema: Schema) -> str:
    rows = []
    for name, each in schema.get("properties", {}).items():
        default = "" if each.get("default") is None else f"; default {escape(json.dumps(each['default']))}"
        need = "required" if name in schema.get("required", ()) else f"optional{default}"
        cells = (f"<code>{escape(name)}</code>", _describe_type(each), need, escape(each.get("description", "")))
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    head = "<tr><th>field</th><th>type</th><th></th><th>meaning</th></tr>"
    return f"<table>{head}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


def _describe_type(schema: Schema) -> str:
    """The type of a value and its limits; an object is a link to its fields."""
    if name := _reference(schema):
        return f"<a href='#{escape(name)}'>{escape(name)}</a>"
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(map(_describe_type, choices)))
    if "enum" in schema or "const" in schema:
        return escape(", ".join(map(json.dumps, schema.get("enum", [schema.get("const")]))))
    kind = str(schema.get("type", ""))
    if kind == "array":
        return f"list of {_describe_type(schema.get('items', {}))}"
    return escape(f"{kind}{_describe_limits(schema, UNITS.get(kind, ''))}")


def _describe_limits(schema: Schema, unit: str) -> str:
    for low, high in LIMITS:
        if low in schema or high in schema:
            least = f"{schema[low]:g}" if low in schema else "0"
            return f", {least} to {schema[high]:g}{unit}" if high in schema else f", {least} or more{unit}"
    return ""


def _build_example(schema: Schema) -> dict[str, Any]:
    """The required fields with the first example of each."""
    fields = schema.get("properties", {})
    return {name: next(iter(fields[name].get("examples", ())), "…") for name in schema.get("required", ())}


def _json_schema(part: Schema) -> Schema:
    schema: Schema = part.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _reference(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
