"""The errors between srfix and a schema registry.

    RegistryError
    ├── EndpointNotSupportedError, RegistryUnreachableError, RegistryProtocolError
    └── RegistryAnswerError
        ├── 401 UnauthorizedError, 403 ForbiddenError, 404 AddressNotFoundError
        ├── 40401 SubjectNotFoundError, 40402 VersionNotFoundError, 40403 SchemaNotFoundError
        ├── 40404 SubjectSoftDeletedError, 40405 SubjectNotSoftDeletedError
        ├── 40406 VersionSoftDeletedError, 40407 VersionNotSoftDeletedError
        ├── 40408 NoSubjectCompatibilityError, 40409 NoSubjectModeError, 40410 AssociationNotFoundError
        ├── 409, 40901 IncompatibleSchemaError
        ├── 40902, 40903, 40905, 40908 AssociationConflictError
        │   └── 40904 AssociationExistsError, 40907 NoLiveVersionError
        ├── 42201 InvalidSchemaError, 42202 InvalidVersionError, 42203 InvalidCompatibilityError
        ├── 42204 InvalidModeError, 42205 OperationNotPermittedError, 42206 ReferenceExistsError
        ├── 42207 SchemaIdMismatchError, 42208 InvalidSubjectError, 42209 SchemaTooLargeError
        ├── 42210 InvalidRuleSetError, 42211 ContextNotEmptyError, 42212 InvalidAssociationError
        └── 50001 StoreError, 50002 StoreTimeoutError, 50003 ForwardingError, 50004 UnknownLeaderError

The codes are Confluent's (`io.confluent.kafka.schemaregistry.rest.exceptions.Errors`, 8.x). Only the Java client uses
its code 50005, for an answer that it cannot parse; no server sends this code. srfix raises a `RegistryProtocolError`
for such an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from srfix.serde.errors import RegistryError
from srfix.serde.printable import foreign

_BY_CODE: Final[dict[int, type[RegistryAnswerError]]] = {}
ERRORS_BY_CODE: Final[Mapping[int, type[RegistryAnswerError]]] = MappingProxyType(_BY_CODE)
"""Every documented error code and its class; 401 and 403 also mean the HTTP status."""


class EndpointNotSupportedError(RegistryError):
    """This registry lacks the endpoint, or the endpoint's answer lacks the needed data. Use another way."""

    request: str
    """Method and path of the request."""

    def __init__(self, request: str, *, why: str, instead: str) -> None:
        super().__init__(f"This schema registry does not support {request}: {why}. {instead}", request=request)


class RegistryUnreachableError(RegistryError):
    """No URL of the list gave an answer."""

    failures: tuple[tuple[str, str], ...]
    """Each URL of the last round, without secrets, and why it did not answer."""
    outcome_unknown: bool
    """True if the request may have reached a registry: a write may have taken effect."""

    def __init__(
        self,
        failures: Sequence[tuple[str, str]],
        *,
        request: str = "the request",
        rounds: int = 1,
        outcome_unknown: bool = False,
        write: bool = False,
    ) -> None:
        reasons = "; ".join(f"{foreign(url)}: {foreign(reason)}" for url, reason in failures)
        times = "" if rounds == 1 else f" in {rounds} attempts"
        effect = (
            " The write may have taken effect: check this before you repeat it." if write and outcome_unknown else ""
        )
        super().__init__(
            f"No schema registry answered {request}{times}: {reasons}. "
            f"Check that the registry runs and that the URL is right (scheme, host and port).{effect}",
            failures=tuple(failures),
            outcome_unknown=outcome_unknown,
        )


class RegistryProtocolError(RegistryError):
    """The answer does not come from a schema registry: another server listens at that URL, or stands in between."""

    status: int
    """The HTTP status."""
    content_type: str
    """The Content-Type header; empty if there is none."""
    beginning: str
    """The first printable characters of the body."""
    url: str
    """The request, without secrets."""

    def __init__(
        self, *, status: int, content_type: str, beginning: str, url: str, method: str = "GET", problem: str
    ) -> None:
        body = f"It begins {beginning!r}." if beginning else "Its body is empty."
        kind = foreign(content_type) or "without a content type"
        super().__init__(
            f"The answer to {method} {foreign(url)} does not come from a schema registry: {problem} (HTTP {status}, "
            f"{kind}). {body} Check that the URL is the registry's REST address, including the base path, and that "
            "no proxy, log-in page or web console answers instead.",
            status=status,
            content_type=content_type,
            beginning=beginning,
            url=url,
        )


class RegistryAnswerError(RegistryError):
    """The registry answered with an error. Each documented code has a subclass; errors with other codes have this
    class."""

    advice: ClassVar[str] = ""
    """What to do next: the end of the message."""

    def __init_subclass__(cls, *, codes: tuple[int, ...] = ()) -> None:
        _BY_CODE.update(dict.fromkeys(codes, cls))

    status: int
    """The HTTP status."""
    error_code: int
    """The code in the body; the HTTP status if the body has none."""
    registry_message: str
    """The registry's own message, in full."""
    url: str
    """The request, without secrets."""
    earlier_attempt_lost: bool
    """True if this is the answer to a repetition after an attempt with an unknown outcome: that attempt may have taken
    effect."""

    def __init__(
        self,
        status: int,
        error_code: int,
        registry_message: str,
        url: str,
        *,
        method: str = "",
        earlier_attempt_lost: bool = False,
    ) -> None:
        words = foreign(registry_message.strip())
        reason = f": {words}" if words else ""
        end = "" if reason.endswith((".", "…", "!", "?")) else "."
        super().__init__(
            f"{method} {foreign(url)} was answered with error {error_code} (HTTP {status}){reason}{end} {self.advice}".strip(),
            status=status,
            error_code=error_code,
            registry_message=registry_message,
            url=url,
            earlier_attempt_lost=earlier_attempt_lost,
        )


class UnauthorizedError(RegistryAnswerError, codes=(401,)):
    """No credentials, or wrong ones."""

    advice = (
        "Check the credentials for the registry: basic.auth.user.info, or bearer.auth.token, which may have expired."
    )


class ForbiddenError(RegistryAnswerError, codes=(403,)):
    """The user is known, but not allowed to do this."""

    advice = "Ask the registry's administrator for the permission, or use other credentials."


class AddressNotFoundError(RegistryAnswerError, codes=(404,)):
    """HTTP 404 without a registry's error code: the registry does not know the address (or considers a number in it
    invalid)."""

    advice = "Check the URL's base path, and whether this registry has that endpoint."


class SubjectNotFoundError(RegistryAnswerError, codes=(40401,)):
    """No such subject, or all its versions are soft-deleted; also a DELETE of a config that is not there."""

    advice = "Check the subject's name, including letter case. Soft-deleted subjects count as not found."


class VersionNotFoundError(RegistryAnswerError, codes=(40402,)):
    """The subject has no such version, or it is soft-deleted."""

    advice = "List the subject's versions; soft-deleted ones count as not found."


class SchemaNotFoundError(RegistryAnswerError, codes=(40403,)):
    """There is no such schema id, or the subject does not hold that schema. For a phantom subject, this is the
    incident."""

    advice = "Check that this is the registry that the records were written with."


class SubjectSoftDeletedError(RegistryAnswerError, codes=(40404,)):
    """The subject is already soft-deleted."""

    advice = "The subject cannot be soft-deleted a second time, only deleted permanently."


class SubjectNotSoftDeletedError(RegistryAnswerError, codes=(40405,)):
    """A permanent deletion needs a soft one first."""

    advice = "Soft-delete it first."


class VersionSoftDeletedError(RegistryAnswerError, codes=(40406,)):
    """The version is already soft-deleted."""

    advice = "The version cannot be soft-deleted a second time, only deleted permanently."


class VersionNotSoftDeletedError(RegistryAnswerError, codes=(40407,)):
    """A permanent deletion needs a soft one first."""

    advice = "Soft-delete it first."


class NoSubjectCompatibilityError(RegistryAnswerError, codes=(40408,)):
    """The subject has no compatibility level of its own."""

    advice = "The global level applies."


class NoSubjectModeError(RegistryAnswerError, codes=(40409,)):
    """The subject has no mode of its own."""

    advice = "The global mode applies."


class AssociationNotFoundError(RegistryAnswerError, codes=(40410,)):
    """No such association of a resource with a subject."""

    advice = "List the associations of the resource."


class IncompatibleSchemaError(RegistryAnswerError, codes=(409, 40901)):
    """409 (40901 since 8.2): the subject's compatibility level does not allow the schema."""

    advice = "See the subject's compatibility level and its latest version."


class AssociationConflictError(RegistryAnswerError, codes=(40902, 40903, 40905, 40908)):
    """The association contradicts an existing one."""

    advice = "List the associations of the subject."


class AssociationExistsError(AssociationConflictError, codes=(40904,)):
    """A resource is associated with the subject, so the subject cannot be deleted."""

    advice = "Remove the association first."


class NoLiveVersionError(AssociationConflictError, codes=(40907,)):
    """The association needs a live version, but the subject has none."""

    advice = "Register a schema under the subject first."


class InvalidSchemaError(RegistryAnswerError, codes=(42201,)):
    """The text is not a schema, or the registry does not know its type or cannot resolve a reference."""

    advice = "Check the schema's text, its type and its references; newer registries are stricter than older ones."


class InvalidVersionError(RegistryAnswerError, codes=(42202,)):
    """Neither a version's number nor `latest`."""

    advice = "A version is a whole number of at least 1, or latest."


class InvalidCompatibilityError(RegistryAnswerError, codes=(42203,)):
    """Not a compatibility level."""

    advice = "Levels are NONE, BACKWARD, FORWARD, FULL and their _TRANSITIVE forms."


class InvalidModeError(RegistryAnswerError, codes=(42204,)):
    """Not a mode."""

    advice = "Modes are READWRITE, READONLY, IMPORT and FORWARD."


class OperationNotPermittedError(RegistryAnswerError, codes=(42205,)):
    """The mode forbids the request (READONLY, or not IMPORT), or the id already holds another schema."""

    advice = (
        "See the mode of the subject and of the registry. A follower accepts no writes: name the leader's URL, or "
        "both, separated by a comma."
    )


class ReferenceExistsError(RegistryAnswerError, codes=(42206,)):
    """Another schema refers to this version."""

    advice = "Delete the schemas that refer to it first."


class SchemaIdMismatchError(RegistryAnswerError, codes=(42207,)):
    """The id that was sent is not the one that the schema has."""

    advice = "Register without an id, or with the schema's own."


class InvalidSubjectError(RegistryAnswerError, codes=(42208,)):
    """A name that the registry reserves, such as `__GLOBAL` and `__EMPTY`, or does not allow."""

    advice = "Use another subject name."


class SchemaTooLargeError(RegistryAnswerError, codes=(42209,)):
    """The schema's text is longer than the registry allows."""

    advice = "The limit is the registry's (its Kafka topic's max.message.bytes)."


class InvalidRuleSetError(RegistryAnswerError, codes=(42210,)):
    """The schema's rules are not valid."""

    advice = "Check the schema's rule set."


class ContextNotEmptyError(RegistryAnswerError, codes=(42211,)):
    """The context still holds subjects."""

    advice = "Delete its subjects first."


class InvalidAssociationError(RegistryAnswerError, codes=(42212,)):
    """The association is not valid."""

    advice = "Check the association."


class StoreError(RegistryAnswerError, codes=(50001,)):
    """The registry could not use its own Kafka topic."""

    advice = (
        "The registry reports a problem with its data store, usually its own Kafka cluster: see the registry's log."
    )


class StoreTimeoutError(RegistryAnswerError, codes=(50002,)):
    """The registry's own Kafka topic did not answer in time; a write may have taken effect."""

    advice = f"{StoreError.advice} Check whether a write took effect before you repeat it."


class ForwardingError(RegistryAnswerError, codes=(50003,)):
    """A follower could not pass the write on to the leader; a write may have taken effect."""

    advice = (
        "See the registry's log; name the leader's URL, and check whether a write took effect before you repeat it."
    )


class UnknownLeaderError(RegistryAnswerError, codes=(50004,)):
    """The registry's nodes have no leader at the moment, so nothing can be written."""

    advice = (
        "Try again in a moment. If the error stays, name the URL of a node that can become the leader, or see the "
        "registry's log."
    )


def answer_error_class(status: int, error_code: int) -> type[RegistryAnswerError]:
    """The class for an error answer: by code (Apicurio sends 40405 to 40407 with HTTP 409), then HTTP status."""
    by_status = None if status == 404 else ERRORS_BY_CODE.get(status)  # with an unknown 404xx code, the address exists
    return ERRORS_BY_CODE.get(error_code) or by_status or RegistryAnswerError
