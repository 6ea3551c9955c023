"""A client for the schema registry's REST interface.

No read ever satisfies a write: only schemas by id are cached, and every look-up and every registration goes
to the server. (confluent-kafka's client answers `register_schema` from what `get_schema` has read, and a
repair through it sends nothing.)

Which requests are repeated after an attempt whose outcome is unknown (connection cut, no answer in time,
5xx)? All of them, because each is idempotent, or made so:

| request | why it may be repeated |
|---|---|
| reads, look-up, compatibility check | they change nothing |
| `register`, `register_version` | by content: what the subject holds is answered with its id, before any check |
| `register_with_id` | the same content with the same id under the same subject is answered as it is |
| `set_config`, `set_mode` | the same fields are merged again, the same mode is set again |
| `delete_config`, `delete_mode` | "there is none" to a repetition is success; to a first attempt it is an error |
| `delete_version`, `delete_subject` | "already deleted" to a repetition is success; to a first attempt it is an error |

A version number that another client's registration has reused between two attempts is live, so a
repeated permanent deletion of it is refused (40407). A refused connection, DNS, a TLS failure, 408 and 429
are no lost attempts: the request was certainly not carried out.
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
    """Asks a schema registry (Confluent 5.5 to 8.x, Karapace, Apicurio's ccompat) and writes to it.

    Thread-safe, each thread over its own connections. Picklable: the copy starts with no connections and an
    empty cache; a literal password or token refuses to be pickled, `env:NAME` and `file:PATH` travel as references.
    Subjects may hold any character.

    Every method raises, besides what it names itself:

    :raises RegistryAnswerError: if the registry answers with an error; the subclass says which.
    :raises RegistryProtocolError: if the answer is no registry's, or a redirect (none is followed).
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
        """Registers a schema under a subject; its id, which another subject may have given it already.

        Always sent, whatever was read before. Content that the subject holds already changes nothing. The id
        can differ from the one the text was fetched by: content with two ids, or metadata. Without `metadata`
        (Confluent 7.4 on: `{"properties": {…}}`) the schema inherits that of the subject's latest version, and
        metadata belongs to its identity: compare.

        :raises IncompatibleSchemaError: if the subject's compatibility level does not allow it.
        :raises InvalidSchemaError: if it is not a schema.
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
        """As `register`, with all that the registry answers.

        :raises IncompatibleSchemaError: if the subject's compatibility level does not allow it.
        :raises InvalidSchemaError: if it is not a schema.
        :raises OperationNotPermittedError: if the mode forbids it.
        """
        return self._register(subject, schema_body(schema), metadata, normalize=normalize)

    def register_with_id(
        self, subject: str, schema: Schema, schema_id: int, *, metadata: Mapping[str, Json] | None = None
    ) -> Registration:
        """Registers a schema under a subject with exactly this id. The subject must be in IMPORT (`set_mode`).

        Where the content has another id, that one goes on being answered under the subjects that hold it, but the next
        registration of the content under a new subject gets this id: the last write decides (seen on 7.9.9 and 8.3.1).

        Nothing is checked for compatibility and no metadata is inherited. Compare the id: Karapace and Apicurio ignore
        it and register anyway, with or without IMPORT.

        :raises OperationNotPermittedError: if the subject is not in IMPORT, or the id holds another schema.
        :raises InvalidSchemaError: if it is not a schema.
        :raises ImpossibleSchemaIdError: if no registry gives such an id; none is asked.
        """
        return self._register(subject, {**schema_body(schema), "id": given_schema_id(schema_id)}, metadata)

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Deletes a version softly, or, `permanent`, a softly deleted one for good.

        Permanent deletion of the last version that holds a schema makes its id unreadable everywhere.

        :raises VersionSoftDeletedError: if it is soft-deleted already.
        :raises VersionNotSoftDeletedError: if `permanent` and it is live.
        :raises VersionNotFoundError: if the subject has no such version.
        :raises SubjectNotFoundError: if there is no such subject.
        :raises ReferenceExistsError: if another schema refers to it.
        """
        self._delete(path_of("subjects", subject, "versions", version), permanent=permanent)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> None:
        """Deletes a subject softly, or, `permanent`, a softly deleted one for good, its configuration and mode with it.

        Permanent deletion of the last version that holds a schema makes its id unreadable everywhere.

        :raises SubjectSoftDeletedError: if it is soft-deleted already.
        :raises SubjectNotSoftDeletedError: if `permanent` and it is live.
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
            # "Soft-deleted already" to a permanent deletion would mean that it is still there.
            soft = not permanent and isinstance(error, SubjectSoftDeletedError | VersionSoftDeletedError)
            if not ((gone or soft) and error.earlier_attempt_lost):
                raise
