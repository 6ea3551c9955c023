"""Parses a registry's JSON into models: strict about required keys, tolerant of keys that newer registries add."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from srfix.serde.registry.http.answer import Answer
from srfix.serde.schemas.models import (
    CompatibilityCheck,
    Json,
    RegisteredSchema,
    Registration,
    Schema,
    SchemaReference,
    SchemaVersion,
    SubjectConfig,
    SubjectVersion,
)
from srfix.serde.subjects.names import Subject, split_context
from srfix.serde.wire import SchemaId, is_schema_id


def registered_schema(answer: Answer, asked_id: int) -> RegisteredSchema:
    """`GET /schemas/ids/{id}`; the answer itself need not repeat the id."""
    return RegisteredSchema(schema_id=SchemaId(asked_id), schema=_schema(answer, _object(answer)))


def schema_version(answer: Answer) -> SchemaVersion:
    """`GET /subjects/{s}/versions/{v}` and the look-up, `POST /subjects/{s}`."""
    return _schema_version(answer, _object(answer))


def schema_versions(answer: Answer) -> tuple[SchemaVersion, ...]:
    return tuple(_schema_version(answer, item) for item in _objects(answer))


def lists_bare_schemas(answer: Answer) -> bool:
    """True if the answer to `GET /schemas` does not say where the schemas are, as in Apicurio's answer."""
    items = _list(answer)
    return any(isinstance(item, dict) and "schema" in item and "subject" not in item for item in items)


def schema(answer: Answer) -> Schema:
    return _schema(answer, _object(answer))


def ids_by_context(answer: Answer) -> dict[str, SchemaId]:
    return {_text(answer, item, "context"): _schema_id(answer, item) for item in _objects(answer)}


def registration(answer: Answer) -> Registration:
    body = _object(answer)
    version, guid = body.get("version"), body.get("guid")
    return Registration(
        schema_id=_schema_id(answer, body),
        version=cast(int, version) if _is_number(version) else None,
        guid=guid if isinstance(guid, str) else None,
    )


def schema_ids(answer: Answer) -> tuple[SchemaId, ...]:
    ids = _list_of(answer, lambda item: _is_number(item) and is_schema_id(cast(int, item)), "ids")
    return tuple(SchemaId(cast(int, item)) for item in ids)


def subject_versions(answer: Answer) -> tuple[SubjectVersion, ...]:
    pairs = ((_subject_of(answer, item), _number(answer, item, "version")) for item in _objects(answer))
    return tuple(SubjectVersion(subject=subject, version=version) for subject, version in pairs)


def contexts(answer: Answer) -> tuple[str, ...]:
    """`GET /contexts`; Apicurio puts colons around a name."""
    return tuple(str(item).strip(":") for item in _list_of(answer, lambda item: isinstance(item, str), "contexts"))


def subjects_of_associations(answer: Answer) -> tuple[Subject, ...]:
    return tuple(_subject_of(answer, item) for item in _objects(answer))


def subjects(answer: Answer) -> tuple[Subject, ...]:
    """`GET /subjects`; some registries send null for an empty list."""
    return tuple(
        _subject(answer, str(item)) for item in _list_of(answer, lambda item: isinstance(item, str), "subject names")
    )


def versions(answer: Answer) -> tuple[int, ...]:
    """`GET /subjects/{s}/versions`; some registries send null for an empty list."""
    return tuple(cast(list[int], _list_of(answer, _is_number, "version numbers")))


def config(answer: Answer) -> SubjectConfig:
    return SubjectConfig(fields=_object(answer))


def removed_level(answer: Answer) -> str | None:
    """`DELETE /config/{s}`: the removed level, if the registry names it."""
    body = answer.json()
    level = body.get("compatibilityLevel") if isinstance(body, dict) else None
    return level if isinstance(level, str) else None


def text(answer: Answer, key: str) -> str:
    return _text(answer, _object(answer), key)


def compatibility_check(answer: Answer) -> CompatibilityCheck:
    """`POST /compatibility/subjects/{s}/versions[/{v}]?verbose=true`; `messages` may be absent or null."""
    body = _object(answer)
    verdict = body.get("is_compatible")
    if not isinstance(verdict, bool):
        raise answer.foreign("its is_compatible is not true or false")
    messages = body.get("messages")
    listed = messages if isinstance(messages, list) else [] if messages is None else [messages]
    return CompatibilityCheck(is_compatible=verdict, messages=tuple(str(message) for message in listed))


def _subject(answer: Answer, name: str) -> Subject:
    """The subject's name for this URL: at a context's URL, that context is left out of the name."""
    context, local = split_context(name)
    return Subject(local if local and context == answer.context else name)


def _subject_of(answer: Answer, body: dict[str, Json]) -> Subject:
    return _subject(answer, _text(answer, body, "subject"))


def _schema_version(answer: Answer, body: dict[str, Json]) -> SchemaVersion:
    metadata, guid, written_ms = map(body.get, ("metadata", "guid", "ts"))
    return SchemaVersion(
        subject=_subject_of(answer, body),
        version=_number(answer, body, "version"),
        schema_id=_schema_id(answer, body),
        schema=_schema(answer, body),
        metadata=metadata if isinstance(metadata, dict) else None,
        guid=guid if isinstance(guid, str) else None,
        written_ms=cast(int, written_ms) if _is_number(written_ms) else None,
    )


def _schema(answer: Answer, body: dict[str, Json]) -> Schema:
    rules = body.get("ruleSet")
    return Schema(
        text=_text(answer, body, "schema"),
        schema_type=_text(answer, body, "schemaType") if body.get("schemaType") is not None else "AVRO",
        references=_references(answer, body.get("references")),
        rule_set=rules if isinstance(rules, dict) else None,
    )


def _references(answer: Answer, items: Json) -> tuple[SchemaReference, ...]:
    if items is None:
        return ()
    if not isinstance(items, list):
        raise answer.foreign("its references are not a list")
    return tuple(
        SchemaReference(
            name=_text(answer, item, "name"),
            subject=_text(answer, item, "subject"),
            version=_number(answer, item, "version"),
        )
        for item in _all_objects(answer, items, "references")
    )


def _object(answer: Answer) -> dict[str, Json]:
    body = answer.json()
    if not isinstance(body, dict):
        raise answer.foreign("its body is not a JSON object")
    return body


def _objects(answer: Answer) -> Iterator[dict[str, Json]]:
    return _all_objects(answer, _list(answer), "items")


def _all_objects(answer: Answer, items: list[Json], what: str) -> Iterator[dict[str, Json]]:
    for item in items:
        if not isinstance(item, dict):
            raise answer.foreign(f"one of its {what} is not an object")
        yield item


def _list(answer: Answer) -> list[Json]:
    body = answer.json()
    if body is None:
        return []
    if not isinstance(body, list):
        raise answer.foreign("its body is not a JSON list")
    return body


def _list_of(answer: Answer, is_one: Callable[[Json], bool], what: str) -> list[Json]:
    items = _list(answer)
    if not all(map(is_one, items)):
        raise answer.foreign(f"it is not a list of {what}")
    return items


def _text(answer: Answer, body: dict[str, Json], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise answer.foreign(f"its {key} is missing or not a text")
    return value


def _number(answer: Answer, body: dict[str, Json], key: str) -> int:
    value = body.get(key)
    if not _is_number(value):
        raise answer.foreign(f"its {key} is missing or not a number")
    return cast(int, value)


def _schema_id(answer: Answer, body: dict[str, Json]) -> SchemaId:
    schema_id = _number(answer, body, "id")
    if not is_schema_id(schema_id):
        raise answer.foreign(f"its id is {schema_id}, which no registry assigns")
    return SchemaId(schema_id)


def _is_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
