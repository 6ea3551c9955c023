"""Reading schemas, subjects and versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Literal

from srfix.serde.registry import parse as _parse
from srfix.serde.registry.base import ClientBase, ask_by_id, flags, schema_body
from srfix.serde.registry.http.answer import Answer
from srfix.serde.registry.http.urls import path_of
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.schemas.models import CompatibilityCheck, RegisteredSchema, Schema, SchemaVersion, SubjectVersion
from srfix.serde.subjects.names import Role, Subject, context_alone, has_prefix
from srfix.serde.wire import SchemaId, given_schema_id


class SchemaReads(ClientBase):
    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        """The schema with an id, from the cache if it was read before.

        `subject` only chooses the context (since 7.0), and only the context is sent: the subject need not hold the id.
        Readers send the whole subject, and in a named context they fail if it does not hold the id (`gives_id_to`).

        If the registry does not know an id, this is also remembered, for half a minute (`UnknownIdBounds`), or until a
        client of this process writes.

        :raises SchemaNotFoundError: if the context does not know the id.
        :raises ImpossibleSchemaIdError: if no registry assigns such an id; then no request is sent.
        """
        key = (given_schema_id(schema_id), context_alone(subject))
        return self._unknown_ids.unless_known(key, lambda: self._schema_by_id(*key))

    def gives_id_to(self, subject: str, schema_id: int) -> bool:
        """Whether the registry gives an id's schema to a reader that sends its subject (`GET
        /schemas/ids/{id}?subject=`), like Confluent's deserializers. Never cached.

        In a named context, it does so only for a subject that holds the id (soft-deleted versions count). In the
        default context it answers for any id, but not always with the default context's schema, so there the result
        says little.

        :raises ImpossibleSchemaIdError: if no registry assigns such an id; then no request is sent.
        """
        try:
            ask_by_id(self._transport, given_schema_id(schema_id), Subject(subject))
        except SchemaNotFoundError:
            return False
        return True

    def schema_by_guid(self, guid: str) -> Schema:
        """The schema with a GUID, which some framings carry instead of an id (Confluent since 8.0). It is not cached,
        but an unknown GUID is remembered like an unknown id.

        :raises SchemaNotFoundError: if the registry does not know the GUID.
        :raises EndpointNotSupportedError: if the registry knows no GUIDs.
        """
        path = path_of("schemas", "guids", guid)
        return self._unknown_ids.unless_known(guid, lambda: _parse.schema(self._request_if_there("GET", path)))

    def ids_of_guid(self, guid: str) -> Mapping[str, SchemaId]:
        """For each context, the id of the content with a GUID (Confluent since 8.0); empty if no version holds it.
        Never cached.

        :raises SchemaNotFoundError: if the registry does not know the GUID.
        :raises EndpointNotSupportedError: if the registry knows no GUIDs.
        """
        return _parse.ids_by_context(self._request_if_there("GET", path_of("schemas", "guids", guid, "ids")))

    def schemas(
        self, *, deleted: bool = False, prefix: str | None = None, latest_only: bool = False
    ) -> Iterator[SchemaVersion]:
        """Every version of every subject with its id and text, page by page (`GET /schemas`, Confluent 7.0 on).

        With `deleted` also the soft-deleted ones; nothing in them shows that they are deleted. `prefix` is as in
        `subjects`. The first request is sent at once, the others during the iteration, so schemas that are registered
        or deleted in the meantime may be missed.

        :raises EndpointNotSupportedError: if the registry does not list schemas (before 7.0), or lists them without
            their subjects (Apicurio). Then read subject by subject.
        """

        def parse(answer: Answer) -> tuple[SchemaVersion, ...]:
            if _parse.lists_bare_schemas(answer):
                raise EndpointNotSupportedError(
                    "GET /schemas",
                    why="it lists schemas without subject, version and id",
                    instead="List the subjects, then the versions of each.",
                )
            return _parse.schema_versions(answer)

        query = {**flags(deleted=deleted, latestOnly=latest_only), **_searched(prefix)}
        ask = self._request_if_there
        listing = self._listed("/schemas", query, parse, lambda version: (version.subject, version.version), ask)
        first = list(islice(listing, 1))
        return (version for version in chain(first, listing) if prefix is None or has_prefix(version.subject, prefix))

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False, normalize: bool = False) -> SchemaVersion:
        """The version under which a subject holds this content. Connect's AvroConverter asks with `deleted=True`.

        Never cached. With an alias or contexts, the answer may name another subject (`answered_elsewhere`); if the
        content has two ids, it may name another id. So compare them.

        :raises SubjectNotFoundError: if there is no such subject; without `deleted`, also if all its versions are
            soft-deleted.
        :raises SchemaNotFoundError: if the subject does not hold this content.
        """
        query = flags(deleted=deleted, normalize=normalize)
        path, body = path_of("subjects", subject), schema_body(schema)
        return _parse.schema_version(self._transport.request("POST", path, query=query, body=body))

    def subjects(self, *, deleted: bool = False, prefix: str | None = None) -> tuple[Subject, ...]:
        """All subjects of all contexts, in the registry's order; with `deleted` also the soft-deleted ones.

        `prefix` keeps only subjects whose names begin with it: in the default context, in one context (`:.ctx:a`) or in
        all (`:*:a`). If the registry ignores the prefix (Karapace, Apicurio), srfix filters the subjects itself.
        """
        query = {**flags(deleted=deleted), **_searched(prefix)}
        listing = self._listed("/subjects", query, _parse.subjects, lambda subject: subject)
        return tuple(subject for subject in listing if prefix is None or has_prefix(subject, prefix))

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        """A subject's version numbers; with `deleted` also the soft-deleted ones.

        :raises SubjectNotFoundError: if there are none.
        """
        path = path_of("subjects", subject, "versions")
        return tuple(self._listed(path, flags(deleted=deleted), _parse.versions, lambda version: version))

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """One version of a subject; with `deleted` it may be a soft-deleted one.

        :raises SubjectNotFoundError: if there is no such subject.
        :raises VersionNotFoundError: if it has no such version.
        """
        path = path_of("subjects", subject, "versions", version)
        return _parse.schema_version(self._transport.request("GET", path, query=flags(deleted=deleted)))

    def latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = False
    ) -> SchemaVersion:
        """The highest version of a subject whose metadata has all of these properties (Confluent 7.4 on).

        :raises SubjectNotFoundError: if there is no such subject.
        :raises VersionNotFoundError: if none of its versions has them.
        :raises EndpointNotSupportedError: if the registry does not search by metadata.
        """
        query = {**flags(deleted=deleted), "key": list(properties), "value": list(properties.values())}
        return _parse.schema_version(
            self._request_if_there("GET", path_of("subjects", subject, "metadata"), query=query)
        )

    def associated_subjects(self, topic: str, role: Role, *, namespace: str = "-") -> tuple[Subject, ...]:
        """The subjects that are associated with a topic's keys or values (Confluent 8.2 on).

        :param namespace: the Kafka cluster's id; `-` stands for any.
        :raises EndpointNotSupportedError: if the registry keeps no associations.
        """
        query = {"resourceType": "topic", "associationType": role.value}
        answer = self._request_if_there("GET", path_of("associations", "resources", namespace, topic), query=query)
        return _parse.subjects_of_associations(answer)

    def referenced_by(self, subject: str, version: int | Literal["latest"]) -> tuple[SchemaId, ...]:
        """The ids of the live schemas that refer to a version.

        :raises SubjectNotFoundError: if there is no such subject.
        :raises VersionNotFoundError: if it has no such version.
        """
        path = path_of("subjects", subject, "versions", version, "referencedby")
        return _parse.schema_ids(self._transport.request("GET", path))

    def subjects_of_id(
        self, schema_id: int, *, deleted: bool = False, subject: str | None = None
    ) -> tuple[Subject, ...] | None:
        """Subjects that seem to hold an id; None if the registry does not say (Karapace, old registries).

        This is only a hint, not a membership test: if a content has two ids, Confluent answers by content (seen on
        7.9.9 and 8.2.1). Use `lookup` for a test. `subject` only chooses the context.

        :raises SchemaNotFoundError: if the registry does not know the id (Karapace answers nothing instead).
        :raises ImpossibleSchemaIdError: if no registry assigns such an id; then no request is sent.
        """
        answer = self._of_id(schema_id, "subjects", deleted=deleted, subject=subject)
        return None if answer is None else _parse.subjects(answer)

    def versions_of_id(
        self, schema_id: int, *, deleted: bool = False, subject: str | None = None
    ) -> tuple[SubjectVersion, ...] | None:
        """Subjects and versions that seem to hold an id; None if the registry does not say.

        This is only a hint, not a membership test, like `subjects_of_id`.

        :raises SchemaNotFoundError: if the registry does not know the id (Karapace answers nothing instead).
        :raises ImpossibleSchemaIdError: if no registry assigns such an id; then no request is sent.
        """
        answer = self._of_id(schema_id, "versions", deleted=deleted, subject=subject)
        return None if answer is None else _parse.subject_versions(answer)

    def _of_id(self, schema_id: int, what: str, *, deleted: bool, subject: str | None) -> Answer | None:
        given_schema_id(schema_id)
        context = context_alone(subject)
        query = {**flags(deleted=deleted), **({} if context is None else {"subject": context})}
        try:
            return self._request_if_there("GET", path_of("schemas", "ids", schema_id, what), query=query)
        except EndpointNotSupportedError:
            return None

    def check_compatibility(
        self, subject: str, schema: Schema, *, version: int | Literal["latest"] | None = "latest"
    ) -> CompatibilityCheck:
        """Whether the registry would accept a schema, with its reasons; `version=None` compares with all versions.

        A subject without versions accepts any schema. Confluent answers so; if a registry answers 40401 or 40402
        instead (Karapace, Apicurio), this method gives the same result.

        :raises VersionNotFoundError: if the subject has no version with that number.
        :raises InvalidSchemaError: if it is not a schema.
        """
        path = path_of("compatibility", "subjects", subject, "versions", *(() if version is None else (version,)))
        try:
            answer = self._transport.request("POST", path, query={"verbose": "true"}, body=schema_body(schema))
        except (SubjectNotFoundError, VersionNotFoundError):
            if isinstance(version, int):
                raise
            return CompatibilityCheck(is_compatible=True)
        return _parse.compatibility_check(answer)


def _searched(prefix: str | None) -> dict[str, str]:
    return {} if prefix is None else {"subjectPrefix": prefix}
