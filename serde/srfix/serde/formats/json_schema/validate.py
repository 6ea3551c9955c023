"""Validation of bodies and objects against the registered JSON Schema (jsonschema-rs; extra `json-schema`). Nothing is
fetched, and patterns run with a limit on backtracking. But the library cannot limit the time: a schema of nested
alternatives may take exponential time, so use only schemas that you trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import urldefrag

from srfix.serde.bounds import JSON_LEVELS, JSON_TEXT_LEVELS, PATTERN_STEPS
from srfix.serde.errors import DecodeError, EncodeError, SchemaError, UsageError
from srfix.serde.formats.interface import Validate
from srfix.serde.formats.json import parse_exact
from srfix.serde.formats.json_schema.documents import Object, parsed
from srfix.serde.formats.rows.value_check import nests_deeper
from srfix.serde.printable import shortened
from srfix.serde.schemas.models import Json
from srfix.serde.schemas.references import reference_name

if TYPE_CHECKING:
    import jsonschema_rs


FirstMisfit: TypeAlias = "Callable[[object], tuple[str, str] | None]"
"""The place (`$.a[0]`) and the reason why a document does not match; None if it matches."""

_PATTERN_SIZE: Final = 1 << 20
_DEFAULT_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_BASE: Final = "json-schema:///"


def validator(schema_text: str, *, references: tuple[str, ...] = ()) -> Validate:
    """A check of bodies (bytes) and objects; a schema without a draft counts as draft 7, as in the registry."""
    checker = _checker(schema_text, references)

    def validate(value: object) -> None:
        is_body = isinstance(value, bytes)
        document = parse_exact(value) if isinstance(value, bytes) else value
        if _may_nest_deep(value) and nests_deeper(document, JSON_LEVELS):
            raise _failure(is_body, f"nests deeper than {JSON_LEVELS} levels, so srfix does not validate it", "$")
        try:
            error = next(checker.iter_errors(document), None)
        except (ValueError, TypeError, OverflowError) as failed:
            # This fails only for an object that is not JSON, or for half a surrogate pair.
            raise _failure(is_body, f"cannot be validated ({type(failed).__name__}: {failed})", "$") from failed
        if error is not None:
            path = _path(error.instance_path)
            raise _failure(is_body, f"does not match its schema at {path}: {error.message}", path)

    return validate


def first_misfit_of(document: Json, references: Mapping[str, Json]) -> FirstMisfit:
    """A check like confluent-kafka's (newest draft, `format` an annotation), but with ECMA 262 and without fetching."""

    def retrieve(uri: str) -> Json:
        # A root with an $id makes a reference's name absolute. Longest first: "b/c.json" before "c.json".
        for name in sorted(references, key=len, reverse=True):
            if uri.endswith(f"/{name}"):
                return references[name]
        raise LookupError(uri)

    def refusal(error: Exception) -> str:
        return f"The schema text is not a JSON Schema that can be used: {_reason(error)}"

    missing = (
        "Validation needs the library jsonschema-rs, which is not installed: pip install 'srfix[json-schema]', or set "
        "validate to False."
    )
    checker = _compiled(
        document, retrieve, refusal=refusal, missing=missing, documents=references, validate_formats=False
    )

    is_valid = checker.is_valid

    def first_misfit(value: object) -> tuple[str, str] | None:
        if is_valid(value):
            return None
        error = next(iter(checker.iter_errors(value)), None)
        return ("$", "it is not valid") if error is None else (_path(error.instance_path), shortened(error.message))

    return first_misfit


def _failure(is_body: bool, what: str, path: str) -> DecodeError | EncodeError:
    if is_body:
        return DecodeError(f"The body {what}.", path=path)
    return EncodeError(f"The object {what}.", paths=(path,))


def _path(parts: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _reason(error: Exception) -> str:
    """Where the schema cannot be used, and why. The registry of the library's words is its own, of documents."""
    words = str(getattr(error, "message", error)).partition("\n")[0]
    resource, is_unknown, _ = words.partition(" is not present in a registry and ")
    if is_unknown:
        uri = resource.removeprefix("Resource ")
        words = f"it refers to {uri}, which is not among the schema's references; srfix fetches nothing."
    parts = getattr(error, "instance_path", ())
    return shortened(f"at {_path(parts)}, {words}" if parts else words)


def _may_nest_deep(value: object) -> bool:
    """Whether the nesting must be checked: few bodies have so many brackets."""
    return not isinstance(value, bytes) or value.count(b"[") + value.count(b"{") > JSON_LEVELS or b"\0" in value


@lru_cache(maxsize=64)
def _checker(text: str, references: tuple[str, ...]) -> jsonschema_rs.Validator:
    schema = _parsed(text)
    documents = _Documents([(reference_name(part), _parsed(part)) for part in references])
    if not isinstance(schema.get("$schema"), str):
        schema = {"$schema": _DEFAULT_DRAFT, **schema}

    def refusal(error: Exception) -> str:
        return f"srfix cannot use this schema to validate: {documents.missed or _reason(error)}"

    sizes = {"size_limit": _PATTERN_SIZE, "dfa_size_limit": _PATTERN_SIZE}
    missing = "Validating JSON needs jsonschema-rs, which is not installed. Install srfix with the extra json-schema."
    return _compiled(schema, documents, refusal=refusal, missing=missing, sizes=sizes)


def _compiled(
    schema: object,
    retrieve: Callable[[str], Any],
    *,
    refusal: Callable[[Exception], str],
    missing: str,
    documents: Mapping[str, Json] = MappingProxyType({}),
    sizes: Mapping[str, int] = MappingProxyType({}),
    validate_formats: bool | None = None,
) -> jsonschema_rs.Validator:
    """A validator that fetches nothing, quotes no value, and stops patterns that backtrack too long."""
    try:
        import jsonschema_rs
    except ImportError as error:
        raise UsageError(missing) from error
    try:
        return jsonschema_rs.validator_for(
            cast("dict[str, Any]", schema),
            retriever=retrieve,
            registry=jsonschema_rs.Registry(list(documents.items()), retriever=retrieve) if documents else None,
            validate_formats=validate_formats,
            mask="the value",
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=PATTERN_STEPS, **sizes),
        )
    except Exception as error:
        raise SchemaError(refusal(error)) from error


def _parsed(text: str) -> Object:
    document = parsed(text)
    if nests_deeper(document, JSON_TEXT_LEVELS):
        raise SchemaError(
            f"The schema nests deeper than {JSON_TEXT_LEVELS} levels; srfix does not validate with such a schema."
        )
    return document


class _Documents:
    def __init__(self, documents: Sequence[tuple[str | None, Object]]) -> None:
        self.missed = ""
        self._named: dict[str, Object] = {}
        self._unnamed: list[Object] = []
        for name, document in documents:
            identifier = document.get("$id", document.get("id"))
            if name is not None:
                self._named[name] = document
            elif isinstance(identifier, str):
                self._named[urldefrag(identifier).url] = document
            else:
                self._unnamed.append(document)

    def __call__(self, uri: str) -> Object:
        name = uri.removeprefix(_BASE)
        target = self._named.get(uri) or self._named.get(name)
        if target is None:
            # A relative name, resolved against the schema's own id.
            ends = [document for document_name, document in self._named.items() if uri.endswith(f"/{document_name}")]
            target = ends[0] if len(ends) == 1 else None
        if target is None and len(self._unnamed) == 1:
            target = self._named[name] = self._unnamed.pop()
        if target is not None:
            return target
        self.missed = (
            f"it refers to {name!r:.80}, which is not among the texts that came with it. Pass the text that is registered "
            "under that name, too; srfix fetches nothing."
        )
        raise LookupError(self.missed)
