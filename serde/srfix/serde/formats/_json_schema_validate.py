"""Validation of bodies and objects against the registered JSON Schema (jsonschema-rs; extra `json-schema`).

References are resolved among the texts that came with the schema, never over a network or from a file. Patterns run with a
bound on backtracking. What the library cannot bound is time: a schema of nested alternatives may take exponentially long,
so validate against schemas that you trust.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias
from urllib.parse import urldefrag

from srfix.serde.bounds import (
    JSON_LEVELS as _MAX_NESTING,
)
from srfix.serde.bounds import (
    JSON_TEXT_LEVELS as _MAX_TEXT_NESTING,
)
from srfix.serde.bounds import (
    PATTERN_STEPS as _BACKTRACK_LIMIT,
)
from srfix.serde.errors import DecodeError, EncodeError, SchemaError, UsageError
from srfix.serde.formats._json_parse import parse_exact
from srfix.serde.formats._json_schema_documents import reference_name

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["Validate", "validator"]

Validate: TypeAlias = Callable[[object], None]
"""Bytes are a body: raises DecodeError. Anything else is an object to be written: raises EncodeError."""

_PATTERN_SIZE: Final = 1 << 20
_DEFAULT_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_BASE: Final = "json-schema:///"


def validator(schema_text: str, *, references: tuple[str, ...] = ()) -> Validate:
    """What checks bodies (bytes) and objects against a schema; made once per schema.

    A schema that does not name its draft is one of draft 7, as for the registry.

    :param references: the texts that the schema refers to, by name (`ReferenceText`) or with an `$id`.
    :raises UsageError: if jsonschema-rs is not installed.
    :raises SchemaError: if the text is not a JSON Schema that can be validated against, or refers to what is not there.
    """
    names = tuple(map(reference_name, references))
    checker = _checker(schema_text, references, names)

    def validate(value: object) -> None:
        is_body = isinstance(value, bytes)
        document = parse_exact(value) if isinstance(value, bytes) else value
        if _may_nest_deep(value) and _nests_deeper(document, _MAX_NESTING):
            raise _failure(is_body, f"nests deeper than {_MAX_NESTING} levels, which is not validated", "$")
        try:
            error = next(checker.iter_errors(document), None)
        except (ValueError, TypeError, OverflowError) as failed:
            # Only an object that is not JSON, or half a surrogate pair.
            raise _failure(is_body, f"cannot be validated ({type(failed).__name__}: {failed})", "$") from failed
        if error is not None:
            path = _path(error.instance_path)
            raise _failure(is_body, f"is not what its schema says at {path}: {error.message}", path)

    return validate


def _failure(is_body: bool, what: str, path: str) -> DecodeError | EncodeError:
    if is_body:
        return DecodeError(f"The body {what}.", path=path)
    return EncodeError(f"The object {what}.", paths=(path,))


def _path(parts: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _may_nest_deep(value: object) -> bool:
    """Whether it is worth a walk: few bodies have so many brackets."""
    return not isinstance(value, bytes) or value.count(b"[") + value.count(b"{") > _MAX_NESTING or b"\0" in value


def _nests_deeper(value: object, levels: int) -> bool:
    layer: list[object] = [value]
    while layer and levels >= 0:
        levels -= 1
        inner: list[object] = []
        for part in layer:
            if isinstance(part, dict):
                inner.extend(part.values())
            elif isinstance(part, list | tuple):
                inner.extend(part)
        layer = inner
    return bool(layer)


@lru_cache(maxsize=64)
def _checker(text: str, references: tuple[str, ...], names: tuple[str | None, ...]) -> jsonschema_rs.Validator:
    try:
        import jsonschema_rs
    except ImportError as error:
        raise UsageError(
            "Validating JSON needs jsonschema-rs, which is not installed. Install srfix with the extra json-schema."
        ) from error
    schema = _parsed(text)
    documents = _Documents([(name, _parsed(part)) for name, part in zip(names, references, strict=True)])
    if not isinstance(schema.get("$schema"), str):
        schema = {"$schema": _DEFAULT_DRAFT, **schema}
    try:
        return jsonschema_rs.validator_for(
            schema,
            retriever=documents,
            mask="the value",
            pattern_options=jsonschema_rs.FancyRegexOptions(
                backtrack_limit=_BACKTRACK_LIMIT, size_limit=_PATTERN_SIZE, dfa_size_limit=_PATTERN_SIZE
            ),
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
        words = documents.missed or getattr(error, "message", None) or str(error)
        raise SchemaError(f"The schema cannot be validated against: {words}") from error


def _parsed(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The schema is not JSON ({type(error).__name__}: {error}).") from error
    if not isinstance(document, dict):
        raise SchemaError("The schema is not a JSON object, so it is no schema that a registry takes.")
    if _nests_deeper(document, _MAX_TEXT_NESTING):
        raise SchemaError(f"The schema nests deeper than {_MAX_TEXT_NESTING} levels, which is not validated against.")
    return document


class _Documents:
    """What the library asks for a document that a schema refers to."""

    def __init__(self, documents: Sequence[tuple[str | None, dict[str, Any]]]) -> None:
        self.missed = ""
        self._named: dict[str, dict[str, Any]] = {}
        self._unnamed: list[dict[str, Any]] = []
        for name, document in documents:
            identifier = document.get("$id", document.get("id"))
            if name is not None:
                self._named[name] = document
            elif isinstance(identifier, str):
                self._named[urldefrag(identifier).url] = document
            else:
                self._unnamed.append(document)

    def __call__(self, uri: str) -> dict[str, Any]:
        name = uri.removeprefix(_BASE)
        found = self._named.get(uri) or self._named.get(name)
        if found is None:
            # A relative name, resolved against the schema's own id.
            ends = [document for known, document in self._named.items() if uri.endswith(f"/{known}")]
            found = ends[0] if len(ends) == 1 else None
        if found is None and len(self._unnamed) == 1:
            found = self._named[name] = self._unnamed.pop()
        return found if found is not None else self._miss(name)

    def _miss(self, name: str) -> NoReturn:
        self.missed = (
            f"it refers to {name!r:.80}, which is not among the texts that came with it. Give the text that is registered "
            "under that name; nothing is fetched."
        )
        raise LookupError(self.missed)
