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

from srfix.serde.errors import UsageError
from srfix.serde.registry import parse as _parse
from srfix.serde.registry.base import flags, schema_body
from srfix.serde.registry.http.answer import Answer
from srfix.serde.registry.http.urls import path_of
from srfix.serde.registry.schema_reads import SchemaReads
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    NoSubjectCompatibilityError,
    NoSubjectModeError,
    RegistryAnswerError,
    RegistryProtocolError,
    SubjectNotFoundError,
    SubjectSoftDeletedError,
    VersionNotFoundError,
    VersionSoftDeletedError,
)
from srfix.serde.schemas.models import Json, Registration, Schema, SubjectConfig
from srfix.serde.wire import SchemaId, given_schema_id

_DEFAULT_TO_GLOBAL = {"defaultToGlobal": "true"}
_FILLED_IN = "BACKWARD"


class RegistryClient(SchemaReads):
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

        If the content already has another id, the registry keeps returning the old id for the subjects that hold the
        content. If the content is then registered under a new subject, that registration gets `schema_id`, because the
        last write decides (seen on 7.9.9 and 8.3.1).

        The registry does not check compatibility, and the schema inherits no metadata. Compare the id: Karapace and
        Apicurio ignore the id and register anyway, with or without IMPORT.

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

    # Configurations, modes, and the registry itself

    def config(self, subject: str | None = None) -> SubjectConfig | None:
        """A subject's own configuration, None if it has none; without a subject, the global one.

        A level that is not in force is not the subject's own, so it is left out: Apicurio answers NONE for a subject
        without a level (seen on 3.3.3), and Confluent fills in the server's default if the subject has other fields but
        no level. If the filled-in level is in force, srfix cannot recognise it (`level_may_be_inherited`).
        """
        try:
            if subject is None:
                return _parse.config(self._transport.request("GET", "/config", query=self._of_the_context()))
            config = _parse.config(self._transport.request("GET", path_of("config", subject)))
        except (NoSubjectCompatibilityError, SubjectNotFoundError):  # 40401: Confluent before 6.0
            return None
        if config.compatibility is None or config.compatibility == self.effective_compatibility(subject):
            return config
        fields = {name: value for name, value in config.fields.items() if name != "compatibilityLevel"}
        return SubjectConfig(fields=fields) if fields else None

    def level_may_be_inherited(self, subject: str) -> bool:
        """True if srfix cannot tell whether a subject's level is its own: the subject has other fields of its own, and
        its level is the global one or BACKWARD, which Confluent fills in if there is none (seen on 7.9.9 and 8.2.1).

        Resetting such a level makes it the subject's own, so that later changes of the global level do not affect it.
        This method does not notice the case if the server's own default differs (`schema.compatibility.level`) and the
        global level was changed, nor if a subject's configuration was emptied field by field.
        """
        config = self.config(subject)
        if config is None or config.compatibility is None or len(config.fields) == 1:
            return False
        shared = self.config()
        return config.compatibility in (_FILLED_IN, None if shared is None else shared.compatibility)

    def effective_compatibility(self, subject: str) -> str:
        """The compatibility level in force for a subject: its own, otherwise its context's, otherwise the global
        one."""
        answer = self._in_force(subject)
        level = _parse.config(answer).compatibility
        if level is None:
            raise answer.foreign("its compatibilityLevel is missing")
        return level

    def effective_config(self, subject: str) -> SubjectConfig:
        """The configuration in force for a subject, with all fields: its own, otherwise its context's, otherwise the
        global one.

        If the subject has its own configuration, even only a level, that hides all fields of the context's and the
        global configuration (seen on Confluent 7.9.9 and 8.3.1).
        """
        return _parse.config(self._in_force(subject))

    def _in_force(self, subject: str) -> Answer:
        try:
            return self._transport.request("GET", path_of("config", subject), query=_DEFAULT_TO_GLOBAL)
        except (NoSubjectCompatibilityError, SubjectNotFoundError):  # a registry that does not know the parameter
            return self._transport.request("GET", "/config", query=self._of_the_context())

    def mode(self, subject: str | None = None) -> str | None:
        """A subject's own mode, None if it has none; without a subject, the global one.

        The global mode is None only if the registry has no modes. For a subject without a mode, Apicurio answers the
        global mode, and enforces no mode.
        """
        path, query = ("/mode", self._of_the_context()) if subject is None else (path_of("mode", subject), None)
        try:
            return _parse.text(self._request_if_there("GET", path, query=query), "mode")
        except (EndpointNotSupportedError, NoSubjectModeError, SubjectNotFoundError):  # 40401: Karapace
            return None

    def effective_mode(self, subject: str) -> str | None:
        """The mode in force for a subject: its own, otherwise its context's, otherwise the global one; None if the
        registry has no modes."""
        try:
            answer = self._request_if_there("GET", path_of("mode", subject), query=_DEFAULT_TO_GLOBAL)
        except (EndpointNotSupportedError, NoSubjectModeError, SubjectNotFoundError):
            return self.mode()  # a registry that does not know the parameter
        return _parse.text(answer, "mode")

    def contexts(self) -> tuple[str, ...] | None:
        """The contexts, including `.` (since 7.0); None if the registry has no contexts.

        Apicurio lists only the default context, and treats a qualified subject as a plain name.
        """
        try:
            return _parse.contexts(self._request_if_there("GET", "/contexts"))
        except EndpointNotSupportedError:
            return None

    def server_version(self) -> str | None:
        """The version that the registry gives, such as `7.9.9`; None if it gives none (Karapace, Apicurio, old
        registries)."""
        try:
            return _parse.text(self._request_if_there("GET", "/v1/metadata/version"), "version")
        except EndpointNotSupportedError:
            return None

    def is_redpanda(self) -> bool:
        """Whether the registry has `GET /status/ready`, as Redpanda does (its pull request 7080).

        :raises RegistryUnreachableError: if the registry does not answer.
        """
        try:
            self._request_if_there("GET", "/status/ready")
        except (EndpointNotSupportedError, RegistryAnswerError, RegistryProtocolError):
            return False
        return True

    def _of_the_context(self) -> dict[str, str] | None:
        """The query that reaches the global settings at a context's URL, which otherwise gives the context's."""
        is_in_context = any(endpoint.context is not None for endpoint in self._transport.settings.endpoints)
        return _DEFAULT_TO_GLOBAL if is_in_context else None

    def set_config(self, subject: str, fields: Mapping[str, Json]) -> None:
        """Sets fields of a subject's own configuration; Confluent keeps the fields that are not named.

        The level's name is `compatibility`. GET's spelling `compatibilityLevel` is also accepted, so that the result of
        `config` can be written back.

        :raises InvalidCompatibilityError: if the level is not a compatibility level.
        :raises OperationNotPermittedError: if the mode forbids it.
        :raises UsageError: if there is no field, or the level is given in both spellings.
        """
        body = {("compatibility" if name == "compatibilityLevel" else name): value for name, value in fields.items()}
        if not body or len(body) != len(fields):
            raise UsageError(
                f"The configuration for subject {subject!r} needs at least one field. Give the level only once, as "
                "compatibility or as compatibilityLevel."
            )
        self._transport.request("PUT", path_of("config", subject), body=body, write=True)

    def delete_config(self, subject: str) -> None:
        """Removes a subject's own configuration with all its fields.

        Apicurio answers 200, but keeps the level NONE (seen on 3.3.3). There, srfix first sets the subject's level to
        the value of the global one (BACKWARD if that is NONE or unknown), and then removes it again.

        :raises SubjectNotFoundError: if there is no such configuration (40401, whether or not the subject exists).
        :raises NoSubjectCompatibilityError: in the same case, from registries that answer 40408.
        """
        path = path_of("config", subject)
        try:
            answer = self._transport.request("DELETE", path, write=True)
        except (NoSubjectCompatibilityError, SubjectNotFoundError) as error:
            if not error.earlier_attempt_lost:
                raise
            return
        if _parse.removed_level(answer) != "NONE":
            return
        config = self.config(subject)
        if config is not None and config.compatibility == "NONE":
            shared = self.config()
            level = None if shared is None else shared.compatibility
            self.set_config(subject, {"compatibility": _FILLED_IN if level in (None, "NONE") else level})
            self._transport.request("DELETE", path, write=True)

    def set_mode(self, subject: str, mode: str, *, force: bool = False) -> None:
        """Sets a subject's own mode: READWRITE, READONLY, IMPORT, FORWARD.

        IMPORT is destructive: without `force` it hard-deletes the subject's soft-deleted versions (and is refused if
        there are live ones); with `force` it is accepted in any case. Read the mode back, because Apicurio accepts a
        mode and ignores it.

        :raises InvalidModeError: if there is no such mode.
        :raises OperationNotPermittedError: if the registry's `mode.mutability` is false, or there are live versions.
        :raises EndpointNotSupportedError: if the registry cannot set modes (Karapace).
        """
        self._request_if_there(
            "PUT", path_of("mode", subject), query=flags(force=force), body={"mode": mode}, write=True
        )

    def delete_mode(self, subject: str) -> None:
        """Removes a subject's own mode.

        :raises SubjectNotFoundError: if there is no such mode (40401, whether or not the subject exists).
        :raises NoSubjectModeError: in the same case, from registries that answer 40409.
        :raises EndpointNotSupportedError: if the registry cannot set modes (Karapace).
        """
        try:
            self._request_if_there("DELETE", path_of("mode", subject), write=True)
        except (NoSubjectModeError, SubjectNotFoundError) as error:
            if not error.earlier_attempt_lost:
                raise
