"""A client for the schema registry's REST interface.

No read ever satisfies a write: only schemas by id are cached, and every look-up and every registration goes
to the server. (confluent-kafka's client answers `register_schema` from what `get_schema` has read, and a
repair through it sends nothing.)

Which requests are repeated after an attempt whose outcome is unknown (connection cut, no answer in time,
5xx)? All of them, because each is idempotent, or made so:

| request | why it may be repeated |
|---|---|
| reads, look-up, compatibility check | they change nothing |
| `register` | by content: what the subject already holds is answered with its id, before any other check |
| `set_config` | the same fields are merged again |
| `delete_config` | "there is none" to a repetition is success; to a first attempt it is an error |
| `delete_version` | "already deleted" to a repetition is success; to a first attempt it is an error |

A version number that somebody else's registration has given out anew between two attempts is live, so a
repeated permanent deletion of it is refused (40407). A refused connection, DNS, a TLS failure, 408 and 429
are no lost attempts: the request was certainly not carried out.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import TracebackType
from typing import Literal, Self

from srfix.serde.errors import UsageError
from srfix.serde.registry import _parse
from srfix.serde.registry._transport import Settings, Transport
from srfix.serde.registry._urls import parse_urls, path_of
from srfix.serde.registry.auth import BasicAuth
from srfix.serde.registry.errors import (
    NoSubjectCompatibilityError,
    NoSubjectModeError,
    SubjectNotFoundError,
    VersionNotFoundError,
    VersionSoftDeletedError,
)
from srfix.serde.registry.models import (
    CompatibilityCheck,
    Json,
    RegisteredSchema,
    Schema,
    SchemaVersion,
    SubjectConfig,
)
from srfix.serde.registry.retry import RetryPolicy
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId

__all__ = ["RegistryClient"]

_DELETED = {"deleted": "true"}


class RegistryClient:
    """Asks a schema registry (Confluent 5.5 to 8.x, Karapace, Apicurio's ccompat) and writes to it.

    Thread-safe, each thread over its own connections. Picklable: the copy starts with no connections and an
    empty cache; a literal password refuses to be pickled, `env:NAME` and `file:PATH` travel as references.
    Subjects may hold any character.

    Every method raises, besides what it names itself:

    :raises RegistryAnswerError: if the registry answers with an error; the subclass says which.
    :raises RegistryProtocolError: if the answer is no registry's, or a redirect (none is followed).
    :raises RegistryUnreachableError: if no URL answers.
    :raises SecretError: if the password cannot be read.
    :raises UsageError: if a subject is empty or not valid Unicode.
    """

    def __init__(
        self,
        urls: str | Sequence[str],
        *,
        auth: BasicAuth | None = None,
        ca_file: str | None = None,
        connect_timeout_s: float = 5.0,
        read_timeout_s: float = 30.0,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008  (frozen)
        cache_capacity: int = 1000,
    ) -> None:
        """Sends nothing yet.

        `urls` is one URL, several with commas between, or a sequence. User name and password in a URL become
        credentials for that URL and are shown nowhere. Neither proxies nor .netrc are taken from the
        environment.

        :raises UsageError: if a URL cannot be used, credentials are given twice, `ca_file` is not a PEM file,
            or a time-out is not positive.
        """
        if min(connect_timeout_s, read_timeout_s) <= 0:
            raise UsageError(
                f"The registry's time-outs must be longer than 0 s: connect {connect_timeout_s:g} s, "
                f"read {read_timeout_s:g} s."
            )
        if ca_file is not None:
            _check_ca_file(ca_file)
        self._start(
            Settings(
                endpoints=parse_urls(urls, auth),
                ca_file=ca_file,
                connect_timeout_s=connect_timeout_s,
                read_timeout_s=read_timeout_s,
                retry=retry,
            ),
            cache_capacity,
        )

    def _start(self, settings: Settings, cache_capacity: int) -> None:
        self._transport = Transport(settings)
        self._cache_capacity = cache_capacity
        # lru_cache: bounded, thread-safe, and an exception is never kept, so a schema that a repair has
        # registered is found by the next read. An id's content never changes, but an id means one schema per
        # context and the subject picks the context, so it is part of the key.
        self._schema_by_id: Callable[[int, str | None], RegisteredSchema] = lru_cache(maxsize=cache_capacity)(
            partial(_fetch_schema, self._transport)
        )

    # Reads

    @property
    def url(self) -> str:
        """The URLs, comma-joined, without secrets."""
        return ",".join(endpoint.url for endpoint in self._transport.settings.endpoints)

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        """The schema behind an id, from the cache if it was read before.

        `subject` only picks the context (7.0 on): an answer does not say that the subject holds the schema.

        :raises SchemaNotFoundError: if the registry does not know the id.
        """
        return self._schema_by_id(schema_id, subject)

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
        """The version under which a subject holds this content, as Connect's AvroConverter asks
        (`deleted=True`).

        Never cached. With an alias or contexts the answer may name another subject; with content that has two
        ids, another id: compare.

        :raises SubjectNotFoundError: if there is no such subject; without `deleted`, also if all is
            soft-deleted.
        :raises SchemaNotFoundError: if the subject does not hold this content.
        """
        answer = self._transport.request(
            "POST",
            path_of("subjects", subject),
            query=_DELETED if deleted else None,
            body=_schema_body(schema),
        )
        return _parse.schema_version(answer)

    def subjects(self, *, deleted: bool = False) -> tuple[Subject, ...]:
        """All subjects, in the registry's order; with `deleted` the soft-deleted ones too."""
        return _parse.subjects(self._transport.request("GET", "/subjects", query=_DELETED if deleted else None))

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        """A subject's version numbers; with `deleted` the soft-deleted ones too.

        :raises SubjectNotFoundError: if there are none.
        """
        path = path_of("subjects", subject, "versions")
        return _parse.versions(self._transport.request("GET", path, query=_DELETED if deleted else None))

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """One version of a subject; with `deleted` also a soft-deleted one.

        :raises SubjectNotFoundError: if there is no such subject.
        :raises VersionNotFoundError: if it has no such version.
        """
        path = path_of("subjects", subject, "versions", version)
        return _parse.schema_version(self._transport.request("GET", path, query=_DELETED if deleted else None))

    def config(self, subject: str | None = None) -> SubjectConfig | None:
        """A subject's own configuration, None if it has none; without a subject, the global one.

        Confluent fills in the level BACKWARD where a subject has other fields but no level of its own.
        """
        path = "/config" if subject is None else path_of("config", subject)
        try:
            return _parse.config(self._transport.request("GET", path))
        except (NoSubjectCompatibilityError, SubjectNotFoundError):  # 40401: Confluent before 6.0
            return None

    def effective_compatibility(self, subject: str) -> str:
        """The compatibility level that holds for a subject: its own, else the global one."""
        path = path_of("config", subject)
        try:
            answer = self._transport.request("GET", path, query={"defaultToGlobal": "true"})
        except (
            NoSubjectCompatibilityError,
            SubjectNotFoundError,
        ):  # a registry that does not know the parameter
            answer = self._transport.request("GET", "/config")
        level = _parse.config(answer).compatibility
        if level is None:
            raise answer.foreign("its compatibilityLevel is missing")
        return level

    def mode(self, subject: str | None = None) -> str | None:
        """A subject's own mode, None if it has none; without a subject, the global one."""
        path = "/mode" if subject is None else path_of("mode", subject)
        try:
            return _parse.mode(self._transport.request("GET", path))
        except (NoSubjectModeError, SubjectNotFoundError):  # 40401: Karapace
            return None

    def check_compatibility(
        self, subject: str, schema: Schema, *, version: int | Literal["latest"] | None = "latest"
    ) -> CompatibilityCheck:
        """Whether the registry would take a schema, with its reasons; `version=None` asks against all
        versions.

        A subject without versions takes any schema. Confluent says so; where a registry answers 40401 or
        40402 instead (Karapace, Apicurio), it is said here.

        :raises VersionNotFoundError: if the subject has no version of that number.
        :raises InvalidSchemaError: if it is not a schema.
        """
        path = path_of("compatibility", "subjects", subject, "versions", *(() if version is None else (version,)))
        try:
            answer = self._transport.request("POST", path, query={"verbose": "true"}, body=_schema_body(schema))
        except (SubjectNotFoundError, VersionNotFoundError):
            if isinstance(version, int):
                raise
            return CompatibilityCheck(is_compatible=True)
        return _parse.compatibility_check(answer)

    # Writes

    def register(self, subject: str, schema: Schema) -> SchemaId:
        """Registers a schema under a subject; its id, which another subject may have given it already.

        Always sent, whatever was read before. Content that the subject holds already changes nothing. The id
        can differ from the one the text was fetched by (content with two ids, inherited metadata): compare.

        :raises IncompatibleSchemaError: if the subject's compatibility level does not allow it.
        :raises InvalidSchemaError: if it is not a schema.
        :raises OperationNotPermittedError: if the mode forbids it.
        """
        path = path_of("subjects", subject, "versions")
        return _parse.schema_id(self._transport.request("POST", path, body=_schema_body(schema), write=True))

    def set_config(self, subject: str, fields: Mapping[str, Json]) -> None:
        """Sets fields of a subject's own configuration; Confluent keeps the fields that are not named.

        The level is `compatibility`; GET's spelling `compatibilityLevel` is understood too, so that what
        `config` read can be written back.

        :raises InvalidCompatibilityError: if the level is none.
        :raises OperationNotPermittedError: if the mode forbids it.
        :raises UsageError: if there is no field, or the level is given in both spellings.
        """
        body = {("compatibility" if name == "compatibilityLevel" else name): value for name, value in fields.items()}
        if not body or len(body) != len(fields):
            raise UsageError(
                f"The configuration for subject {subject!r} needs at least one field, and the level once: as "
                "compatibility or as compatibilityLevel."
            )
        self._transport.request("PUT", path_of("config", subject), body=body, write=True)

    def delete_config(self, subject: str) -> None:
        """Removes a subject's own configuration, all fields of it.

        :raises SubjectNotFoundError: if it has none (40401, whether the subject exists or not).
        :raises NoSubjectCompatibilityError: the same, from registries that answer 40408.
        """
        try:
            self._transport.request("DELETE", path_of("config", subject), write=True)
        except (NoSubjectCompatibilityError, SubjectNotFoundError) as error:
            if not error.earlier_attempt_lost:
                raise

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Deletes a version softly, or, `permanent`, a softly deleted one for good.

        Permanent deletion of the last version that holds a schema makes its id unreadable everywhere.

        :raises VersionSoftDeletedError: if it is soft-deleted already.
        :raises VersionNotSoftDeletedError: if `permanent` and it is live.
        :raises VersionNotFoundError: if the subject has no such version.
        :raises SubjectNotFoundError: if there is no such subject.
        :raises ReferenceExistsError: if another schema refers to it.
        """
        path = path_of("subjects", subject, "versions", version)
        try:
            self._transport.request("DELETE", path, query={"permanent": "true"} if permanent else None, write=True)
        except (SubjectNotFoundError, VersionNotFoundError, VersionSoftDeletedError) as error:
            # 40406 to a permanent deletion would mean that it is still there.
            done = not (permanent and isinstance(error, VersionSoftDeletedError))
            if not (done and error.earlier_attempt_lost):
                raise

    # Life cycle

    def close(self) -> None:
        """Closes the connections of all threads; a later request opens new ones."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __getstate__(self) -> tuple[Settings, int]:
        return self._transport.settings, self._cache_capacity

    def __setstate__(self, state: tuple[Settings, int]) -> None:
        self._start(*state)


def _check_ca_file(ca_file: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca_file)
    except OSError as error:  # ssl.SSLError is one
        reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(
            f"The CA file {ca_file!r} for the registry cannot be used ({reason}). "
            "It must be a PEM file of certificates."
        ) from error


def _fetch_schema(transport: Transport, schema_id: int, subject: str | None) -> RegisteredSchema:
    query = None if subject is None else {"subject": subject}
    return _parse.registered_schema(
        transport.request("GET", path_of("schemas", "ids", schema_id), query=query), schema_id
    )


def _schema_body(schema: Schema) -> dict[str, Json]:
    """The body of a registration or a look-up. AVRO and no references go unsaid, as in Confluent's own
    client: old registries refuse keys that they do not know."""
    body: dict[str, Json] = {"schema": schema.text}
    if schema.schema_type != "AVRO":
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [
            {"name": reference.name, "subject": reference.subject, "version": reference.version}
            for reference in schema.references
        ]
    return body
