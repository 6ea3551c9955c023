"""Documents beside their published JSON Schemas: strictly, so that a key which a schema lacks is an error."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import jsonschema_rs

from srfix.cli.documents import DOCUMENTS, document_named, schema_text

NAMES = [document.name for document in DOCUMENTS]


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    document = document_named(name)
    assert document is not None, f"{name} has no published schema"
    return jsonschema_rs.Draft202012Validator(closed(json.loads(schema_text(document))), validate_formats=True)


def closed(schema: Any) -> Any:
    """The schema with no other keys allowed than those that it names: readers must not rely on that, tests do."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {
        key: {name: closed(each) for name, each in value.items()} if key in {"properties", "$defs"} else closed(value)
        for key, value in schema.items()
    }
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        inner["additionalProperties"] = False
    return inner


def check(document: Any) -> None:
    """Fails unless it is as its schema says; of a journal's line, which names no schema, as the journal's."""
    is_line = "event" in document
    name = "journal" if is_line else str(document["schema"]).removeprefix("srfix.").partition("/")[0]
    wrong = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in validator(name).iter_errors(document)
    ]
    if wrong:
        raise AssertionError(f"{name}: {wrong}")


def check_printed(text: str) -> None:
    """Checks what a command printed, if that is one of srfix's documents, or a document a line."""
    if not text.startswith("{"):
        return
    try:
        documents = [json.loads(text)]
    except ValueError:
        try:
            documents = [json.loads(line) for line in text.splitlines() if line.startswith('{"schema": "srfix.')]
        except ValueError:
            return  # cut off on purpose
    for document in documents:
        if str(document.get("schema", "")).startswith("srfix."):
            check(document)
