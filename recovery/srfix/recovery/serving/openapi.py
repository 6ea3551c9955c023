"""The description of the HTTP API, made from its routes and documents."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

import msgspec

from srfix.recovery.serving.api import ROUTES, ApiRoute
from srfix.recovery.serving.documents import ServedError, ServedRows

_REF: Final = "#/components/schemas/{name}"


def openapi(version: str) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    documents = [*dict.fromkeys(route.document for route in ROUTES), ServedError]
    references, components = msgspec.json.schema_components(documents, schema_hook=_anything, ref_template=_REF)
    by_document = dict(zip(documents, references, strict=True))
    return {
        "openapi": "3.1.0",
        "info": {"title": "srfix serve", "version": version, "description": "Rows of state stores. It writes nothing."},
        "paths": {route.path.replace(":path", ""): {"get": _operation(route, by_document)} for route in ROUTES},
        "components": {"schemas": components},
    }


def _anything(_type: type[object]) -> dict[str, Any]:
    """The schema of a decoded key or value."""
    return {"$comment": "Any JSON."}


def _operation(route: ApiRoute, documents: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    in_path = re.findall(r"{(\w+)", route.path)
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path]
    in_query = msgspec.json.schema(route.params)["$defs"][route.params.__name__]["properties"]
    parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in in_query.items()]
    schemas = {200: documents[route.document]} | dict.fromkeys(route.codes, documents[ServedError])
    if route.document is ServedRows:  # that there is no row is said with the position
        schemas[404] = {"oneOf": [documents[ServedRows], documents[ServedError]]}
    responses = {
        str(code): {"description": HTTPStatus(code).phrase, "content": {"application/json": {"schema": schema}}}
        for code, schema in schemas.items()
    }
    return {"summary": route.about, "parameters": parameters, "responses": responses}
