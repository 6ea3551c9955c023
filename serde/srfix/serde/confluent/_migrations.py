"""Between a writer's schema and the latest one stand versions, and their rules may rewrite records: those are refused."""

from __future__ import annotations

from srfix.serde.confluent._known import KnownSchema
from srfix.serde.confluent._registry import Registry
from srfix.serde.confluent._rules import Direction, check_rules
from srfix.serde.errors import SubjectVersionError
from srfix.serde.registry.errors import SchemaNotFoundError, SubjectNotFoundError

__all__ = ["check_migrations"]


def check_migrations(registry: Registry, subject: str, writer: KnownSchema, latest: KnownSchema) -> None:
    """Asks what confluent-kafka asks before it reads as the latest version has it (`BaseDeserializer._get_migrations`).

    :raises SubjectVersionError: if the subject does not hold the writer's schema.
    :raises UsageError: if a version between the two carries migration rules.
    """
    try:
        source = registry.lookup(subject, writer.given, deleted=True)
    except (SchemaNotFoundError, SubjectNotFoundError) as error:
        raise SubjectVersionError(
            f"A record is to be read as the latest version of subject {subject!r} has it, but that subject does not hold the "
            f"schema that it was written under (id {writer.schema_id}, error code {error.error_code}). Register it there, "
            "or read without use.latest.version.",
            schema_id=writer.schema_id,
            subject=subject,
            error_code=error.error_code,
        ) from error
    if source.version is None or latest.version is None:
        return
    direction = Direction.UPGRADE if source.version < latest.version else Direction.DOWNGRADE
    first, last = sorted((source.version, latest.version))
    for number in range(first + 1, last + 1):
        schema = latest.schema if number == latest.version else registry.version(subject, number, deleted=True).schema
        check_rules(schema.rule_set, direction, where=f"Version {number} of subject {subject!r}")
