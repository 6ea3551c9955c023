"""JSON Schema validation, by jsonschema-rs (`pip install srfix[json-schema]`), imported when the first validator is made.

Set up for the verdicts of confluent-kafka, which asks the Python library jsonschema: the newest draft where a schema
names none, `format` as an annotation only, nothing unknown refused. Unlike there, nothing is ever fetched from a URL in
a `$ref`, and patterns are ECMA 262's, as the specification has them, not Python's. Messages hold no values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NoReturn, cast

from srfix.serde.bounds import PATTERN_STEPS as _BACKTRACK_LIMIT
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.registry.models import Json

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["Misfit", "Validate", "validator"]

Misfit = tuple[str, str]
"""Where (`$.a[0]`) and in which words a document does not fit."""
Validate = Callable[[object], "Misfit | None"]
"""The first misfit of a document; None if it is valid."""


def validator(document: Json, references: Mapping[str, Json]) -> Validate:
    """A validator of documents.

    :param references: the schemas that it refers to, by the names that `$ref` has for them.
    :raises SchemaError: if it is not a JSON Schema, or refers to one that is not among the references.
    :raises UsageError: if jsonschema-rs is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise UsageError(
            "Validating takes the library jsonschema-rs, which is not installed: pip install 'srfix[json-schema]', or set "
            "validate to False."
        ) from error
    compiled = _compiled(jsonschema_rs, document, references)
    is_valid = compiled.is_valid

    def validate(value: object) -> Misfit | None:
        if is_valid(value):
            return None
        error = next(iter(compiled.iter_errors(value)), None)
        return ("$", "it is not valid") if error is None else (_path(error.instance_path), _short(error.message))

    return validate


def _compiled(library: object, document: Json, references: Mapping[str, Json]) -> jsonschema_rs.Validator:
    module = cast("jsonschema_rs", library)  # type: ignore[valid-type]
    schema = cast("dict[str, object] | bool", document)

    def retrieve(uri: str) -> Json:
        # A root with an $id makes a reference's name absolute. Longest first: "b/c.json" before "c.json".
        for name in sorted(references, key=len, reverse=True):
            if uri.endswith(f"/{name}"):
                return references[name]
        _missing(uri)

    try:
        registry = module.Registry(list(references.items()), retriever=retrieve)  # type: ignore[attr-defined]
        return module.validator_for(  # type: ignore[attr-defined, no-any-return]
            schema,
            validate_formats=False,
            registry=registry,
            retriever=retrieve,
            mask="the value",
            pattern_options=module.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),  # type: ignore[attr-defined]
        )
    except Exception as error:
        raise SchemaError(
            f"The schema text is not a JSON Schema that can be used: {_short(str(error).partition(chr(10))[0])}"
        ) from error


def _missing(uri: str) -> NoReturn:
    raise LookupError(f"{uri} is not among the schema's references, and nothing is fetched")


def _path(parts: list[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


_LONGEST: Final = 300


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
