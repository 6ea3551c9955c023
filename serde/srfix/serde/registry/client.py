"""A client for the schema registry's REST interface.

A cached read never replaces a write: only schemas by id are cached, and every look-up and every registration goes to
the server. (confluent-kafka's client answers `register_schema` from the cache of `get_schema`, so a repair through it
would send nothing.)

Which requests are repeated after an attempt whose outcome is unknown (connection cut, no answer in time, 5xx)? All of
them, because each one is idempotent, or this client makes it so:

| request | why it may be repeated |
|---|---|
| reads, look-up, compatibility check | they change nothing |
| `register`, `register_version` | by content: if the subject holds the content, the registry returns its id before any check |
| `register_with_id` | the same content with the same id under the same subject is accepted without a change |
| `set_config`, `set_mode` | the same fields are merged again, the same mode is set again |
| `delete_config`, `delete_mode` | "there is none" to a repetition is success; to a first attempt it is an error |
| `delete_version`, `delete_subject` | "already deleted" to a repetition is success; to a first attempt it is an error |

If another client's registration has reused a version number between two attempts, that version is live, so the registry
refuses a repeated permanent deletion (40407). A refused connection, a DNS error, a TLS failure, 408 and 429 do not
count as unknown outcomes: the request was certainly not carried out.
"""

from __future__ import annotations

from collections.abc import Mapping

from srfix.serde.registry import parse as _parse
from srfix.serde.registry.base import flags, schema_body
from srfix.serde.registry.http.urls import path_of
from srfix.serde.registry.schema_reads import SchemaReads
from srfix.serde.registry.settings_access import SettingsAccess
from srfix.serde.schemas.errors import (
    RegistryAnswerError,
    SubjectNotFoundError,
    SubjectSoftDeletedError,
    VersionNotFoundError,
    VersionSoftDeletedError,
)
from srfix.serde.schemas.models import Json, Registration, Schema
from srfix.serde.wire import SchemaId, given_schema_id


class RegistryClient(SchemaReads, SettingsAccess):
    """Reads from and writes to a schema registry (Confluent 5.5 to 8.x, Karapace, Apicurio's ccompat).

    Thread-safe; each thread has its own connections. Picklable: the copy starts without connections and with an empty
    cache. A literal password or token cannot be pickled; `env:NAME` and `file:PATH` are pickled as references. Subjects
    may contain any character.

    Every method may raise these errors, besides those that it lists:

    :raises RegistryAnswerError: if the registry answers with an error; the subclass names it.
    :raises RegistryProtocolError: if the answer does not come from a registry, or is a redirect (srfix follows none).
    :raises RegistryUnreachableError: if no URL answers.
    :raises SecretError: if a password or token cannot be read.
    :raises UsageError: if a subject is empty or not valid Unicode.
    """

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        metadata: Mapping[str, Json] | None = None,
        normalize: bool = False,
    ) -> SchemaId:
        """Registers a schema under a subject, and returns its id, which the schema may already have from another
        subject.

        The request is always sent, whatever was read before. If the subject already holds the content, nothing changes.
        The id can differ from the id with which the text was fetched, if the content has two ids, or because of
        metadata. Without `metadata` (Confluent since 7.4: `{"properties": {…}}`) the schema inherits the metadata of
        the subject's latest version, and metadata is part of a schema's identity. So compare the ids.

        :raises IncompatibleSchemaError: if the subject's compatibility level does not allow it.
        :raises InvalidSchemaError: if the text is not a schema.
        :raises OperationNotPermittedError: if the mode forbids it.
        """
        return self.register_version(subject, schema, metadata=metadata, normalize=normalize).schema_id

    def register_version(
        self,
        subject: str,
        schema: Schema,
        *,
        metadata: Mapping[str, Json] | None = None,
        normalize: bool = False,
    ) -> Registration:
        """Like `register`, but returns the whole answer of the registry.

        :raises IncompatibleSchemaError: if the subject's compatibility level does not allow it.
        :raises InvalidSchemaError: if the text is not a schema.
        :raises OperationNotPermittedError: if the mode forbids it.
        """
        return self._register(subject, schema_body(schema), metadata, normalize=normalize)

    def register_with_id(
        self, subject: str, schema: Schema, schema_id: int, *, metadata: Mapping[str, Json] | None = None
    ) -> Registration:
        """Registers a schema under a subject with exactly this id. The subject must be in IMPORT (`set_mode`).

        If the content already has another id, the registry still returns that id for the subjects that hold it, but the
        next registration of the content under a new subject gets this id: the last write decides (seen on 7.9.9 and
        8.3.1).

        The registry does not check compatibility, and the schema inherits no metadata. Compare the id: Karapace and
        Apicurio ignore it and register anyway, with or without IMPORT.

        :raises OperationNotPermittedError: if the subject is not in IMPORT, or the id holds another schema.
        :raises InvalidSchemaError: if the text is not a schema.
        :raises ImpossibleSchemaIdError: if no registry assigns such an id; then no request is sent.
        """
        return self._register(subject, {**schema_body(schema), "id": given_schema_id(schema_id)}, metadata)

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Soft-deletes a version; with `permanent`, deletes a soft-deleted version for good.

        Permanent deletion of the last version that holds a schema makes its id unreadable everywhere.

        :raises VersionSoftDeletedError: if the version is already soft-deleted.
        :raises VersionNotSoftDeletedError: if `permanent` is set and the version is live.
        :raises VersionNotFoundError: if the subject has no such version.
        :raises SubjectNotFoundError: if there is no such subject.
        :raises ReferenceExistsError: if another schema refers to it.
        """
        self._delete(path_of("subjects", subject, "versions", version), permanent=permanent)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> None:
        """Soft-deletes a subject; with `permanent`, deletes a soft-deleted subject for good, with its configuration and
        mode.

        Permanent deletion of the last version that holds a schema makes its id unreadable everywhere.

        :raises SubjectSoftDeletedError: if the subject is already soft-deleted.
        :raises SubjectNotSoftDeletedError: if `permanent` is set and the subject is live.
        :raises SubjectNotFoundError: if there is no such subject.
        :raises ReferenceExistsError: if another schema refers to one of its versions.
        """
        self._delete(path_of("subjects", subject), permanent=permanent)

    def _register(
        self, subject: str, body: dict[str, Json], metadata: Mapping[str, Json] | None, *, normalize: bool = False
    ) -> Registration:
        if metadata is not None:
            body["metadata"] = dict(metadata)
        path = path_of("subjects", subject, "versions")
        return _parse.registration(
            self._transport.request("POST", path, query=flags(normalize=normalize), body=body, write=True)
        )

    def _delete(self, path: str, *, permanent: bool) -> None:
        try:
            self._transport.request("DELETE", path, query=flags(permanent=permanent), write=True)
        except RegistryAnswerError as error:
            gone = isinstance(error, SubjectNotFoundError | VersionNotFoundError)
            # For a permanent deletion, "already soft-deleted" would mean that the version still exists.
            soft = not permanent and isinstance(error, SubjectSoftDeletedError | VersionSoftDeletedError)
            if not ((gone or soft) and error.earlier_attempt_lost):
                raise
