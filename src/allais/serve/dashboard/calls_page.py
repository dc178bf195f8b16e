"""The page of all calls, made from the API document: nothing is fetched, and no script runs."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response

from allais.serve.core.keys import ITS_OWN
from allais.serve.dashboard import pages
from allais.serve.dashboard.routes import PageRoute, may

router = APIRouter(route_class=PageRoute, include_in_schema=False)
WORDS = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below",
         "minLength": "characters, at least", "maxLength": "characters, at most", "pattern": "matching",
         "minItems": "entries, at least", "maxItems": "entries, at most"}  # fmt: skip


@router.get("/docs")
async def calls(request: Request) -> Response:
    """All calls."""
    return pages.page("Calls", page_of(request.app.openapi()), signed_in=may(request, "read", ITS_OWN), here="/docs")


def page_of(document: dict[str, Any]) -> str:
    """The calls of an API document by their subjects, then what is sent and got."""
    subjects: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            subjects.setdefault((call.get("tags") or ["other"])[0], []).append(_call(method.upper(), path, call))
    about = (
        "<p>Every call but those about health needs <code>Authorization: Bearer KEY</code>, and sends and gets JSON. A "
        'refusal is a status and <code>{"error": "..."}</code>, one sentence. The same as a document: '
        '<a href="/openapi.json">openapi.json</a>.</p>'
    )
    schemas = "".join(_schema(name, one) for name, one in document.get("components", {}).get("schemas", {}).items())
    body = "".join(pages.card(subject.capitalize(), "".join(inner), "calls") for subject, inner in subjects.items())
    return f'<section class="head"><h1>Calls</h1></section>{about}{body}{pages.card("What is sent and got", schemas)}'


def _call(method: str, path: str, call: dict[str, Any]) -> str:
    said = escape(call.get("description", call.get("summary", "")))
    parts = [f"<details><summary><code><b>{method}</b> {escape(path)}</code></summary><p>{said}</p>"]
    parameters = [one for one in call.get("parameters", ()) if one["in"] in ("path", "query")]
    if parameters:
        rows = "".join(
            _row(one["name"], one["schema"], required=one.get("required", False), where=one["in"]) for one in parameters
        )
        parts.append(f'<table class="people"><tbody>{rows}</tbody></table>')
    sent = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if sent is not None:
        parts.append(f"<p>Sends {_kind(sent)}.</p>")
    for status, answer in call.get("responses", {}).items():
        kinds = [_kind(one["schema"]) for one in answer.get("content", {}).values() if one.get("schema")]
        if status.startswith("2"):
            parts.append(f"<p>Answers <b>{escape(status)}</b>{': ' + ' or '.join(kinds) if kinds else ''}.</p>")
    refusals = ", ".join(status for status in call.get("responses", {}) if status[0] in "45")
    parts.append(f'<p class="small">May be refused with {escape(refusals)}.</p>' if refusals else "")
    return "".join(parts) + "</details>"


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = "".join(_row(one, kind, required=one in required) for one, kind in schema.get("properties", {}).items())
    said = escape(schema.get("description", ""))
    return (
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code></summary><p>{said}</p>'
        f'<table class="people"><tbody>{rows}</tbody></table></details>'
    )


def _row(name: str, schema: dict[str, Any], *, required: bool, where: str = "") -> str:
    must = "required" if required else f"default {json.dumps(schema['default'])}" if "default" in schema else ""
    example = f"such as {json.dumps(schema['examples'][0])}" if schema.get("examples") else ""
    about = "; ".join(escape(one) for one in (where and f"in the {where}", must, example) if one)
    return f"<tr><td><code>{escape(name)}</code></td><td>{_kind(schema)}</td><td class=small>{about}</td></tr>"


def _kind(schema: dict[str, Any]) -> str:
    """What a schema admits, in words."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(_kind(one) for one in options)
    if "enum" in schema or "const" in schema:
        return " or ".join(
            f"<code>{escape(json.dumps(one))}</code>" for one in schema.get("enum", [schema.get("const")])
        )
    bounds = ", ".join(f"{word} {escape(str(schema[name]))}" for name, word in WORDS.items() if name in schema)
    kind = schema.get("type", "anything")
    if kind == "array":
        kind = f"list of {_kind(schema.get('items', {}))}"
    elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        kind = f"object of {_kind(schema['additionalProperties'])}"
    return f"{kind} ({bounds})" if bounds else str(kind)
