"""Errors of the drop-in: srfix's own, which are confluent-kafka's too, so that what caught those goes on to.

| srfix | confluent_kafka |
|---|---|
| `RegistryAnswerError` | `SchemaRegistryError`, with `http_status_code`, `error_code`, `error_message` |
| `ResolveError` because of one, of an id that the registry does not know, say | the same, and `SerializationError` |
| a context that is missing, where `to_dict` or `from_dict` is called with it | `TypeError` |
| any other of a call, but that the registry does not answer | `SerializationError` |

An error gets the second class when it leaves a call; its own class, words and attributes stay.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import SerializationError

from srfix.serde.errors import RegistryError, ResolveError, SrfixError, UsageError
from srfix.serde.schemas.errors import RegistryAnswerError


def missing_context(called: str) -> UsageError:
    """The error where there is no context, and `to_dict` or `from_dict` is called with one."""
    error = UsageError(f"{called} is called with a context, and there is none. Pass a SerializationContext.")
    error.__class__ = _both(UsageError, TypeError)
    return error


def make_confluents(error: SrfixError) -> None:
    """Makes an error one of confluent-kafka's, too."""
    cause = _answer_behind(error) if isinstance(error, ResolveError) else None
    if isinstance(error, RegistryAnswerError):
        error.__class__ = _both(type(error), SchemaRegistryError)
    elif cause is not None:
        error.__class__ = _both(type(error), _Unresolved)
        of_it = {
            "http_status_code": cause.status,
            "error_code": cause.error_code,
            "error_message": cause.registry_message,
        }
        error.__dict__.update(of_it)
    elif not isinstance(error, RegistryError | TypeError):
        error.__class__ = _both(type(error), SerializationError)


class _Unresolved(SchemaRegistryError, SerializationError):
    """An id that a registry's answer left without a schema."""


def _answer_behind(error: BaseException) -> RegistryAnswerError | None:
    for _ in range(5):
        cause = error.__cause__ or error.__context__
        if cause is None or isinstance(cause, RegistryAnswerError):
            return cause
        error = cause
    return None


_MADE: Final[dict[tuple[type, type], type[Any]]] = {}


def _both(kind: type[SrfixError], theirs: type[Exception]) -> type[Any]:
    if issubclass(kind, theirs) or (theirs is SerializationError and issubclass(kind, _Unresolved)):
        return kind
    known = _MADE.get((kind, theirs))
    if known is not None:
        return known
    body: dict[str, object] = {
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
        "__reduce__": _reduced(kind, theirs),
    }
    body["__str__"] = kind.__str__  # not theirs
    if issubclass(kind, RegistryAnswerError):
        body |= {
            "http_status_code": property(lambda error: error.status),
            "error_message": property(lambda error: error.registry_message),
        }
    return _MADE.setdefault((kind, theirs), type(kind.__name__, (kind, theirs), body))


def _reduced(kind: type[SrfixError], theirs: type[Exception]) -> Callable[[SrfixError], tuple[object, ...]]:
    return lambda error: (partial(_revived, kind, theirs, error.args), (), dict(error.__dict__))


def _revived(kind: type[SrfixError], theirs: type[Exception], args: tuple[object, ...]) -> SrfixError:
    error = kind.__new__(kind)
    error.args = args
    error.__class__ = _both(kind, theirs)
    return error
