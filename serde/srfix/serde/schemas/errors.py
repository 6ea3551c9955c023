"""What can go wrong between srfix and a schema registry.

    RegistryError
    ├── EndpointNotSupportedError     this registry has no such endpoint, or one that says less
    ├── RegistryUnreachableError      no URL of the list answered
    ├── RegistryProtocolError         an answer that no schema registry gives (a proxy's page, say)
    └── RegistryAnswerError           an error answer; the class says which
        ├── 401   UnauthorizedError
        ├── 403   ForbiddenError
        ├── 404   AddressNotFoundError
        ├── 40401 SubjectNotFoundError              40402 VersionNotFoundError
        ├── 40403 SchemaNotFoundError               40404 SubjectSoftDeletedError
        ├── 40405 SubjectNotSoftDeletedError        40406 VersionSoftDeletedError
        ├── 40407 VersionNotSoftDeletedError        40408 NoSubjectCompatibilityError
        ├── 40409 NoSubjectModeError                40410 AssociationNotFoundError
        ├── 409, 40901 IncompatibleSchemaError
        ├── 40902, 40903, 40905, 40908 AssociationConflictError
        │   ├── 40904 AssociationExistsError        └── 40907 NoLiveVersionError
        ├── 42201 InvalidSchemaError                42202 InvalidVersionError
        ├── 42203 InvalidCompatibilityError         42204 InvalidModeError
        ├── 42205 OperationNotPermittedError        42206 ReferenceExistsError
        ├── 42207 SchemaIdMismatchError             42208 InvalidSubjectError
        ├── 42209 SchemaTooLargeError               42210 InvalidRuleSetError
        ├── 42211 ContextNotEmptyError              42212 InvalidAssociationError
        └── 50001 StoreError                        50002 StoreTimeoutError
            50003 ForwardingError                   50004 UnknownLeaderError

The codes are Confluent's (`io.confluent.kafka.schemaregistry.rest.exceptions.Errors`, 8.x). Its 50005 is said
by the Java client about an answer it cannot parse, never by a server: here that is a `RegistryProtocolError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from srfix.serde.errors import RegistryError
from srfix.serde.printable import foreign

_BY_CODE: Final[dict[int, type[RegistryAnswerError]]] = {}
ERRORS_BY_CODE: Final[Mapping[int, type[RegistryAnswerError]]] = MappingProxyType(_BY_CODE)
"""Every documented error code and its class; 401 and 403 also stand for the HTTP status."""


class EndpointNotSupportedError(RegistryError):
    """This registry has no such endpoint, or one whose answer lacks what is needed: go another way."""

    request: str
    """Method and path that were asked."""

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
        super().__init__(
            f"No schema registry answered {request}{times}: {reasons}. "
            "Check that the registry runs and that the URL is right (scheme, host and port)."
            + (" The write may have taken effect: look before you repeat it." if write and outcome_unknown else ""),
            failures=tuple(failures),
            outcome_unknown=outcome_unknown,
        )


class RegistryProtocolError(RegistryError):
    """An answer that no schema registry gives: something else listens at that URL, or stands in between."""

    status: int
    """The HTTP status."""
    content_type: str
    """The Content-Type header; empty if there is none."""
    beginning: str
    """The first printable characters of the body."""
    url: str
    """What was asked, without secrets."""

    def __init__(
        self, *, status: int, content_type: str, beginning: str, url: str, method: str = "GET", problem: str
    ) -> None:
        body = f"It begins {beginning!r}." if beginning else "Its body is empty."
        kind = foreign(content_type) or "without a content type"
        super().__init__(
            f"The answer to {method} {foreign(url)} does not come from a schema registry: {problem} (HTTP {status}, "
            f"{kind}). {body} Check that the URL is the registry's REST address, base path included, and that no "
            "proxy, log-in page or web console answers in its place.",
            status=status,
            content_type=content_type,
            beginning=beginning,
            url=url,
        )


class RegistryAnswerError(RegistryError):
    """The registry answered with an error. The class says which; this one stands for codes without a class."""

    advice: ClassVar[str] = ""
    """What to do next: the end of the message."""

    def __init_subclass__(cls, *, codes: tuple[int, ...] = ()) -> None:
        _BY_CODE.update(dict.fromkeys(codes, cls))

    status: int
    """The HTTP status."""
    error_code: int
    """The code in the body; the HTTP status where the body has none."""
    registry_message: str
    """The registry's own words, in full."""
    url: str
    """What was asked, without secrets."""
    earlier_attempt_lost: bool
    """True if this answers a repetition after an attempt whose outcome is unknown: that one may have taken effect."""

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
    """Known, but not allowed to."""

    advice = "Ask the registry's administrator for the permission, or use other credentials."


class AddressNotFoundError(RegistryAnswerError, codes=(404,)):
    """HTTP 404 without a code of the registry's own: it knows no such address (or takes a number in it for none)."""

    advice = "Check the URL's base path, and whether this registry has that endpoint."


class SubjectNotFoundError(RegistryAnswerError, codes=(40401,)):
    """No such subject, or all its versions are soft-deleted; also a DELETE of a config that is not there."""

    advice = "Check the subject's name, letter case included; soft-deleted subjects count as not found."


class VersionNotFoundError(RegistryAnswerError, codes=(40402,)):
    """The subject has no such version, or it is soft-deleted."""

    advice = "List the subject's versions; soft-deleted ones count as not found."


class SchemaNotFoundError(RegistryAnswerError, codes=(40403,)):
    """No such schema id, or the subject does not hold that schema. Under a phantom subject, the incident."""

    advice = "Check that this is the registry that the records were written with."


class SubjectSoftDeletedError(RegistryAnswerError, codes=(40404,)):
    """The subject is soft-deleted already."""

    advice = "The subject cannot be soft-deleted a second time, only deleted permanently."


class SubjectNotSoftDeletedError(RegistryAnswerError, codes=(40405,)):
    """A permanent deletion needs a soft one first."""

    advice = "Delete it softly first."


class VersionSoftDeletedError(RegistryAnswerError, codes=(40406,)):
    """The version is soft-deleted already."""

    advice = "The version cannot be soft-deleted a second time, only deleted permanently."


class VersionNotSoftDeletedError(RegistryAnswerError, codes=(40407,)):
    """A permanent deletion needs a soft one first."""

    advice = "Delete it softly first."


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
    """409 (40901 from 8.2 on): the subject's compatibility level does not allow the schema."""

    advice = "See the subject's compatibility level and its latest version."


class AssociationConflictError(RegistryAnswerError, codes=(40902, 40903, 40905, 40908)):
    """The association contradicts an existing one."""

    advice = "List the associations of the subject."


class AssociationExistsError(AssociationConflictError, codes=(40904,)):
    """A resource is associated with the subject, which therefore cannot go."""

    advice = "Remove the association first."


class NoLiveVersionError(AssociationConflictError, codes=(40907,)):
    """The association needs a live version and the subject has none."""

    advice = "Register a schema under the subject first."


class InvalidSchemaError(RegistryAnswerError, codes=(42201,)):
    """Not a schema, a type the registry does not know, or a reference it cannot resolve."""

    advice = "Check the schema's text, its type and its references; newer registries are stricter than older ones."


class InvalidVersionError(RegistryAnswerError, codes=(42202,)):
    """Neither a version's number nor `latest`."""

    advice = "A version is a number from 1, or latest."


class InvalidCompatibilityError(RegistryAnswerError, codes=(42203,)):
    """Not a compatibility level."""

    advice = "Levels are NONE, BACKWARD, FORWARD, FULL and their _TRANSITIVE forms."


class InvalidModeError(RegistryAnswerError, codes=(42204,)):
    """Not a mode."""

    advice = "Modes are READWRITE, READONLY, IMPORT and FORWARD."


class OperationNotPermittedError(RegistryAnswerError, codes=(42205,)):
    """The mode forbids it: READONLY, not IMPORT, or an id that holds another schema."""

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
    """A name that the registry keeps for itself, such as `__GLOBAL` and `__EMPTY`, or that it cannot hold."""

    advice = "Use another subject name."


class SchemaTooLargeError(RegistryAnswerError, codes=(42209,)):
    """The schema's text is longer than the registry takes."""

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

    advice = (
        "The registry reports a problem with its data store, usually its own Kafka cluster: see the registry's log. "
        "Look before you repeat a write."
    )


class ForwardingError(RegistryAnswerError, codes=(50003,)):
    """A follower could not pass the write on to the leader; a write may have taken effect."""

    advice = "See the registry's log; name the leader's URL, and look before you repeat a write."


class UnknownLeaderError(RegistryAnswerError, codes=(50004,)):
    """The registry's nodes have no leader at the moment, so nothing can be written."""

    advice = "Try again in a moment; if it stays, name the URL of a node that can lead, or see the registry's log."


def answer_error_class(status: int, error_code: int) -> type[RegistryAnswerError]:
    """The class for an error answer.

    The body's code decides (Apicurio sends 40405 to 40407 with HTTP 409), then the HTTP status: 401 and 403
    come with codes of all kinds (Confluent Cloud's 40101, 40301).
    """
    by_status = None if status == 404 else ERRORS_BY_CODE.get(status)  # 404xx that are unknown are codes of their own
    return ERRORS_BY_CODE.get(error_code) or by_status or RegistryAnswerError
