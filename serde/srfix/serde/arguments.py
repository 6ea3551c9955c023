"""Checks the arguments of constructors at once: a wrong type, a class instead of an instance, an unknown word."""

from __future__ import annotations

import dataclasses
import inspect
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from srfix.serde.errors import UsageError
from srfix.serde.interface import Context, SerdeContext

if TYPE_CHECKING:
    from srfix.serde.subjects.names import SubjectStrategy

_E = TypeVar("_E", bound=Enum)
_PARTS: Final = attrgetter("topic", "field", "headers")


def type_words(value: object) -> str:
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    return "None" if value is None else f"of the type {type(value).__name__}"


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {type_words(value)}; it must be True or False.")
    return value


def flag_or_none(name: str, value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{name} is {type_words(value)}; it must be True, False or None.")
    return value


def member(name: str, kind: type[_E], value: object) -> _E:
    if isinstance(value, kind):
        return value
    for one in kind:
        if one.value == value:
            return one
    words = ", ".join(repr(one.value) for one in kind)
    what = repr(value) if isinstance(value, str) else type_words(value)
    raise UsageError(f"{name} is {what}; it must be a {kind.__name__}, or one of the words {words}.")


def word(name: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        what = repr(value) if isinstance(value, str) else type_words(value)
        raise UsageError(f"{name} is {what}; it must be one of {', '.join(map(repr, words))}.")


def number_or_none(name: str, value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise UsageError(f"{name} is {type_words(value)}; it must be an int, or None.")
    return value


def text_or_none(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is {type_words(value)}; it must be a str, or None.")
    return value


def strategy(name: str, value: object) -> SubjectStrategy:
    if inspect.isclass(value) or not callable(value):
        raise UsageError(
            f"{name} is {type_words(value)}; it must be a strategy such as TopicSubject() or FixedSubject('SUBJECT')."
        )
    return cast("SubjectStrategy", value)


def usable_context(ctx: object) -> Context:
    """The context. A topic's name means the values of the topic."""
    context: Any = ctx
    try:
        _PARTS(context)  # at once: confluent-kafka's contexts come with every record
        is_context = not isinstance(ctx, type)
    except AttributeError:
        is_context = False
    if is_context:
        return context  # type: ignore[no-any-return]  # it has the parts of one
    if not isinstance(ctx, str):
        raise UsageError(
            f"The context is {type_words(ctx)}; it must be a SerdeContext, a confluent_kafka SerializationContext, or "
            "a topic's name (then the payload is a value)."
        )
    if not ctx:
        raise UsageError("The topic's name is empty. Pass the topic of the payload.")
    return SerdeContext(ctx)


def usable_payload(payload: object) -> bytes:
    if isinstance(payload, bytes | bytearray | memoryview):
        return bytes(payload)
    raise UsageError(f"A payload is {type_words(payload)}; it must be bytes, or None for a tombstone.")


def plain_row(row: object) -> object:
    """A dataclass's instance as a dict, also if it is nested; another row unchanged."""
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return dataclasses.asdict(row)
    return row


def check_callable(what: str, value: object, signature: str) -> None:
    if value is not None and not callable(value):
        raise UsageError(f"{what} is {type_words(value)}; it must be a callable {signature}, or None.")


def check_instance(name: str, value: object) -> None:
    if inspect.isclass(value) or not callable(value):
        raise UsageError(f"{name} is {type_words(value)}; it must be a callable instance, not a class.")
