"""Adds the payload's place to errors."""

from __future__ import annotations

from typing import Final, TypeVar
from uuid import UUID

from srfix.serde.errors import ColumnError, SrfixError
from srfix.serde.interface import ABOUT_A_PAYLOAD, ABOUT_A_ROW, Context
from srfix.serde.resolve.resolved import attributes_of, words_for
from srfix.serde.subjects.names import role_of

ABOUT_THE_PAYLOAD: Final = (*ABOUT_A_PAYLOAD, ColumnError)
"""Errors of reading that do not yet name a topic and a role."""
ABOUT_THE_ROW: Final = (*ABOUT_A_ROW, ColumnError)
"""Errors of writing that do not yet name a topic and a role."""

_Error = TypeVar("_Error", bound=SrfixError)


def read_from(error: _Error, ctx: Context | None, identity: int | UUID | None = None) -> _Error:
    attributes: dict[str, object] = {"schema_id": None} if identity is None else attributes_of(identity)
    words = words_of_reading(error.message, ctx, identity)
    if ctx is None:
        return type(error)(words, **{**vars(error), **attributes})
    return _again(error, words, ctx, attributes)


def words_of_reading(words: str, ctx: Context | None, identity: int | UUID | None) -> str:
    carries = "" if identity is None else f", {words_for(identity)}"
    if ctx is None:
        return f"A payload{carries}: {words}"
    of_topic = f" of topic {ctx.topic!r}" if ctx.topic else ""
    return f"A {role_of(ctx.field).value}{of_topic}{carries}: {words}"


def written_to(error: _Error, ctx: Context | None) -> _Error:
    if ctx is None:
        return error
    # The field itself is not used, because confluent_kafka's is an enum, whose text depends on Python's version.
    return _again(error, f"A {role_of(ctx.field).value} for topic {ctx.topic!r}: {error.message}", ctx, {})


def _again(error: _Error, words: str, ctx: Context, more: dict[str, object]) -> _Error:
    return type(error)(words, **{**vars(error), "topic": ctx.topic, "role": role_of(ctx.field), **more})
