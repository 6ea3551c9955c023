"""The texts of a JSON Schema and its references: drafts, identifiers, and the targets of fragments."""

from __future__ import annotations

import json
from decimal import Decimal
from enum import Enum
from typing import TypeAlias
from urllib.parse import unquote, urljoin

from srfix.serde.bounds import JSON_SCHEMA_LEVELS as MAX_DEPTH
from srfix.serde.errors import SchemaError
from srfix.serde.printable import shortened

Object: TypeAlias = "dict[str, object]"


def parsed(text: str) -> Object:
    try:
        # orjson is not used, because a decimal's default must keep all its digits.
        document = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise SchemaError(f"The schema is not JSON ({error}).") from error
    except RecursionError:
        raise too_deep() from None
    if not isinstance(document, dict):
        raise SchemaError("The schema is not a JSON object. srfix uses no other JSON Schema.")
    return document


def too_deep() -> SchemaError:
    return SchemaError(f"The schema nests deeper than {MAX_DEPTH} levels, references included.")


class Draft(Enum):
    """The drafts of JSON Schema that Everit and the registry distinguish; MODERN means 2019-09 and 2020-12."""

    DRAFT_4 = 4
    DRAFT_6 = 6
    DRAFT_7 = 7
    MODERN = 2019

    @property
    def id_word(self) -> str:
        return "id" if self is Draft.DRAFT_4 else "$id"


_META_SCHEMAS = (
    ("json-schema.org/draft-04/schema", Draft.DRAFT_4),
    ("json-schema.org/schema", Draft.DRAFT_4),
    ("json-schema.org/draft-06/schema", Draft.DRAFT_6),
    ("json-schema.org/draft-07/schema", Draft.DRAFT_7),
    ("json-schema.org/draft/2019-09/schema", Draft.MODERN),
    ("json-schema.org/draft/2020-12/schema", Draft.MODERN),
)


def _draft(document: Object) -> Draft:
    named = document.get("$schema")
    rest = named.partition("://")[2] if isinstance(named, str) else ""
    return next((draft for start, draft in _META_SCHEMAS if rest.startswith(start)), Draft.DRAFT_7)


class Document:
    def __init__(self, root: Object, base: str) -> None:
        self.root = root
        self.draft = _draft(root)
        self.by_id: dict[str, Object] = {}
        identifier = root.get(self.draft.id_word)
        self.base = urljoin(base, identifier) if isinstance(identifier, str) else base
        stack: list[object] = [root]
        while stack:
            part = stack.pop()
            if isinstance(part, dict):
                for word in (self.draft.id_word, "$anchor") if self.draft is Draft.MODERN else (self.draft.id_word,):
                    named = part.get(word)
                    if isinstance(named, str):
                        self.by_id.setdefault(f"#{named}" if word == "$anchor" else named, part)
                stack.extend(part.values())
            elif isinstance(part, list):
                stack.extend(part)


def pointed_at(document: Document, fragment: str) -> object:
    """The target of a fragment (`#/definitions/a`, `#anchor`) in a document."""
    by_id = document.by_id.get(fragment)
    if by_id is not None:
        return by_id
    target: object = document.root
    for token in fragment.split("/")[1:]:
        key = unquote(token).replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(target):
            target = target[int(key)]
        else:
            raise SchemaError(f"The schema refers to {shown(fragment)}, which is not in it.")
    if not fragment.startswith("#/") and fragment != "#":
        raise SchemaError(
            f"The schema refers to {shown(fragment)}. This is not a JSON pointer, and no part of the schema has it as "
            "its id."
        )
    return target


def shown(value: object) -> str:
    return shortened(repr(value), 60)
